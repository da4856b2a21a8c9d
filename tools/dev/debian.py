"""Commands in a Debian that lies in a folder of this machine, run by root.

Each command has a mount namespace of its own, so that no mount outlasts it. The
checkout, and the folders of pip's package indexes, are at the same place as outside.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

CHECKOUT = Path(__file__).resolve().parents[2]
NEW_NAMESPACE = ("unshare", "--mount", "--propagation", "private")
CAN_MOUNT = (*NEW_NAMESPACE, "mount", "-t", "proc", "proc", "/proc")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
HOST_FILES = ("/etc/resolv.conf", "/etc/hosts", CERTIFICATES)
PIP_FILES = ("/etc/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf")
ADMIN_PATH = "/usr/local/sbin:/usr/sbin:/sbin"  # `su` leaves them out
PATH = f"/usr/local/bin:/usr/bin:/bin:{ADMIN_PATH}"
PASSED_ON = re.compile(r"LINEPROF_\w+|PYTHON\w+|PIP_\w+|SSL_CERT_\w+|(?i:\w+_proxy)")
# Run in a new mount namespace. Arguments: the root folder, the folder to start in, the
# checkout, folders of this machine to be seen read-only, --, a command.
INSIDE = """\
set -e
root=$1 cwd=$2
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mkdir -p "$root$3"
mount --bind "$3" "$root$3"
shift 3
while [ "$1" != -- ]; do
    mkdir -p "$root$1"
    mount --bind "$1" "$root$1"
    mount -o remount,ro,bind "$root$1"
    shift
done
shift
exec chroot "$root" /usr/bin/env -C "$cwd" "$@"
"""


def command_in(root: Path, command: Sequence[object], cwd: Path) -> list[str]:
    """Return a command that runs another one in a Debian, in its folder `cwd`."""
    words = [*NEW_NAMESPACE, "sh", "-c", INSIDE, "_", root, cwd, CHECKOUT]
    return [str(word) for word in (*words, *index_folders(), "--", *command)]


def environment_in(environment: dict[str, str]) -> dict[str, str]:
    """Return those variables of an environment that mean the same in a Debian."""
    kept = {k: v for k, v in environment.items() if PASSED_ON.fullmatch(k)}
    return {**kept, "HOME": str(Path.home()), "PATH": PATH, "LC_ALL": "C.UTF-8"}


def copy_settings(root: Path) -> None:
    """Give a Debian this machine's settings of the network and of pip."""
    files, _ = pip_sources()
    for name in [*HOST_FILES, *files]:
        file = Path(name)
        if file.is_file():
            target = root / file.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def index_folders() -> list[str]:
    """Return the folders of this machine that pip's settings name."""
    return pip_sources()[1]


@functools.cache
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
