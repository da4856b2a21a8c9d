"""The whole suite on the newest Pythons, 3.14 and 3.15, run in a Debian sid.

debootstrap installs that Debian once, in about 2 minutes and 1 GB; remove the folder of
the Debian to get a newer one. Needs root, debootstrap and Debian's packages.
The files of the checkout are copied into it. All mounts are in a mount namespace of
the run, so that they end with it.

Environment: NEWEST_ROOT=DIR, the folder of the Debian; ARGS, ONLY as for `make test`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from tools.dev.envs import ROOT, StepError, without_hosts
from tools.dev.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSIONS = ("3.14", "3.15")
SUITE = "sid"
DEFAULT = "/var/tmp/lineprof-newest"  # noqa: S108  # only root writes there
PACKAGES = (
    *(f"python{v}{part}" for v in VERSIONS for part in ("", "-dev", "-venv")),
    *("gcc", "libc6-dev", "make", "ca-certificates"),
)
MAKING_S = 1200  # limit for debootstrap, which takes about 120 s
COPY = "root/lineprof"  # the copy of the checkout, relative to the Debian
COMMANDS = {"debootstrap": "debootstrap", "unshare": "util-linux", "git": "git"}
KEPT = (".venv*", "build")  # in the copy, from one run to the next
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
HOST_FILES = ("/etc/resolv.conf", "/etc/hosts", CERTIFICATES)
PIP_FILES = ("/etc/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf")
ADMIN_PATH = "/usr/local/sbin:/usr/sbin:/sbin"  # `su` leaves them out
PATH = f"/usr/local/bin:/usr/bin:/bin:{ADMIN_PATH}"
PASSED_ON = re.compile(
    r"ARGS|ONLY|LINEPROF_(?:WERROR|TEST_\w+)|PIP_\w+|SSL_CERT_\w+|(?i:\w+_proxy)"
)
# Run in a new mount namespace. Arguments: the root folder, folders of this machine to
# be seen read-only at the same place, --, a command.
INSIDE = """\
set -e
root=$1; shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
    mkdir -p "$root$1"
    mount --bind "$1" "$root$1"
    mount -o remount,ro,bind "$root$1"
    shift
