"""`kernprof.main` in a process that continues: nothing of the program is left behind.

`conftest.py` checks the state of the process after every test, these tests the rest.
"""

from __future__ import annotations

import builtins
import io
import signal
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from as_python import write

import kernprof
import lineprof
from lineprof import load_stats
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """\
import builtins, os, signal, sys
@profile
def f():
    return sys.argv
print(f(), __name__, sys.modules["__main__"].f is f, builtins.profile is profile)
sys.path.append("changed")
sys.argv.append("changed")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the current folder, with a small program in it."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "x.py", PROGRAM)
    return tmp_path


def test_a_program_in_this_process(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sys.modules["__main__"], sys.argv, sys.path, sys.meta_path[:]
    kernprof.main(["-l", "x.py", "a"])
    assert (sys.modules["__main__"], sys.argv, sys.path, sys.meta_path) == before
    assert sys.argv is before[1]
    assert sys.path is before[2]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "['x.py', 'a'] __main__ True True"
    assert lines[1] == "Wrote profile results to 'x.lprof'"
    [function] = load_stats(folder / "x.lprof").functions
    assert [(row.line, row.hits) for row in function.rows] == [(4, 1)]
    assert load_stats(folder / "x.lprof").processes[0].argv[:2] == ("x.py", "a")


def test_the_command_line_of_this_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["pytest", "-lq", "x.py"])
    kernprof.main()
    assert (folder / "x.lprof").exists()


@pytest.mark.usefixtures("folder")
def test_a_builtin_profile_that_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtins, "profile", "mine", raising=False)
    kernprof.main(["-lq", "x.py"])
    assert builtins.profile == "mine"  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", [["-c", "1 / 0"], ["x.py"], ["-m", "x"]])
def test_exceptions_propagate(folder: Path, words: list[str]) -> None:
    (folder / "x.py").write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        kernprof.main(["-lqo", "out", *words])
    assert load_stats(folder / "out").processes[0].exit == "exception"


def test_exits_propagate(folder: Path) -> None:
    with pytest.raises(SystemExit, match="last words"):
        kernprof.main(["-lqo", "out", "-c", "raise SystemExit('last words')"])
    with pytest.raises(KeyboardInterrupt):
        kernprof.main(["-lqo", "out", "-c", "raise KeyboardInterrupt"])
    assert load_stats(folder / "out").processes[0].exit == "KeyboardInterrupt"


def test_a_lineprof_error_of_the_program_propagates(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "from lineprof.errors import LineprofError; raise LineprofError('mine')"
    with pytest.raises(LineprofError, match="mine"):
        kernprof.main(["-lqo", "out", "-c", code])
    assert capsys.readouterr().err == ""
    assert (folder / "out").exists()


def test_invalid_source_raises_a_syntax_error(folder: Path) -> None:
    (folder / "no.py").write_bytes(b"# \xe9\n")
    for words in (["-c", "x = = 1"], ["no.py"]):
        with pytest.raises(SyntaxError):
            kernprof.main(["-lqo", "out", *words])
        assert not (folder / "out").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "status"),
    [(["-x"], 2), (["no.py"], 2), (["-m", "no_such"], 1), (["-o", "no/x", "x.py"], 2)],
)
def test_exit_on_error_chooses_the_exception_of_an_error(
    words: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        kernprof.main(["-l", *words])
    assert caught.value.code == status
    assert capsys.readouterr().err.startswith("kernprof: ")
    with pytest.raises(LineprofError):
        kernprof.main(["-l", *words], exit_on_error=False)
    assert capsys.readouterr().err == ""


def test_a_profile_that_cannot_be_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "out").mkdir()
    gone = "import shutil; shutil.rmtree('out')"
    with pytest.raises(SystemExit) as caught:
        kernprof.main(["-lo", "out/x", "-c", gone])
    assert caught.value.code == 1
    assert capsys.readouterr().err.count("\n") == 1
    (folder / "out").mkdir()
    with pytest.raises(LineprofError, match="out/x"):
        kernprof.main(["-lo", "out/x", "-c", gone], exit_on_error=False)
    (folder / "out").mkdir()
    with pytest.raises(ZeroDivisionError):  # the program's error is not hidden
        kernprof.main(["-lo", "out/x", "-c", f"{gone}; 1 / 0"])
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_streams(capsys: pytest.CaptureFixture[str]) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr)"
    for quiet, expected in (("q", ("out\n", "err\n")), ("qq", ("", "err\n"))):
        kernprof.main([f"-l{quiet}", "-c", code])
        assert capsys.readouterr() == expected
    kernprof.main(["-lqqq", "-c", code])
    assert capsys.readouterr() == ("", "")
    kernprof.main(["-lq", "-c", "import io, sys; sys.stdout = io.StringIO()"])
    print("still here")
    assert capsys.readouterr().out == "still here\n"


@pytest.mark.usefixtures("folder")
def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("print(__file__)"))
    kernprof.main(["-lq", "-"])
    assert capsys.readouterr().out == "<stdin>\n"


@pytest.mark.usefixtures("folder")
def test_sigterm_is_handled_only_while_the_program_runs() -> None:
    look = "import signal; found.append(signal.getsignal(signal.SIGTERM))"
    found: list[object] = []
    builtins.found = found  # type: ignore[attr-defined]
    try:
        kernprof.main(["-lq", "-c", look])
        thread = threading.Thread(target=kernprof.main, args=(["-lq", "-c", look],))
        thread.start()
        thread.join()
    finally:
        del builtins.found  # type: ignore[attr-defined]
    assert found[0] is not signal.SIG_DFL
    assert found[0] == signal.SIG_DFL
    assert found[1] is signal.SIG_DFL  # only the main thread may set handlers


@pytest.mark.usefixtures("folder")
def test_multiprocessing_is_left_as_it_was() -> None:
    import multiprocessing.spawn as module  # noqa: PLC0415

    before = module.get_preparation_data
    code = (
        "import multiprocessing.spawn as m; print(m.get_preparation_data('x').keys())"
    )
    kernprof.main(["-lq", "-c", code])
    assert module.get_preparation_data is before


@pytest.mark.usefixtures("folder")
def test_the_imported_profile_is_disabled_again() -> None:
    def f() -> int:
        return 1

    code = "from lineprof import profile; f = profile(lambda: 1); f()"
    kernprof.main(["-lqo", "out", "-c", code])
    assert len(load_stats("out").functions) == 1
    assert lineprof.profile(f) is f
    lineprof.profile.enabled = None


@pytest.mark.usefixtures("folder")
def test_cprofile_in_this_process() -> None:
    kernprof.main(["-qo", "out", "-c", "len([])"])
    nested = "import kernprof; kernprof.main(['-c', ''], exit_on_error=False)"
    if sys.version_info >= (3, 12):  # it reports that it is in use
        with pytest.raises(LineprofError, match="cProfile cannot start"):
            kernprof.main(["-q", "-c", nested])
