"""Source that a program edits, replaces, deletes or reloads while it runs."""

from __future__ import annotations

import hashlib
import os
import py_compile
import re
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, run, viewer

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

    from as_python import Outcome

pytestmark = pytest.mark.usefixtures("hook")

SPARE = """\
def spare():
    return 0
"""
WORK = """\
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total
"""
LATER = """\
def later():
    return 2
"""
MODULE = SPARE + WORK + LATER
EDITED = MODULE.replace("total += i", "total -= i").replace("return 2", "return 3")
LONGER = f"# A line more.\n{EDITED}"
assert len(EDITED) == len(MODULE)

# Ways to change a file; each program has `file` and `text`.
CHANGES = {
    "edited": "open(file, 'w').write(text)",
    "replaced": "open(file + '.new', 'w').write(text); os.replace(file + '.new', file)",
    "edited with its times": (
        "times = os.stat(file); open(file, 'w').write(text);"
        " os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))"
    ),
    "deleted": "os.remove(file)",
}
TEXTS = {"edited": LONGER, "replaced": LONGER, "edited with its times": EDITED}
CHANGED = "has changed since it was profiled; the text shown is that of the profile"


def save(folder: Path, name: str, text: str) -> Path:
    """Write `text` to a file; return its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def change(file: str, how: str) -> str:
    """Return a statement that changes the file that the expression `file` names."""
    text = TEXTS.get(how, "")
    return f"import os; file, text = {file}, {text!r}; {CHANGES[how]}\n"


def check_text(path: Path, file: Path, text: str) -> None:
    """Check the text of `file` in the profile at `path`, and its hash."""
    source = load_stats(path).sources[str(file)]
    assert source.text == text
    assert source.sha256 == hashlib.sha256(text.encode()).hexdigest()


def check_view(path: Path, how: str, *lines: str) -> None:
    """Check that the tables have `lines`, and the note on a changed file."""
    viewed = viewer("view", "--all-functions", path.name, cwd=path.parent)
    for line in lines:
        assert line in viewed.out
    assert (CHANGED in viewed.out) == (how != "deleted")
    assert CHANGED not in viewed.err


def check_left_out(outcome: Outcome, path: Path, file: Path, why: str) -> None:
    """Check that the profile has counts of `file`, but no text, and says why."""
    assert (outcome.status, outcome.err) == (0, "")
    stats = load_stats(path)
    assert (stats.sources[str(file)].text, stats.sources[str(file)].sha256) == ("", "")
    [warning] = stats.warnings
    assert warning.startswith(f"{file} {why}")
    viewed = viewer("view", path.name, cwd=path.parent)
    assert "total" not in viewed.out
    assert "     5         4  " in viewed.out  # the counts are there
    assert viewed.out.endswith(f"\n\nNote: {warning}\n")
    assert viewed.err == ""


@pytest.mark.parametrize("how", CHANGES)
def test_a_script_that_changes_itself_is_shown_as_it_ran(
    tmp_path: Path, how: str
) -> None:
    script = f"{WORK}work = profile(work)\nwork(3)\n{change('__file__', how)}"
    script += "work(3)\n" + LATER + "later = profile(later)\nlater()\n"
    file = save(tmp_path, "x.py", script)
    assert kernprof("-l", "x.py", cwd=tmp_path).status == 0
    check_text(tmp_path / "x.lprof", file, script)
    check_view(tmp_path / "x.lprof", how, "total += i", "return 2")


MODULES = {how: f"mod_{number}" for number, how in enumerate(CHANGES)}


def program_of_changes(folder: Path, first: str, later: str) -> str:
    """Write a module for each way to change it; return a program that does so.

    In it, `mod` is the module in `first`, before the change, and in `later`.
    """
    parts = []
    for how, name in MODULES.items():
        save(folder, f"{name}.py", MODULE)
        part = f"import mod\n{first}{change('mod.__file__', how)}{later}"
        parts.append(re.sub(r"\bmod\b", name, part))
    return "".join(parts)


@pytest.fixture(
    scope="module",
    params=[("-p", ",".join(MODULES.values())), ("--all",), ("--all", "-i", "60")],
    ids=["-p", "--all", "--all -i"],
)
def under_kernprof(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Run a program that changes its modules under kernprof; return its profile."""
    folder = tmp_path_factory.mktemp("kernprof")
    text = program_of_changes(folder, "mod.work(3)\n", "mod.work(3)\nmod.later()\n")
    save(folder, "x.py", text)
    outcome = kernprof("-l", *request.param, "x.py", cwd=folder)
    assert outcome.status == 0
    return folder / "x.lprof"