done
shift
exec chroot "$root" "$@"
"""
NEW_NAMESPACE = ("unshare", "--mount", "--propagation", "private")
CAN_MOUNT = (*NEW_NAMESPACE, "mount", "-t", "proc", "proc", "/proc")


def main() -> int:
    """Install the Debian unless it is there, and run the suite in it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{ADMIN_PATH}"
    folder = Path(os.environ.get("NEWEST_ROOT") or DEFAULT).resolve()
    try:
        check_machine()
        with locked(folder):
            debian = folder / SUITE
            install(debian, folder / "debootstrap.log")
            copy_checkout(debian / COPY)
            return run(debian)
    except (StepError, OSError) as error:
        print(f"lineprof: the newest Pythons are not tested: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("lineprof: the newest Pythons are not tested: stopped", file=sys.stderr)
    return 1


def check_machine() -> None:
    """Raise StepError if a Debian cannot be installed and run on this machine."""
    if not sys.platform.startswith("linux"):
        raise StepError("only Linux can run a Debian in a folder")
    if os.geteuid() != 0:
        raise StepError("only root can run a Debian in a folder: run this as root")
    for command, package in COMMANDS.items():
        if not shutil.which(command):
            remedy = f"on Debian: apt install {package}"
            raise StepError(f"this machine has no {command}; {remedy}")
    if subprocess.run(CAN_MOUNT, check=False, capture_output=True).returncode:
        raise StepError("root may not mount file systems on this machine")


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder, after any other run; StepError if it is not to be changed."""
    lock = folder / "lineprof.lock"
    if folder.exists() and any(folder.iterdir()) and not lock.exists():
        raise StepError(f"{folder} is not empty, and this tool did not make it")
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    if f" {folder}/" in mounts:  # removing old files would reach into the mount
        raise StepError(f"something is mounted below {folder}: unmount it")
    folder.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another run in {folder}", flush=True)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def install(debian: Path, log: Path) -> None:
    """Install the Debian unless one with the same packages is there."""
    stamp, wanted = debian.with_suffix(".made"), " ".join(PACKAGES)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    versions = " and ".join(VERSIONS)
    print(f"installing a Debian with Python {versions}: some minutes", flush=True)
    stamp.unlink(missing_ok=True)
    shutil.rmtree(debian, ignore_errors=True)
    log.unlink(missing_ok=True)
    include = "--include=" + ",".join(PACKAGES)
    command = ["debootstrap", "--variant=minbase", include, SUITE, debian]
    status = Sessions(limit_s=MAKING_S, every_s=MAKING_S).run(
        [*NEW_NAMESPACE, *command],
        log,
        cwd=debian.parent,
        changes={},
        meanwhile=lambda: None,
    )
    if status:
        shutil.rmtree(debian, ignore_errors=True)
        raise StepError(f"debootstrap failed: {last_error(log)}; its output: {log}")
    shutil.rmtree(debian / "var" / "cache" / "apt", ignore_errors=True)
    (debian / "etc" / "apt" / "sources.list").unlink(missing_ok=True)
    stamp.write_text(wanted, encoding="utf-8")


def last_error(log: Path) -> str:
    """Return the last error in debootstrap's output, without host names."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in lines if line.startswith(("E:", "killed after"))]
    text = errors[-1].removeprefix("E:").strip() if errors else "no reason given"
    return f"{without_hosts(text)} (is Debian's package index within reach?)"


def copy_checkout(copy: Path) -> None:
    """Copy the files of the checkout, keeping what earlier runs built in the copy."""
    # The checkout may belong to another user than root.
    git = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"]
    listed = subprocess.run(
        [*git, "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        raise StepError(f"git cannot list the files of {ROOT}: is it a git clone?")
    copy.mkdir(parents=True, exist_ok=True)
    for old in copy.iterdir():
        if any(old.match(pattern) for pattern in KEPT):
            continue
        if old.is_dir():
            shutil.rmtree(old)
        else:
            old.unlink()
    for name in map(os.fsdecode, filter(None, listed.stdout.split(b"\0"))):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)


def run(debian: Path) -> int:
    """Run the suite in the Debian; return its exit status."""
    files, folders = pip_sources()
    for name in [*HOST_FILES, *files]:
        file = Path(name)
        if file.is_file():
            target = debian / file.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    environment = {k: v for k, v in os.environ.items() if PASSED_ON.fullmatch(k)}
    environment |= {"HOME": str(Path.home()), "PATH": PATH, "LC_ALL": "C.UTF-8"}
    environment |= {"PYTHON": f"python{VERSIONS[0]}", "PIP_QUIET": "1"}
    command = ["sh", "-c", 'cd "$1" && exec tools/run dev/suite', "_", f"/{COPY}"]
    words = [
        *NEW_NAMESPACE,
        "sh",
        "-c",
        INSIDE,
        "_",
        str(debian),
        *folders,
        "--",
        *command,
    ]
    with subprocess.Popen(words, env=environment) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.terminate()
            return process.wait()


def pip_sources() -> tuple[list[str], list[str]]:
    """Return the files and folders of this machine that pip's settings name."""
    files = [str(Path(name).expanduser()) for name in PIP_FILES]
    folders: dict[str, None] = {}
    for word in re.split(r"[\s'\"]+", pip_option_values()):
        address = urlsplit(word)
        path = Path(unquote(address.path))
        if address.scheme not in {"", "file"} or not path.is_absolute():
            continue
        if path.is_file():
            files.append(str(path))
        elif path.is_dir():
            # The links in an index's list of projects lead to its other folders.
            folders[str(path.parent if path.name == "simple" else path)] = None
    return files, list(folders)


def pip_option_values() -> str:
    """Return the values of pip's options, from its files and the environment."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        capture_output=True,
        text=True,
        env={**os.environ, "PIP_QUIET": "0"},
        check=False,
    )
    values = [line.partition("=")[2] for line in done.stdout.splitlines()]
    return " ".join(values).replace("\\n", " ")


if __name__ == "__main__":
    sys.exit(main())
