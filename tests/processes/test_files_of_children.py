"""Files of a run's processes: one file is one in the profile, however it is named."""

from __future__ import annotations

import multiprocessing
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof_forked, run, viewer, write
from live_program import live_program

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

METHODS = [one for one in multiprocessing.get_all_start_methods() if one != "fork"]
SPAWNS = """\
import multiprocessing, os, sys
@profile
def work(n):
    x = n
    return x
if __name__ == "__main__":
    work(1)
    os.chdir(os.sep)
    context = multiprocessing.get_context({method!r})
    child = context.Process(target=work, args=(1,))
    child.start()
    child.join()
"""
# Starts itself as it was started, from the folder above.
RESTARTS = """\
import os, subprocess, sys
@profile
def work(n):
    x = n
    return x
work(1)
if len(sys.argv) == 1:
    os.chdir("..")
    subprocess.run([sys.executable, {name!r}, "child"], check=True)
"""


def functions_in(profile: Path) -> dict[tuple[str, str], list[int]]:
    """Return the hits of each function, by its file and its name."""
    return {
        (function.file, function.name): [row.hits for row in function.rows]
        for function in load_stats(profile).functions
    }


def both(file: Path) -> dict[tuple[str, str], list[int]]:
    """Return the functions of a program that has called `work` in two processes."""
    return {(str(file), "work"): [2, 2]}