@pytest.fixture(scope="module")
def without_kernprof(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run such a program that profiles its modules itself; return its profile."""
    folder = tmp_path_factory.mktemp("alone")
    text = "from lineprof import LineProfiler\nprofiler = LineProfiler()\n"
    text += program_of_changes(
        folder,
        "profiler.add_function(mod.work)\nwith profiler: mod.work(3)\n",
        "profiler.add_function(mod.later)\nwith profiler: mod.later()\n",
    )
    save(
        folder, "x.py", f"{text}profiler.dump_stats('x.lprof')\nprofiler.print_stats()"
    )
    outcome = run(["x.py"], cwd=folder)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.count("total += i") == len(CHANGES)
    return folder / "x.lprof"


def check_module(path: Path, how: str) -> None:
    """Check the text of the module that was changed so."""
    file = path.with_name(f"{MODULES[how]}.py")
    check_text(path, file, MODULE)
    names = [f"{file.name}::work", f"{file.name}::later"]
    viewed = viewer("view", *names, path.name, cwd=path.parent)
    for line in ("total += i", "return 2"):
        assert viewed.out.count(f"  {line}\n") == 1
    assert (f"{file} {CHANGED}" in viewed.out) == (how != "deleted")
    assert CHANGED not in viewed.err


@pytest.mark.parametrize("how", CHANGES)
def test_a_module_that_changes_after_its_import_is_shown_as_it_ran(
    under_kernprof: Path, how: str
) -> None:
    check_module(under_kernprof, how)


@pytest.mark.parametrize("how", CHANGES)
def test_a_module_is_shown_as_it_ran_without_kernprof(
    without_kernprof: Path, how: str
) -> None:
    check_module(without_kernprof, how)


@pytest.mark.parametrize("how", TEXTS)
def test_text_that_is_newer_than_the_code_is_left_out(tmp_path: Path, how: str) -> None:
    mod = save(tmp_path, "mod.py", MODULE)
    save(
        tmp_path,
        "x.py",
        f"import mod\nfrom lineprof import LineProfiler\n{change('mod.__file__', how)}"
        "profiler = LineProfiler(mod.work)\nwith profiler: mod.work(3)\n"
        "profiler.dump_stats('x.lprof')\n",
    )
    outcome = run(["x.py"], cwd=tmp_path)
    why = "is not the text that Python compiled"
    check_left_out(outcome, tmp_path / "x.lprof", mod, why)


def test_text_that_is_newer_than_its_bytecode_is_left_out(tmp_path: Path) -> None:
    mod = save(tmp_path, "mod.py", MODULE)
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(mod), invalidation_mode=unchecked)
    mod.write_text(EDITED)
    os.utime(mod, (0, 0))
    save(tmp_path, "x.py", "import mod\nmod.work(3)\n")
    outcome = kernprof("-lq", "-p", "mod", "x.py", cwd=tmp_path)
    why = "is not the text that Python compiled"
    check_left_out(outcome, tmp_path / "x.lprof", mod, why)


RELOADS = """\
import importlib, mod
from lineprof import LineProfiler
profiler = LineProfiler(mod.work)
with profiler: mod.work(3)
{change}
importlib.invalidate_caches()
importlib.reload(mod)
profiler.add_function(mod.work)
with profiler: mod.work(3)
profiler.dump_stats("x.lprof")
"""


def test_text_is_left_out_if_functions_of_two_versions_were_profiled(
    tmp_path: Path,
) -> None:
    mod = save(tmp_path, "mod.py", MODULE)
    program = RELOADS.format(change=change("mod.__file__", "replaced"))
    save(tmp_path, "x.py", program)
    outcome = run(["x.py"], cwd=tmp_path)
    why = "was edited and loaded again while it was profiled"
    check_left_out(outcome, tmp_path / "x.lprof", mod, why)


def test_a_version_that_was_not_profiled_does_not_matter(tmp_path: Path) -> None:
    mod = save(tmp_path, "mod.py", MODULE)
    program = RELOADS.format(change=change("mod.__file__", "replaced"))
    program = program.replace("LineProfiler(mod.work)", "LineProfiler()")
    save(tmp_path, "x.py", program)
    assert run(["x.py"], cwd=tmp_path).status == 0
    check_text(tmp_path / "x.lprof", mod, LONGER)
    viewed = viewer("view", "x.lprof", cwd=tmp_path)
    assert "total -= i" in viewed.out
    assert viewed.err == ""


@pytest.mark.smoke
def test_functions_that_a_reload_did_not_change_have_their_text(tmp_path: Path) -> None:
    mod = save(tmp_path, "mod.py", MODULE)
    program = RELOADS.format(change=change("mod.__file__", "edited with its times"))
    save(
        tmp_path, "x.py", program.replace("mod.work", "mod.spare").replace("(3)", "()")
    )
    assert run(["x.py"], cwd=tmp_path).status == 0
    check_text(tmp_path / "x.lprof", mod, MODULE)
    check_view(tmp_path / "x.lprof", "edited", "def spare():")


def test_text_that_one_of_several_profiles_leaves_out_is_not_shown(
    tmp_path: Path,
) -> None:
    mod = save(tmp_path, "mod.py", MODULE)
    program = (
        "import mod, sys\nfrom lineprof import LineProfiler\n{change}"
        "profiler = LineProfiler(mod.work)\nwith profiler: mod.work(3)\n"
        "profiler.dump_stats(sys.argv[1])\n"
    )
    save(tmp_path, "x.py", program.format(change=""))
    assert run(["x.py", "a.lprof"], cwd=tmp_path).status == 0
    made = change("mod.__file__", "edited")
    save(tmp_path, "x.py", program.format(change=made))
    assert run(["x.py", "b.lprof"], cwd=tmp_path).status == 0
    for names in (("a.lprof", "b.lprof"), ("b.lprof", "a.lprof")):
        viewed = viewer("view", *names, cwd=tmp_path)
        assert "     5         8  " in viewed.out
        assert "total" not in viewed.out
        assert f"{mod} is not the text that Python compiled" in viewed.out
        assert "differs" not in viewed.out
        assert viewed.err.startswith("lineprof: these are sums of 2 profiles; ")


def test_a_script_that_begins_by_deleting_itself_is_shown(tmp_path: Path) -> None:
    script = f"import os; os.remove(__file__)\n{WORK}\nwork(3)\n"
    file = save(tmp_path, "x.py", script)
    assert kernprof("-l", "x.py", cwd=tmp_path).status == 0
    check_text(tmp_path / "x.lprof", file, script)


def test_a_script_that_begins_by_editing_itself_is_shown(tmp_path: Path) -> None:
    script = f"{change('__file__', 'edited')}{WORK}\nwork(3)\n"
    file = save(tmp_path, "x.py", script)
    assert kernprof("-l", "x.py", cwd=tmp_path).status == 0
    check_text(tmp_path / "x.lprof", file, script)


def test_text_of_a_file_that_appeared_after_its_functions_is_left_out(
    tmp_path: Path,
) -> None:
    mod = save(tmp_path, "mod.py", MODULE)
    save(
        tmp_path,
        "x.py",
        "import mod, os\nfrom lineprof import LineProfiler\n"
        "os.remove(mod.__file__)\nprofiler = LineProfiler(mod.work)\n"
        f"with profiler: mod.work(3)\n{change('mod.__file__', 'edited')}"
        "profiler.dump_stats('x.lprof')\n",
    )
    outcome = run(["x.py"], cwd=tmp_path)
    why = "is not the text that Python compiled"
    check_left_out(outcome, tmp_path / "x.lprof", mod, why)


@pytest.mark.smoke
def test_a_block_is_shown_as_it_ran(tmp_path: Path) -> None:
    script = (
        "from lineprof import profile\nwith profile.block('load'):\n"
        "    a = 1\n    b = 2\nc = 3\n"
    ) + change("__file__", "edited")
    file = save(tmp_path, "x.py", script)
    assert kernprof("-l", "x.py", cwd=tmp_path).status == 0
    check_text(tmp_path / "x.lprof", file, script)
    [function] = load_stats(tmp_path / "x.lprof").functions
    assert [row.line for row in function.rows] == [2, 3, 4]


REWRITES = """\
import ast, importlib.machinery, os, sys

class Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, *_, **_options):
        tree = ast.parse(data)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                added = ast.copy_location(ast.Pass(), node.body[0])
                call = ast.parse("abs(0)").body[0]
                for part in ast.walk(call):
                    ast.copy_location(part, node.body[0])
                node.body.insert(0, call)
        return compile(tree, path, "exec", dont_inherit=True)

