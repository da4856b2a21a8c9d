"""The sdist, the wheel that is made of it, and a fresh environment with that wheel."""

from __future__ import annotations

import email
import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from lineprof.version import VERSION

pytestmark = pytest.mark.seldom

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "tools" / "checks" / "installed.py"
DEADLINE = 900  # s; only a build that hangs reaches it
CHILDREN = "lineprof_children.pth"
ROOMS = {
    *("benchmarks", "csrc", "docs", "examples", "kernprof", "lineprof"),
    *("tests", "tools"),
}
FILES = {
    *("CHANGELOG.md", "CMakeLists.txt", "CONTRIBUTING.md", "LICENSE", "Makefile"),
    *("README.md", "pyproject.toml"),
}

# Builds the sdist, of that the wheel and another sdist, as `python -m build` does, but
# all in one isolated environment. The wheel is compiled without optimisation: the one
# that this suite runs with was compiled as users do it.
BUILD = """
import sys, tarfile
from pathlib import Path
from build import ProjectBuilder
from build.env import DefaultIsolatedEnv

root, out = map(Path, sys.argv[1:])
quick = {"cmake.build-type": "None", "cmake.define.LINEPROF_LTO": "OFF"}
with DefaultIsolatedEnv() as env:
    here = ProjectBuilder.from_isolated_env(env, root)
    env.install(here.build_system_requires)
    for kind, settings in (("sdist", {}), ("wheel", quick)):
        env.install(here.get_requires_for_build(kind, settings))
    with tarfile.open(here.build("sdist", out)) as archive:
        # Python 3.11.2 takes no argument `filter`.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(out / "copy")
    [folder] = (out / "copy").iterdir()
    copy = ProjectBuilder.from_isolated_env(env, folder)
    copy.build("sdist", out / "second")
    copy.build("wheel", out, quick)
"""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command without the checkout on its path; return its output."""
    changes = {"PYTHONDONTWRITEBYTECODE": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    changes["PIP_QUIET"] = "0"  # or `pip check` of newer versions says nothing
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE,
        check=False,
        text=True,
        env={**os.environ, **changes},
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="session")
def built(shared_folder: Path) -> Path:
    """Build the sdists and the wheel, once for all processes of this run."""
    folder = shared_folder / "release"
    with (shared_folder / "release.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = shared_folder / "release.part"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            run(sys.executable, "-c", BUILD, ROOT, unfinished, cwd=shared_folder)
            unfinished.rename(folder)
    return folder


@pytest.fixture(scope="session")
def sdist(built: Path) -> Path:
    """Return the sdist."""
    [file] = built.glob("*.tar.gz")
    return file


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    """Return the wheel."""
    [file] = built.glob("*.whl")
    return file


class Environment:
    """A fresh virtual environment, which the pip of this one works on."""

    def __init__(self, folder: Path) -> None:
        """Make it."""
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        self.folder = folder
        self.python = folder / "bin" / "python"

    def pip(self, *words: str | Path) -> str:
        """Run pip on it."""
        pip = (sys.executable, "-m", "pip", "--python", self.python)
        return run(*pip, *words, cwd=self.folder)

    def files(self) -> set[str]:
        """Return the files in it, compiled ones left out."""
        return {
            str(path.relative_to(self.folder))
            for path in self.folder.rglob("*")
            if "__pycache__" not in path.parts and not path.is_dir()
        }


class Installed(NamedTuple):
    """The life of a wheel in a fresh environment."""

    site: str  # the folder of its packages, relative to that of the environment
    before: set[str]  # files
    added: set[str]
    check: str  # what `pip check` prints
    counts: str  # what the program that tries it prints
    after: set[str]  # files, once it is uninstalled
    folders: set[str]  # names of those that are there then


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the wheel, use it, and uninstall it."""
    environment = Environment(tmp_path_factory.mktemp("installed") / "env")
    before = environment.files()
    environment.pip("install", "--no-index", "--no-deps", wheel)
    there = environment.files()
    assert before <= there
    site = run(
        *(environment.python, "-I", "-c"),
        "import os, sysconfig; print(os.path.relpath(sysconfig.get_path('purelib'),"
        f" {str(environment.folder)!r}))",
    ).strip()
    check = environment.pip("check")
    counts = run(environment.python, "-I", CHECK, cwd=environment.folder)
    environment.pip("uninstall", "--yes", "lineprof")
    folder = environment.folder
    return Installed(
        site=site,
        before=before,
        added=there - before,
        check=check,
        counts=counts,
        after=environment.files(),
        folders={path.name for path in folder.rglob("*") if path.is_dir()},
    )


