"""Installed commands and modules: all files of their distribution are profiled."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof_forked, write
from whole_program import names, profiled, summary

from kernprof import distribution
from kernprof.project import Folder

if TYPE_CHECKING:
    from pathlib import Path

    from as_python import Outcome

    from lineprof.line_stats import LineStats

WRAPPER = """\
    # -*- coding: utf-8 -*-
    import re
    import sys
    from dp.main import main
    if __name__ == "__main__":
        sys.argv[0] = re.sub(r"(-script\\.pyw|\\.exe)?$", "", sys.argv[0])
        sys.exit(main())
    """
MAIN = """\
    import sys
    import beside
    import dp_extra.more
    import other
    def main():
        print(sys.argv[1:], dp_extra.more.f(), beside.f(), other.f())
        return 3
    """
F = "def f():\n    return 1\n"
OWN = [
    *("beside.py:<module>", "beside.py:f", "dp:<module>", "main.py:<module>"),
    *("main.py:main", "more.py:<module>", "more.py:f"),
]


class Environment:
    """A virtual environment with a command ``dp``, and a folder with data."""

    def __init__(self, folder: Path) -> None:
        """Install the command in `folder`."""
        self.folder = folder
        self.site = folder / "env" / "lib" / "site-packages"
        self.bin = folder / "env" / "bin"
        self.data = folder / "data"
        self.data.mkdir()
        write(self.data, "input.json", "{}")
        for name, text in {
            "dp/__init__.py": "",
            "dp/main.py": MAIN,
            "dp_extra/more.py": F,
            "beside.py": F,
            "other.py": F,
        }.items():
            write(self.site, name, text)
        self.info = self.site / "deep_potential-1.0.dist-info"
        self.command(f"#!{sys.executable}\n")
        self.describe(["dp/__init__.py", "dp/main.py", "dp_extra/more.py", "beside.py"])

    def command(self, first: str, wrapper: str = WRAPPER) -> None:
        """Write the script of the command, with `first` as its first line."""
        write(self.bin, "dp", wrapper)
        path = self.bin / "dp"
        path.write_text(first + path.read_text())
        path.chmod(stat.S_IRWXU)

    def describe(self, files: list[str], entry: str = "dp = dp.main:main") -> None:
        """Write the metadata that pip would write."""
        record = [*files, "deep_potential-1.0.dist-info/RECORD", "../../bin/dp"]
        lines = "".join(f"{name},sha256=x,1\n" for name in record)
        write(self.info, "RECORD", lines)
        write(self.info, "entry_points.txt", f"[console_scripts]\n{entry}\n[x]\na=b\n")

    @property
    def env(self) -> dict[str, str]:
        """Return the environment in which the command is found."""
        path = os.pathsep.join((str(self.site), *filter(None, sys.path)))
        found = os.pathsep.join((str(self.bin), os.environ["PATH"]))
        return {"PATH": found, "PYTHONPATH": path}

    def run(self, *words: str, **options: object) -> tuple[Outcome, LineStats]:
        """Run kernprof -l in the folder with the data."""
        status = options.pop("status", 3)
        return profiled(  # type: ignore[arg-type]
            *words, cwd=self.data, env=self.env, status=status, **options
        )


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """Give an environment with the command."""
    return Environment(tmp_path)


def test_all_files_of_a_commands_distribution_are_profiled(
    environment: Environment,
) -> None:
    words = ("dp", "train", "--help", "-o", "input.json")
    outcome, stats = environment.run(*words, err=summary(7, 4))
    assert outcome.out.startswith("['train', '--help', '-o', 'input.json'] 1 1 1\n")
    assert names(stats) == OWN


@pytest.mark.parametrize(
    "first",
    [
        "#!/usr/bin/env python3\n",
        "#!/bin/sh\n'''exec' \"/a/long/way/to/python\" \"$0\" \"$@\"\n' '''\n",
        "#!/usr/bin/env -S uv run --script\n",
    ],
)
def test_a_command_may_begin_with_any_first_line_of_python(
    environment: Environment, first: str
) -> None:
    environment.command(first)
    assert names(environment.run("dp")[1]) == OWN


def test_a_command_by_its_path(environment: Environment) -> None:
    assert names(environment.run("../env/bin/dp")[1]) == OWN
    assert names(environment.run(str(environment.bin / "dp"))[1]) == OWN


def test_a_script_of_old_style_is_found_in_the_list_of_files(
    environment: Environment,
) -> None:
    environment.describe(["dp/main.py", "beside.py"], entry="")
    found = names(environment.run("dp")[1])
    assert "beside.py:f" in found
    assert "more.py:f" not in found


def test_a_command_without_a_distribution_is_a_script(environment: Environment) -> None:
    for file in environment.info.iterdir():
        file.unlink()
    environment.info.rmdir()
    assert names(environment.run("dp")[1]) == ["dp:<module>"]


def test_the_folder_of_an_editable_install_is_profiled(
    environment: Environment,
) -> None:
    source = environment.folder / "source"
    (environment.site / "dp").rename(source.parent / "dp_moved")
    source.mkdir()
    (source.parent / "dp_moved").rename(source / "dp")
    write(source, "setup.py", "")
    write(environment.site, "__editable__.deep_potential.pth", f"{source}\n")
    environment.describe(
        ["__editable__.deep_potential.pth", "__editable___dp_finder.py"]
    )
    variables = environment.env
    variables["PYTHONPATH"] = f"{source}:{variables['PYTHONPATH']}"
    _, stats = profiled("dp", cwd=environment.data, env=variables, status=3)
    assert names(stats) == ["dp:<module>", "main.py:<module>", "main.py:main"]


def test_metadata_of_setuptools_is_also_read(environment: Environment) -> None:
    for file in environment.info.iterdir():
        file.unlink()
    environment.info = environment.info.with_suffix(".egg-info")
    environment.describe([])
    (environment.info / "RECORD").unlink()
    write(environment.info, "top_level.txt", "beside\ndp\n")
    found = names(environment.run("dp")[1])
    assert found == sorted({*OWN} - {"more.py:<module>", "more.py:f"})


def test_all_files_of_a_modules_distribution_are_profiled(
    environment: Environment,
) -> None:
    write(environment.site, "dp/__main__.py", "from dp.main import main\nmain()\n")
    write(environment.data, "beside_data.py", F)
    environment.describe(["dp/__main__.py", "dp/main.py", "dp_extra/more.py"])
    _, stats = environment.run("-m", "dp", status=0)
    assert names(stats) == sorted(
        {*OWN, "__main__.py:<module>"}
        - {"dp:<module>", "beside.py:<module>"}
        - {"beside.py:f"}
    )
    _, stats = environment.run("-m", "dp.main", status=0)
    assert "more.py:<module>" in names(stats)


def test_a_module_without_a_distribution_counts_its_package(
    environment: Environment,
) -> None:
    write(
        environment.site,
        "loose/__main__.py",
        "import loose.part, other\nloose.part.f()\n",
    )
    write(environment.site, "loose/part.py", F)
    _, stats = environment.run("-m", "loose", status=0)
    assert names(stats) == ["__main__.py:<module>", "part.py:<module>", "part.py:f"]


def test_a_standard_module_is_profiled_with_the_modules_of_its_statement(
    environment: Environment,
) -> None:
    write(environment.data, "mine.py", F)
    _, stats = environment.run(
        "-m", "timeit", "-n1", "-r1", "-s", "import mine", "mine.f()", status=0
    )
    found = names(stats)
    assert {"mine.py:<module>", "mine.py:f", "timeit.py:main"} <= set(found)
    assert {name.partition(":")[0] for name in found} == {"mine.py", "timeit.py"}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"#!/usr/bin/env bash\necho hello\n", "it begins with '#!/usr/bin/env bash'"),
        (b"#!/bin/sh\nexec other\n", "it begins with '#!/bin/sh'"),
        (b"\x7fELF\x02\x01\x01\0\0", "it is a binary"),
    ],
)
@pytest.mark.parametrize("flags", ["-l", "-q"])
def test_a_command_that_is_not_python_is_an_error_of_one_line(
    environment: Environment, data: bytes, why: str, flags: str
) -> None:
    (environment.bin / "dp").write_bytes(data)
    outcome = kernprof_forked(
        flags, "dp", "--help", cwd=environment.data, env=environment.env
    )
    assert (outcome.status, outcome.out) == (2, "")
    place = environment.bin / "dp"
    said = f"{str(place)!r} is no Python script: {why}; "
    assert outcome.err.startswith(f"kernprof: {said}")
    assert outcome.err.endswith("of a shim of pyenv, what `pyenv which dp` says\n")
    assert outcome.err.count("\n") == 1


def test_the_search_for_a_distribution_leaves_the_programs_modules_alone(
    environment: Environment,
) -> None:
    for name in ("csv", "email", "json", "zipfile"):
        write(environment.data, f"{name}.py", "mine = True")
    write(
        environment.site,
        "dp/__main__.py",
        "import csv, email, json, zipfile\n"
        "print(csv.mine, email.mine, json.mine, zipfile.mine)\n",
    )
    environment.describe(["dp/__init__.py", "dp/__main__.py"])
    outcome, stats = environment.run("-m", "dp", status=0)
    assert outcome.out.startswith("True True True True\n")
    assert "__main__.py:<module>" in names(stats)


def test_unreadable_metadata_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.dist-info/entry_points.txt", "[console_scripts]\nx\n= y\n")
    (tmp_path / "b.dist-info").write_text("no folder")
    (tmp_path / "c.dist-info").mkdir()
    (tmp_path / "c.dist-info" / "entry_points.txt").write_bytes(b"\xff\n[gui_scripts]")
    write(tmp_path, "d.egg-info/entry_points.txt", "[gui_scripts]\nw=dp.x.y:z [e]\n")
    write(tmp_path, "d.egg-info/top_level.txt", "dp\nnone\n")
    write(tmp_path, "dp/__init__.py", "")

    class Broken:
        @staticmethod
        def find_spec(_name: str, _path: object) -> None:
            raise ValueError

    monkeypatch.setattr(sys, "path", [str(tmp_path), "/nowhere", None])
    monkeypatch.setattr(sys, "meta_path", [Broken, *sys.meta_path])
    assert distribution.of_command("/bin/x") is None
    assert distribution.of_file("/bin/x") is None
    found = distribution.of_command("/bin/w")
    assert found is not None
    assert (found.folders, found.files) == (
        (Folder(str(tmp_path / "dp")),),
        frozenset(),
    )