class Finder:
    def find_spec(self, name, path, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if name == "mod":
            spec.loader = Loader(name, spec.origin)
        return spec

sys.dont_write_bytecode = True
sys.meta_path.insert(0, Finder())
text = {text!r}
open("mod.py", "w").write(text)  # newer than this process
import mod
from lineprof import LineProfiler
profiler = LineProfiler(mod.work)
with profiler: mod.work(3)
profiler.dump_stats("x.lprof")
"""


def test_files_that_an_importer_rewrites_have_their_text(tmp_path: Path) -> None:
    save(tmp_path, "x.py", REWRITES.format(text=MODULE))
    outcome = run(["x.py"], cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    check_text(tmp_path / "x.lprof", tmp_path / "mod.py", MODULE)


# Loads a file as a template engine does: its code is that of a generated text.
GENERATES = """\
import os
text = "from math import sqrt\\nname = 1\\n\\ndef root(n):\\n    return n\\n"
def load(file):
    names = {}
    exec(compile(text, os.path.abspath(file), "exec"), names)
    return names["root"]
profile(load("page.html"))(1)
"""
KILL = "import signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
FOREIGN = (
    "is not Python: beside each number of a line is that line of the file, which was"
    " not measured if the code was generated, as from a template"
)
FEWER = (
    "is not Python, and has fewer lines than the code that names it: that was generated"
)


@pytest.mark.parametrize("end", ["", KILL], ids=["written", "recovered"])
def test_a_template_that_is_shorter_than_its_code_is_left_out(
    tmp_path: Path, end: str
) -> None:
    template = save(tmp_path, "page.html", "<ul>\n{% for x in y %}\n")
    save(tmp_path, "gen.py", GENERATES + end)
    kernprof("-lq", "gen.py", cwd=tmp_path)
    shown = viewer("view", "gen.lprof", cwd=tmp_path)
    source = load_stats(tmp_path / "gen.lprof").sources[str(template)]
    assert source.is_left_out
    assert f"Note: {template} {FEWER}" in shown.out
    assert "{% for" not in shown.out


@pytest.mark.parametrize("end", ["", KILL], ids=["written", "recovered"])
def test_a_file_that_is_no_python_is_shown_with_a_remark(
    tmp_path: Path, end: str
) -> None:
    text = "<ul>\n{% for x in y %}\n  <li>{{ x }}</li>\n{% endfor %}\n</ul>\n</p>\n"
    template = save(tmp_path, "page.html", text)
    save(tmp_path, "gen.py", GENERATES + end)
    kernprof("-lq", "gen.py", cwd=tmp_path)
    shown = viewer("view", "gen.lprof", cwd=tmp_path)
    assert load_stats(tmp_path / "gen.lprof").sources[str(template)].text == text
    assert f"Note: {template} {FOREIGN}" in shown.out


def test_a_python_file_of_another_name_is_shown_without_a_remark(
    tmp_path: Path,
) -> None:
    save(tmp_path, "tool", "def root(n):\n    return n\n")
    program = GENERATES.replace("page.html", "tool").replace(
        "def load", "text = open('tool').read()\ndef load"
    )
    save(tmp_path, "gen.py", program)
    kernprof("-lq", "gen.py", cwd=tmp_path)
    shown = viewer("view", "gen.lprof", cwd=tmp_path).out
    assert "return n" in shown
    assert "Note" not in shown