def names_in(sdist: Path) -> list[str]:
    """Return the files of the sdist, relative to its one folder."""
    with tarfile.open(sdist) as archive:
        members = [member for member in archive.getmembers() if not member.isdir()]
        assert all(member.isfile() for member in members)
    folder = f"lineprof-{VERSION}/"
    assert all(member.name.startswith(folder) for member in members)
    return [member.name.removeprefix(folder) for member in members]


def test_the_sdist_has_sources_tests_and_docs_and_nothing_else(sdist: Path) -> None:
    names = names_in(sdist)
    rooms = {name.partition("/")[0] for name in names if "/" in name}
    assert rooms == ROOMS
    assert {name for name in names if "/" not in name} == {*FILES, "PKG-INFO"}
    assert [n for n in names if n.endswith((".so", ".pyc", ".o", ".whl"))] == []
    assert [n for n in names if "/." in n or "__pycache__" in n] == []


def test_the_sdist_has_every_file_of_a_room(sdist: Path) -> None:
    names = set(names_in(sdist))
    for room in ("csrc", "docs", "examples", "kernprof", "lineprof"):
        there = {
            str(path.relative_to(ROOT))
            for path in (ROOT / room).rglob("*")
            if path.is_file() and path.suffix not in {".pyc", ".so", ".lprof"}
        }
        assert there == {name for name in names if name.startswith(f"{room}/")}


def test_a_second_sdist_is_the_same_to_the_byte(sdist: Path, built: Path) -> None:
    assert (built / "second" / sdist.name).read_bytes() == sdist.read_bytes()


def metadata_of(wheel: Path) -> email.message.Message:
    """Return the metadata of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"lineprof-{VERSION}.dist-info/METADATA").decode()
    return email.message_from_string(text)


def test_the_metadata_has_a_licence_a_description_and_no_requirement(
    wheel: Path,
) -> None:
    metadata = metadata_of(wheel)
    assert metadata["Version"] == VERSION
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert metadata.get_payload().strip() == readme.strip()
    required = metadata.get_all("Requires-Dist") or []
    assert [one for one in required if "extra ==" not in one] == []


def test_a_wheel_installs_two_packages_two_commands_and_the_file_for_children(
    installed: Installed,
) -> None:
    scripts = {"bin/kernprof", "bin/lineprof"}
    packages = ("lineprof", "kernprof", f"lineprof-{VERSION}.dist-info")
    inside = tuple(f"{installed.site}/{package}/" for package in packages)
    others = {name for name in installed.added if not name.startswith(inside)}
    assert others == {*scripts, f"{installed.site}/{CHILDREN}"}
    for package in packages[:2]:
        assert f"{installed.site}/{package}/py.typed" in installed.added
    assert f"{installed.site}/lineprof/_core.pyi" in installed.added
    assert "No broken requirements" in installed.check


def test_an_installed_wheel_counts(installed: Installed) -> None:
    assert installed.counts == f"lineprof {VERSION} counts as it should\n"


def test_uninstalling_leaves_nothing_behind(installed: Installed) -> None:
    assert installed.added
    assert installed.after == installed.before
    packages = {"lineprof", "kernprof", f"lineprof-{VERSION}.dist-info"}
    assert not packages & installed.folders
