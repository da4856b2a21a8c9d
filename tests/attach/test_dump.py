"""`lineprof dump`: the stacks of a program, also of one that hangs."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest
from as_python import viewer
from target_process import Target, why_not

from lineprof.attach import dump

PAGE = Path(__file__).parents[2] / "docs" / "attach.md"


@pytest.fixture(scope="module", autouse=True)
def _can_join() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("stacks are read on Linux only")
    if reason := why_not():
        pytest.skip(reason)


@pytest.fixture
def no_py_spy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump, "_py_spy", lambda: None)


BUSY = """\
import threading
stop, both = threading.Event(), threading.Barrier(2)
def outer():
    inner()
def inner():
    if both.wait() == 0: print("ready", flush=True)
    while not stop.is_set():
        pass
threading.Thread(target=outer, daemon=True, name="helper").start()
inner()
"""


@pytest.mark.usefixtures("no_py_spy")
def test_each_thread_has_its_stack_outermost_first(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(BUSY, encoding="utf-8")
    with Target(f"import runpy; runpy.run_path({str(file)!r})") as target:
        done = viewer("dump", str(target.pid), cwd=tmp_path)
        assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith(f"Process {target.pid}: 2 threads, ")
    text = done.out
    assert text.count("in inner\n") == 2
    assert f'  File "{file}", line 4, in outer\n    inner()\n' in text
    assert text.index("in outer") < text.rindex("in inner") or (
        text.index("in outer") < text.index("in inner")
    )
    assert f'  File "{file}", line 10, in <module>\n    inner()\n' in text


BLOCKED = """\
import sys
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.mark.usefixtures("no_py_spy")
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads it from outside")
def test_a_program_that_runs_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump, "_PATIENCE", 0.2)
    with Target(BLOCKED) as target:
        target.wait_blocked_in("read")
        done = viewer("dump", str(target.pid), cwd=tmp_path)
        assert done.status == 1
        assert done.err == (
            f"lineprof: process {target.pid} runs nothing that could tell: the main"
            " thread is blocked in read; pip install py-spy, with which lineprof reads"
            " stacks from outside\n"
        )
        target.tell("")
        assert target.rest() == (0, [])


@pytest.mark.skipif(sys.version_info < (3, 14), reason="Python cannot read it")
def test_python_reads_a_blocked_program_from_outside(tmp_path: Path) -> None:
    with Target(BLOCKED) as target:
        target.wait_blocked_in("read")
        done = viewer("dump", str(target.pid), cwd=tmp_path)
        assert (done.status, done.err) == (0, "")
        assert "read from outside by Python" in done.out
        assert 'File "<string>", line 3, in <module>' in done.out
        target.tell("")
        assert target.rest() == (0, [])


def stand_in(folder: Path, *, prints: str, status: int = 0, says: str = "") -> str:
    """Write a program in the place of py-spy, which prints what it would."""
    path = folder / "py-spy"
    path.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"assert sys.argv[1:4] == ['dump', '--json', '--pid'], sys.argv\n"
        f"print({prints!r})\nsys.stderr.write({says!r})\nsys.exit({status})\n",
        encoding="utf-8",
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


needs_py_spy = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="Python reads stacks itself"
)


@needs_py_spy
def test_py_spy_reads_a_program_if_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = [
        {
            "thread_id": 5,
            "os_thread_id": 1,
            "thread_name": "Main\x1b[31m",
            "frames": [
                {"name": "inner", "filename": "/no/such.py", "line": 3},
                {"name": "outer", "filename": "/no/such.py", "line": 9},
            ],
        }
    ]
    path = stand_in(tmp_path, prints=json.dumps(threads))
    monkeypatch.setattr(dump, "_py_spy", lambda: path)
    with Target(BLOCKED) as target:
        done = viewer("dump", str(target.pid), cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        (
            f"Process {target.pid}: 1 thread, read from outside by py-spy; innermost"
            " calls last"
        ),
        "",
        "Thread 1 Main\\x1b[31m",
        '  File "/no/such.py", line 9, in outer',
        '  File "/no/such.py", line 3, in inner',
    ]


@needs_py_spy
@pytest.mark.parametrize(
    ("prints", "status", "says", "expected"),
    [
        ("", 1, "Error: no\nreason\n", "py-spy cannot read process {}: reason"),
        ("", 1, "", "py-spy cannot read process {}: it failed"),
        ("{}", 0, "", "0 threads"),
        ("[1]", 0, "", "py-spy cannot read process {}: "),
        ("nonsense", 0, "", "py-spy cannot read process {}: "),
    ],
)
def test_what_py_spy_cannot_do_is_one_line(  # noqa: PLR0913, PLR0917
    prints: str,
    status: int,
    says: str,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = stand_in(tmp_path, prints=prints, status=status, says=says)
    monkeypatch.setattr(dump, "_py_spy", lambda: path)
    with Target(BLOCKED) as target:
        done = viewer("dump", str(target.pid), cwd=tmp_path)
    assert expected.format(target.pid) in done.out + done.err
    assert len((done.out + done.err).splitlines()) == 1


def test_py_spy_is_found_in_this_environment_or_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, prints="")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda _: os.fspath(tmp_path / "none"))
    assert dump._py_spy() == str(tmp_path / "py-spy")
    monkeypatch.setenv("PATH", "")
    assert dump._py_spy() is None


def test_a_process_that_does_not_exist_is_said(tmp_path: Path) -> None:
    done = viewer("dump", "999999999", cwd=tmp_path)
    assert done.status == 1
    assert done.err.startswith("lineprof: there is no process 999999999")


def test_the_page_shows_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = page[page.index("$ lineprof dump 4242") :].splitlines()
    path = stand_in(tmp_path, prints="[]")
    monkeypatch.setattr(dump, "_py_spy", lambda: path)
    with Target(BLOCKED) as target:
        done = viewer("dump", str(target.pid), cwd=tmp_path)
    head = done.out.splitlines()[0].replace(str(target.pid), "4242")
    expected = shown[1].replace("2 threads", head.split(": ")[1].split(",")[0])
    if sys.version_info >= (3, 14):
        expected = expected.replace("py-spy", "Python")
    assert head == expected
