"""Virtual environments in the checkout, updated when the sources change."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tools.dev import debian

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.dev.pythons import Python

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "tools" / "requirements"
BUILT_FROM = (
    *("pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", "csrc"),
    "kernprof/lineprof_children.pth",  # which is copied even if the rest is not
)
HOST = re.compile(
    r"(?<=https://)[^\s/'\"<>)]+|(?<=http://)[^\s/'\"<>)]+|(?<=host=')[^']+"
)
UNOPTIMISED = ("cmake.build-type=None", "cmake.define.LINEPROF_LTO=OFF")
PURE = ("lineprof", "kernprof")  # an editable install uses these folders themselves


class StepError(Exception):
    """Failure of a command; the message names the command, whose output is in a log."""


@dataclass(frozen=True)
class Env:
    """A virtual environment in the checkout, perhaps of a Python of a Debian."""

    folder: Path
    debian: Path | None = None  # the folder of that Debian

    @property
    def log(self) -> Path:
        """Log of the last set-up."""
        return self.folder / "log" / "setup.txt"

    @property
    def bin(self) -> Path:
        """Folder of its commands."""
        return self.folder / "bin"

    @property
    def python(self) -> Path:
        """Path of its interpreter."""
        return self.bin / "python"


def where(
    command: Sequence[object], cwd: Path, root: Path | None, changes: dict[str, str]
) -> dict[str, Any]:
    """Return the arguments of Popen that say what runs, where and in what environment.

    `changes` are made to our environment. With the folder of a Debian as `root` the
    command runs there, and `cwd` is a folder there.
    """
    environment = clean_environment(**changes)
    words = [str(part) for part in command]
    if root is None:
        return {"args": words, "cwd": cwd, "env": environment}
    words = debian.command_in(root, words, cwd)
    return {"args": words, "env": debian.environment_in(environment)}


def call(
    command: Sequence[object], log: Path, root: Path | None = None, **changes: str
) -> int:
    """Run a command with its output appended to a log; return its exit status."""
    with open_log(log) as output:
        print("$", *command, file=output, flush=True)
        return subprocess.run(
            **where(command, ROOT, root, changes),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode


def must(
    command: Sequence[object], log: Path, root: Path | None = None, **changes: str
) -> None:
    """Run a command like call(); StepError if it fails."""
    status = call(command, log, root, **changes)
    if status:
        program, *arguments = map(str, command)
        start = " ".join([Path(program).name, *arguments[:3]])
        raise StepError(f"`{start} ...` ended with exit status {status}")


@contextlib.contextmanager
def open_log(log: Path) -> Iterator[IO[str]]:
    """Open a log to append to; commands may write any bytes into it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8", errors="replace") as output:
        yield output


def clean_environment(**changes: str) -> dict[str, str]:
    """Return our environment with changes, without variables that redirect Python."""
    redirecting = ("PYTHONHOME", "PYTHONPATH", "PYTHONSAFEPATH", "VIRTUAL_ENV")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in redirecting and not name.startswith("LINEPROF_")
    }
    return {**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **changes}


def fingerprint(*names: str) -> str:
    """Return a hash of these files and folders of the checkout, but what is built."""
    digest = hashlib.sha256()
    for name in names:
        top = ROOT / name
        files = sorted(top.rglob("*")) if top.is_dir() else [top]
        for file in files:
            built = file.suffix == ".so" or "__pycache__" in file.parts
            if file.is_file() and not built:
                digest.update(str(file.relative_to(ROOT)).encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


def make(env: Env, python: Python) -> None:
    """Make a virtual environment of a Python unless it exists."""
    env.log.unlink(missing_ok=True)
    wanted = f"{python.name} {python.path}"
    base = env.debian / python.path.lstrip("/") if env.debian else env.python
    if stamp(env, "python") != wanted or not base.exists():
        shutil.rmtree(env.folder, ignore_errors=True)
        must([python.path, "-m", "venv", env.folder], env.log, env.debian)
        write_stamp(env, "python", wanted)


def install(
    env: Env, *, editable: bool = False, strict: bool = False, quick: bool = False
) -> None:
    """Install the checkout into an environment unless it is up to date.

    With `editable`, the Python files of the checkout itself are imported; with
    `strict`, warnings of the C compiler are errors; with `quick`, the core is compiled
    without optimisation, in half the time.
    """
    wanted = fingerprint(*BUILT_FROM, *(() if editable else PURE))
    wanted += f" editable={editable} strict={strict} quick={quick}"
    if stamp(env, "lineprof") == wanted:
        return
    pip(
        env,
        "--force-reinstall",
        "--no-deps",
        f"--config-settings=build-dir={env.folder / 'build'}",
        f"--config-settings=cmake.define.LINEPROF_WERROR={'ON' if strict else 'OFF'}",
        *(f"--config-settings={one}" for one in (UNOPTIMISED if quick else ())),
        *(["--editable"] if editable else []),
        str(ROOT),
    )
    write_stamp(env, "lineprof", wanted)


def require(env: Env, requirements: str, *options: str) -> None:
    """Install a file of tools/requirements/ unless it is up to date."""
    wanted = fingerprint(f"tools/requirements/{requirements}")
    if stamp(env, requirements) != wanted:
        pip(env, *options, "--requirement", str(REQUIREMENTS / requirements))
        write_stamp(env, requirements, wanted)


def pip(env: Env, *arguments: str) -> None:
    """Run `pip install` in an environment; StepError if it fails."""
    # Files that nothing imports are not compiled.
    options = ["--no-input", "--no-compile"]
    command = [env.python, "-m", "pip", "install", *options, *arguments]
    must(command, env.log, env.debian)


def stamp(env: Env, what: str) -> str:
    """Return the note of the last successful run of a step; '' if there was none."""
    try:
        return (env.folder / "stamps" / what).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def write_stamp(env: Env, what: str, value: str) -> None:
    """Note that a step succeeded, with its input."""
    (env.folder / "stamps").mkdir(exist_ok=True)
    (env.folder / "stamps" / what).write_text(value, encoding="utf-8")


def replay(log: Path) -> None:
    """Print a whole log, without the host names of package indexes."""
    if log.exists():
        text = log.read_text(encoding="utf-8", errors="replace")
        sys.stdout.write(without_hosts(text))
        sys.stdout.flush()


def explain(error: StepError, log: Path) -> int:
    """Print the whole log of a failed step, then its error; return exit status 1."""
    replay(log)
    print(f"lineprof: {error}; see its output above", file=sys.stderr)
    return 1


def without_hosts(text: str) -> str:
    """Return text without the hosts of addresses."""
    return HOST.sub("(host)", text)
