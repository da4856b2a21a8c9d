"""Installed commands and modules: all of their distribution is the program."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, write
from whole import names, profiled, said

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


class Room:
    """A folder like an environment's, with a command ``dp`` installed in it."""

    def __init__(self, folder: Path) -> None:
        """Install it in `folder`."""
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
        """Write the command, `first` before its text."""
        write(self.bin, "dp", wrapper)
        path = self.bin / "dp"
        path.write_text(first + path.read_text())
        path.chmod(stat.S_IRWXU)

    def describe(self, files: list[str], entry: str = "dp = dp.main:main") -> None:
        """Write what pip would write of what it installed."""
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
def room(tmp_path: Path) -> Room:
    """Give a folder with the command installed."""
    return Room(tmp_path)


def test_a_command_counts_all_that_was_installed_with_it(room: Room) -> None:
    words = ("dp", "train", "--help", "-o", "input.json")
    outcome, stats = room.run(*words, err=said(7, 4))
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
def test_however_the_command_begins(room: Room, first: str) -> None:
    room.command(first)
    assert names(room.run("dp")[1]) == OWN


def test_a_command_by_its_path(room: Room) -> None:
    assert names(room.run("../env/bin/dp")[1]) == OWN
    assert names(room.run(str(room.bin / "dp"))[1]) == OWN


def test_a_script_of_old_style_is_found_in_the_list_of_files(room: Room) -> None:
    room.describe(["dp/main.py", "beside.py"], entry="")
    found = names(room.run("dp")[1])
    assert "beside.py:f" in found
    assert "more.py:f" not in found


def test_a_command_of_no_distribution_is_a_script(room: Room) -> None:
    for file in room.info.iterdir():
        file.unlink()
    room.info.rmdir()
    assert names(room.run("dp")[1]) == ["dp:<module>"]


def test_an_editable_install_counts_the_packages_folder(room: Room) -> None:
    source = room.folder / "source"
    (room.site / "dp").rename(source.parent / "dp_moved")
    source.mkdir()
    (source.parent / "dp_moved").rename(source / "dp")
    write(source, "setup.py", "")
    write(room.site, "__editable__.deep_potential.pth", f"{source}\n")
    room.describe(["__editable__.deep_potential.pth", "__editable___dp_finder.py"])
    room_env = room.env
    room_env["PYTHONPATH"] = f"{source}:{room_env['PYTHONPATH']}"
    _, stats = profiled("dp", cwd=room.data, env=room_env, status=3)
    assert names(stats) == ["dp:<module>", "main.py:<module>", "main.py:main"]


def test_setuptools_own_records_do_too(room: Room) -> None:
    for file in room.info.iterdir():
        file.unlink()
    room.info = room.info.with_suffix(".egg-info")
    room.describe([])
    (room.info / "RECORD").unlink()
    write(room.info, "top_level.txt", "beside\ndp\n")
    found = names(room.run("dp")[1])
    assert found == sorted({*OWN} - {"more.py:<module>", "more.py:f"})


def test_a_module_that_was_installed(room: Room) -> None:
    write(room.site, "dp/__main__.py", "from dp.main import main\nmain()\n")
    write(room.data, "beside_data.py", F)
    room.describe(["dp/__main__.py", "dp/main.py", "dp_extra/more.py"])
    _, stats = room.run("-m", "dp", status=0)
    assert names(stats) == sorted(
        {*OWN, "__main__.py:<module>"}
        - {"dp:<module>", "beside.py:<module>"}
        - {"beside.py:f"}
    )
    _, stats = room.run("-m", "dp.main", status=0)
    assert "more.py:<module>" in names(stats)


def test_a_module_that_nobody_installed_counts_its_package(room: Room) -> None:
    write(room.site, "loose/__main__.py", "import loose.part, other\nloose.part.f()\n")
    write(room.site, "loose/part.py", F)
    _, stats = room.run("-m", "loose", status=0)
    assert names(stats) == ["__main__.py:<module>", "part.py:<module>", "part.py:f"]


def test_a_module_of_the_standard_library_and_the_programs_beside(room: Room) -> None:
    write(room.data, "mine.py", F)
    _, stats = room.run(
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
def test_a_command_that_is_no_python_is_told_in_a_line(
    room: Room, data: bytes, why: str, flags: str
) -> None:
    (room.bin / "dp").write_bytes(data)
    outcome = kernprof(flags, "dp", "--help", cwd=room.data, env=room.env)
    assert (outcome.status, outcome.out) == (2, "")
    place = room.bin / "dp"
    assert outcome.err.startswith(f"kernprof: {str(place)!r} is not Python: {why}; ")
    assert outcome.err.endswith("of a shim of pyenv, what `pyenv which dp` says\n")
    assert outcome.err.count("\n") == 1


def test_finding_it_leaves_the_programs_own_modules_alone(room: Room) -> None:
    for name in ("csv", "email", "json", "zipfile"):
        write(room.data, f"{name}.py", "mine = True")
    write(
        room.site,
        "dp/__main__.py",
        "import csv, email, json, zipfile\n"
        "print(csv.mine, email.mine, json.mine, zipfile.mine)\n",
    )
    room.describe(["dp/__init__.py", "dp/__main__.py"])
    outcome, stats = room.run("-m", "dp", status=0)
    assert outcome.out.startswith("True True True True\n")
    assert "__main__.py:<module>" in names(stats)


def test_what_cannot_be_read_is_left_out(
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
