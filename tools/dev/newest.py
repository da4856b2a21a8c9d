"""The newest Pythons, 3.14 and 3.15, in a Debian sid that is installed in a folder.

debootstrap installs that Debian once, in about 2 minutes and 1 GB; remove its folder,
NEWEST_ROOT, to get a newer one. Needs root, debootstrap and Debian's packages.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.dev import debian
from tools.dev.envs import StepError, call, without_hosts
from tools.dev.pythons import ask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.dev.pythons import Python

VERSIONS = ("3.15", "3.14")
SUITE = "sid"
DEFAULT = "/var/tmp/lineprof-newest"  # noqa: S108  # only root writes there
PACKAGES = (
    *(f"python{v}{part}" for v in VERSIONS for part in ("", "-dev", "-venv")),
    *("gcc", "libc6-dev", "make", "ca-certificates"),
)
MAKING_S = 1200  # limit for debootstrap, which takes about 120 s
COMMANDS = {"debootstrap": "debootstrap", "unshare": "util-linux"}


@contextlib.contextmanager
def locked() -> Iterator[Path]:
    """Yield the folder of the Debian, locked after any other run.

    Raises StepError if this machine cannot have it, or the folder is another's.
    """
    check_machine()
    folder = Path(os.environ.get("NEWEST_ROOT") or DEFAULT).resolve()
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
        yield folder


def check_machine() -> None:
    """Raise StepError if a Debian cannot be installed and run on this machine."""
    if not sys.platform.startswith("linux"):
        raise StepError("only Linux can run a Debian in a folder")
    if os.geteuid() != 0:
        raise StepError("only root can run a Debian in a folder: run this as root")
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{debian.ADMIN_PATH}"
    for command, package in COMMANDS.items():
        if not shutil.which(command):
            remedy = f"on Debian: apt install {package}"
            raise StepError(f"this machine has no {command}; {remedy}")
    if subprocess.run(debian.CAN_MOUNT, check=False, capture_output=True).returncode:
        raise StepError("root may not mount file systems on this machine")


def pythons(folder: Path) -> list[Python]:
    """Return the newest Pythons, in the Debian of a locked folder, newest first.

    Installs the Debian unless it is there; StepError if that fails.
    """
    root = folder / SUITE
    install(root, folder / "debootstrap.log")
    debian.copy_settings(root)
    found = [ask(f"/usr/bin/python{version}", root) for version in VERSIONS]
    if None in found:
        raise StepError(f"{root} lacks a Python; remove it, to install it again")
    return [python for python in found if python]


def install(root: Path, log: Path) -> None:
    """Install the Debian unless one with the same packages is there."""
    made, wanted = root.with_suffix(".made"), " ".join(sorted(PACKAGES))
    if made.exists() and made.read_text(encoding="utf-8") == wanted:
        return
    made.unlink(missing_ok=True)
    shutil.rmtree(root, ignore_errors=True)
    log.unlink(missing_ok=True)
    include = "--include=" + ",".join(PACKAGES)
    command = ["debootstrap", "--variant=minbase", include, SUITE, root]
    limited = ["timeout", "-s", "KILL", MAKING_S, *debian.NEW_NAMESPACE, *command]
    if call(limited, log):
        shutil.rmtree(root, ignore_errors=True)
        raise StepError(f"debootstrap failed: {last_error(log)}; its output: {log}")
    shutil.rmtree(root / "var" / "cache" / "apt", ignore_errors=True)
    (root / "etc" / "apt" / "sources.list").unlink(missing_ok=True)
    made.write_text(wanted, encoding="utf-8")


def last_error(log: Path) -> str:
    """Return the last error in debootstrap's output, without host names."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in lines if line.startswith("E:")]
    text = errors[-1].removeprefix("E:").strip() if errors else "no reason given"
    return f"{without_hosts(text)} (is Debian's package index within reach?)"
