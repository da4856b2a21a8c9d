"""A folder with pinned programs, profilers and builds of lineprof, made once."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from harness.programs import Inputs

ROOT = Path(__file__).resolve().parent.parent.parent
REQUIREMENTS = ROOT / "tools" / "requirements" / "real_programs.txt"


def run(*command: str | Path) -> None:
    """Run a command; if it fails, print its output and exit."""
    ended = subprocess.run(
        command, check=False, capture_output=True, text=True, env=clean_environment()
    )
    if ended.returncode:
        print(ended.stdout, ended.stderr, sep="", file=sys.stderr)
        sys.exit(f"real_programs: {' '.join(map(str, command))} failed")


def clean_environment() -> dict[str, str]:
    """Return the environment without PYTHON variables that change a run."""
    ours = {"PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE"}
    return {name: value for name, value in os.environ.items() if name not in ours}


class Installation:
    """Environment in `folder` with the programs; installed again if the pins change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "venv" / "bin" / "python"
        self.inputs = self._install()

    def _install(self) -> Inputs:
        pins = REQUIREMENTS.read_text(encoding="utf-8")
        sources, stamp = self.folder / "sources", self.folder / "installed.txt"
        if not (stamp.exists() and stamp.read_text(encoding="utf-8") == pins):
            print(f"installing the programs in {self.folder}", file=sys.stderr)
            shutil.rmtree(self.folder / "venv", ignore_errors=True)
            shutil.rmtree(sources, ignore_errors=True)
            self.folder.mkdir(parents=True, exist_ok=True)
            run(sys.executable, "-m", "venv", self.folder / "venv")
            self._pip("install", "-r", REQUIREMENTS)
            pin = next(line for line in pins.split() if line.startswith("Jinja2=="))
            only = ("--no-deps", "--no-binary", "jinja2", "--dest", sources)
            self._pip("download", *only, pin)
            for archive in sources.glob("*.tar.gz"):
                with tarfile.open(archive) as packed:
                    # Python 3.11.2 takes no argument `filter`.
                    packed.extraction_filter = getattr(tarfile, "data_filter", None)
                    packed.extractall(sources)  # noqa: S202  # of the index, by pins
            stamp.write_text(pins, encoding="utf-8")
        (packages,) = (self.folder / "venv").glob("lib/python*/site-packages")
        (jinja2,) = (path for path in sources.glob("jinja2-*") if path.is_dir())
        return Inputs(packages=packages, jinja2=jinja2)

    def _pip(self, command: str, *arguments: str | Path) -> None:
        run(self.python, "-m", "pip", command, "--quiet", *arguments)

    def product(self, source: Path) -> Path:
        """Return a folder for PYTHONPATH with the lineprof of a checkout.

        `source` may be such a folder itself. A checkout is built if its files
        have changed since the last time.
        """
        if not (source / "pyproject.toml").exists():
            if not (source / "lineprof").is_dir():
                sys.exit(f"real_programs: {source} is no checkout and has no lineprof/")
            return source
        name = f"{source.name}-{contents_hash(source)}"
        packages = self.folder / "products" / name / "site-packages"
        if not packages.exists():
            print(f"building {source}", file=sys.stderr)
            packages.parent.mkdir(parents=True, exist_ok=True)
            made = packages.with_name(f"making-{os.getpid()}")
            with tempfile.TemporaryDirectory() as build:
                place = ("--config-settings", f"build-dir={build}", "--target", made)
                self._pip("install", "--no-deps", *place, source)
            made.rename(packages)
        return packages


def contents_hash(checkout: Path) -> str:
    """Return a hash of the files that a build of lineprof is made from."""
    names = ("csrc", "lineprof", "kernprof", "CMakeLists.txt", "pyproject.toml")
    found = hashlib.sha256()
    for name in names:
        top = checkout / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and path.suffix not in {".pyc", ".so"}:
                found.update(str(path.relative_to(checkout)).encode())
                found.update(path.read_bytes())
    return found.hexdigest()[:10]