@pytest.mark.parametrize(
    ("name", "method", "live"),
    [
        *[("./sp.py", method, live) for method in METHODS for live in ("", "off")],
        *[
            (name, METHODS[0], "")
            for name in (
                "../{folder}/sp.py",
                "{folder}/../sp.py",
                "/{path}",
                ".//sp.py",
            )
        ],
    ],
)
def test_a_spawned_child_counts_in_the_functions_of_its_parent(
    tmp_path: Path,
    name: str,
    method: str,
    live: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LINEPROF_LIVE", live)
    write(tmp_path, "sp.py", SPAWNS.format(method=method))
    (tmp_path / tmp_path.name).mkdir()  # {folder}, from tmp_path
    path = tmp_path / "sp.py"
    given = name.format(folder=tmp_path.name, path=path)
    outcome = kernprof_forked("-lq", "-o", "x.lprof", given, cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    assert functions_in(tmp_path / "x.lprof") == both(path)


@pytest.mark.parametrize("method", METHODS)
def test_a_link_to_a_script_keeps_its_name(tmp_path: Path, method: str) -> None:
    write(tmp_path, "real/sp.py", SPAWNS.format(method=method))
    (tmp_path / "link.py").symlink_to("real/sp.py")
    (tmp_path / "folder").symlink_to("real")
    for given in ("link.py", "folder/sp.py"):
        flags = ("-lq", "-o", "x.lprof")
        assert kernprof_forked(*flags, f"./{given}", cwd=tmp_path).status == 0
        assert functions_in(tmp_path / "x.lprof") == both(tmp_path / given)


@pytest.mark.parametrize("method", METHODS)
def test_a_module_that_spawns_is_one_file(tmp_path: Path, method: str) -> None:
    write(tmp_path, "package/__init__.py", "")
    write(tmp_path, "package/sp.py", SPAWNS.format(method=method))
    other = tmp_path / "other"
    other.mkdir()
    words = ("-lq", "-o", "x.lprof", "-m", "package.sp")
    outcome = kernprof_forked(*words, cwd=other, env={"PYTHONPATH": "../other/.."})
    assert (outcome.status, outcome.err) == (0, "")
    file = tmp_path / "package" / "sp.py"
    assert functions_in(other / "x.lprof") == both(file)


def test_a_child_that_names_its_script_otherwise_counts_in_it(tmp_path: Path) -> None:
    name = f"./{tmp_path.name}/../{tmp_path.name}/./self.py"
    write(tmp_path, "self.py", RESTARTS.format(name=name))
    assert kernprof_forked("-lq", "-o", "x.lprof", "self.py", cwd=tmp_path).status == 0
    assert functions_in(tmp_path / "x.lprof") == both(tmp_path / "self.py")
    words = ("-q", "-o", "y.lprof", "--", "sh", "-c", 'exec "$0" ./self.py')
    flags = ("-m", "lineprof", "run", "--children", *words)
    assert run([*flags, sys.executable], cwd=tmp_path).status == 0
    assert functions_in(tmp_path / "y.lprof") == both(tmp_path / "self.py")


def test_the_folder_around_a_links_target_is_another_one(tmp_path: Path) -> None:
    """``link/..`` is the folder that the target is in, and not the link's."""
    write(tmp_path, "x.py", "@profile\ndef other():\n    return 1\nother()\n")
    meant = write(tmp_path, "far/x.py", "@profile\ndef work():\n    return 1\nwork()\n")
    (tmp_path / "far" / "target").mkdir()
    (tmp_path / "link").symlink_to("far/target")
    assert (
        kernprof_forked("-lq", "-o", "x.lprof", "./link/../x.py", cwd=tmp_path).status
        == 0
    )
    file = f"{tmp_path}/link/../x.py"
    assert functions_in(tmp_path / "x.lprof") == {(file, "work"): [1]}
    stats = load_stats(tmp_path / "x.lprof")
    assert stats.sources[file].text == (tmp_path / meant).read_text()


def test_profiles_of_one_script_by_several_names_add_up(tmp_path: Path) -> None:
    write(tmp_path, "f.py", "@profile\ndef work():\n    return 1\nwork()\n")
    names = ("f.py", "./f.py", f"../{tmp_path.name}/f.py")
    for number, name in enumerate(names):
        assert (
            kernprof_forked("-lq", "-o", f"{number}.lprof", name, cwd=tmp_path).status
            == 0
        )
    files = [f"{number}.lprof" for number in range(len(names))]
    assert viewer("merge", *files, "-o", "all.lprof", cwd=tmp_path).status == 0
    assert functions_in(tmp_path / "all.lprof") == {(f"{tmp_path}/f.py", "work"): [3]}
    shown = viewer("view", "./f.py::work", *files, cwd=tmp_path)
    assert shown.out.count("Function: work at line 1") == 1


def test_a_program_sees_the_file_names_of_its_code(tmp_path: Path) -> None:
    program = """
        @profile
        def work():
            return 1
        work()
        code = work.__code__
        key = (code.co_filename, code.co_firstlineno, code.co_name)
        assert key in profile.get_stats().timings
        """
    write(tmp_path, "f.py", program)
    outcome = kernprof_forked("-lq", "./f.py", cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")


def test_a_profile_that_is_recovered_has_normal_names(tmp_path: Path) -> None:
    program = """
        import os, signal
        @profile
        def work():
            return 1
        work()
        os.kill(os.getpid(), signal.SIGKILL)
        """
    write(tmp_path, "f.py", program)
    kernprof_forked("-lq", "-o", "x.lprof", "./f.py", cwd=tmp_path)
    assert viewer("view", "x.lprof", cwd=tmp_path).status == 0
    assert functions_in(tmp_path / "x.lprof") == {(f"{tmp_path}/f.py", "work"): [1]}
    assert load_stats(tmp_path / "x.lprof").sources[f"{tmp_path}/f.py"].text


def test_the_open_line_of_a_running_script_is_one_of_its_lines(tmp_path: Path) -> None:
    program = """
        import pathlib, sys
        def main():
            pathlib.Path("ready").touch()
            sys.stdin.read()
        main()
        """
    program = textwrap.dedent(program)
    with live_program(tmp_path, program, name="./waits.py") as process:
        shown = viewer("top", str(process.pid), "-n", "1", cwd=tmp_path).out
    [line] = [line for line in shown.splitlines() if line.startswith(">")]
    assert "waits.py:5 " in line
    assert line.endswith("sys.stdin.read()")
