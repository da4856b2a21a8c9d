"""Run the whole suite on the newest Pythons, 3.14 and 3.15, in a Debian sid of its own.

The Debian is made once by debootstrap, in 2 minutes and 1 GB, and kept; remove its
folder for a newer one. Needs root, debootstrap and Debian's package index. The
checkout is copied as it stands, and all mounts end with the run.
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

from tools.dev.envs import ROOT, StepError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VERSIONS = ("3.14", "3.15")
SUITE = "sid"
DEFAULT = "/var/tmp/lineprof-newest"  # noqa: S108  # root's alone, and kept
PACKAGES = (
    *(f"python{v}{part}" for v in VERSIONS for part in ("", "-dev", "-venv")),
    *("gcc", "libc6-dev", "make", "ca-certificates"),
)
COPY = "root/lineprof"  # where the checkout is, in the Debian
BUILT = (".venv*", "build")  # what a run leaves in it for the next
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
HOST_FILES = ("/etc/resolv.conf", "/etc/hosts", CERTIFICATES)
PIP_FILES = ("/etc/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PASSED_ON = re.compile(r"ARGS|ONLY|LINEPROF_WERROR|PIP_\w+|SSL_CERT_\w+|(?i:\w+_proxy)")
# In a mount namespace of its own: root, then folders that are seen as they are here.
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
ALONE = ("unshare", "--mount", "--propagation", "private")


def main() -> int:
    """Make the Debian unless it is there, and run the suite in it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(os.environ.get("NEWEST_ROOT") or DEFAULT).absolute()
    try:
        problem = lack()
        if problem:
            raise StepError(problem)  # noqa: TRY301  # told as the others
        with held(folder):
            debian = folder / SUITE
            make(debian)
            copy_checkout(debian / COPY)
            return run(debian)
    except (StepError, OSError) as error:
        print(f"lineprof: the newest Pythons are not tested: {error}", file=sys.stderr)
        return 1


def lack() -> str:
    """Say what is missing to make a Debian here; '' if nothing is."""
    if not sys.platform.startswith("linux"):
        return "that takes Linux"
    if os.geteuid() != 0:
        return "only root can make a Debian in a folder"
    for command in ("debootstrap", "unshare", "git"):
        if not shutil.which(command):
            return f"this machine lacks {command}; on Debian: apt install {command}"
    if subprocess.run([*ALONE, "true"], check=False, capture_output=True).returncode:
        return "root may not mount anything here"
    return ""


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder: wait for another run that does, refuse what is not ours."""
    lock = folder / "lineprof.lock"
    if folder.exists() and any(folder.iterdir()) and not lock.exists():
        raise StepError(f"{folder} is not empty, and nothing that this tool made")
    folder.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another run in {folder}", flush=True)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def make(debian: Path) -> None:
    """Make the Debian, unless one with these packages is there."""
    stamp, wanted = debian.with_suffix(".made"), " ".join(PACKAGES)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    print(f"making a Debian with Python {' and '.join(VERSIONS)}: minutes", flush=True)
    stamp.unlink(missing_ok=True)
    shutil.rmtree(debian, ignore_errors=True)
    include = "--include=" + ",".join(PACKAGES)
    made = subprocess.run(
        [*ALONE, "debootstrap", "--variant=minbase", include, SUITE, debian],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if made.returncode:
        raise StepError(f"debootstrap failed: {gist(made.stdout)}")
    shutil.rmtree(debian / "var" / "cache" / "apt", ignore_errors=True)
    (debian / "etc" / "apt" / "sources.list").unlink(missing_ok=True)
    stamp.write_text(wanted, encoding="utf-8")


def gist(output: str) -> str:
    """Give what a failed debootstrap said last, without the names of hosts."""
    said = [line for line in output.splitlines() if line.startswith("E:")]
    last = said[-1] if said else "E: nothing that it said"
    where = re.sub(r"\w+://\S+", "its address", last[2:].strip())
    return f"{where} (is Debian's package index within reach?)"


def copy_checkout(copy: Path) -> None:
    """Have the files of the checkout in the Debian, beside what was built there."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        raise StepError(f"git cannot list the files of {ROOT}")
    copy.mkdir(parents=True, exist_ok=True)
    for old in copy.iterdir():
        if any(old.match(pattern) for pattern in BUILT):
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
    """Run the suite in the Debian; give its exit status."""
    files, folders = read_by_pip()
    for name in [*HOST_FILES, *files]:
        file = Path(name)
        if file.is_file():
            there = debian / file.relative_to("/")
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, there)
    environment = {k: v for k, v in os.environ.items() if PASSED_ON.fullmatch(k)}
    environment |= {"HOME": str(Path.home()), "PATH": PATH, "LC_ALL": "C.UTF-8"}
    environment |= {"PYTHON": f"python{VERSIONS[0]}", "PIP_QUIET": "1"}
    command = ["sh", "-c", 'cd "$1" && exec tools/run dev/suite', "_", f"/{COPY}"]
    words = [*ALONE, "sh", "-c", INSIDE, "_", debian, *folders, "--", *command]
    with subprocess.Popen(words, env=environment) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.terminate()
            return process.wait()


def read_by_pip() -> tuple[list[str], list[str]]:
    """Give the files that pip goes by here, and the folders that it looks into."""
    files = [str(Path(name).expanduser()) for name in PIP_FILES]
    folders: dict[str, None] = {}
    for word in re.split(r"[\s'\"]+", pip_configuration()):
        address = urlsplit(word)
        path = Path(unquote(address.path))
        if address.scheme not in {"", "file"} or not path.is_absolute():
            continue
        if path.is_file():
            files.append(str(path))
        elif path.is_dir():
            # An index's links lead beside its list of projects.
            folders[str(path.parent if path.name == "simple" else path)] = None
    return files, list(folders)


def pip_configuration() -> str:
    """Give the values of pip's options that are set here, whatever sets them."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    said: Sequence[str] = subprocess.run(
        command, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    values = [line.partition("=")[2] for line in said]
    return " ".join(values).replace("\\n", " ")


if __name__ == "__main__":
    sys.exit(main())
