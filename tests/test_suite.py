"""The tools that run the suite: its plan, tests that hang, and tests that run again."""

from __future__ import annotations

import os
import sys
import textwrap
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tools of the checkout be imported, but nothing else of it."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT)])


def project(folder: Path, text: str) -> Path:
    """Write tests that have the suite's hooks; return their folder."""
    folder.mkdir()
    (folder / "pytest.ini").write_text(
        f"[pytest]\npythonpath = {ROOT / 'tests' / 'helpers'}\n"
        "markers =\n    serial\n    smoke\n    timing(suspicion)\n",
        encoding="utf-8",
    )
    (folder / "conftest.py").write_text("from suite_plugin import *\n", "utf-8")
    (folder / "test_it.py").write_text(textwrap.dedent(text), "utf-8")
    return folder


def run(folder: Path, *options: str, clock: Any = lambda: 0.0) -> tuple[Any, Any]:
    """Run a project's tests; return how that ended, and the result."""
    from tools.dev import results, sessions  # noqa: PLC0415

    log, report = folder / "log" / "a.txt", folder / "log" / "a.xml"
    running = folder / "log" / "a.running"
    running.mkdir(parents=True)
    command = [sys.executable, "-m", "pytest", f"--junitxml={report}", *options]
    place = {"args": [*command, str(folder)], "cwd": folder, "env": dict(os.environ)}
    end = sessions.Sessions(clock).run(place, log, running)
    return end, results.read_report(results.Result("it", log), report, end.status)


HANGING = """
    from pathlib import Path
    import time

    # A process that goes on after the test that hung runs another one.
    Path("{mark}").unlink(missing_ok=True)

    def test_one():
        pass

    def test_that_hangs():
        Path("{mark}").touch()
        time.sleep(1000)

    def test_two():
        pass
"""


def times_after(mark: Path) -> Iterator[float]:
    """Yield times that stand still, but leap while a file exists."""
    now = 0.0
    while True:
        now += 1000.0 * mark.exists()
        yield now


def test_a_test_that_hangs_is_named_and_fails_alone(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    folder = project(tmp_path / "it", HANGING.format(mark=mark))
    times = times_after(mark)
    end, result = run(folder, "-n1", clock=lambda: next(times))
    assert set(end.hung) == {"test_it.py::test_that_hangs"}
    assert (result.passed, result.failed) == (2, 1)
    [failure] = result.failures
    assert "test_that_hangs" in failure.name + failure.message


def test_a_test_that_hangs_is_named_if_it_has_no_process_of_its_own(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "mark"
    folder = project(tmp_path / "it", HANGING.format(mark=mark))
    times = times_after(mark)
    end, result = run(folder, "-pno:xdist", clock=lambda: next(times))
    assert end.hung == ("test_it.py::test_that_hangs",)
    assert end.status < 0
    assert result.failed == 1
    log = (folder / "log" / "a.txt").read_text("utf-8", "replace")
    assert "in test_that_hangs" in log  # the stack


def test_no_limit_ends_a_run_that_goes_on(tmp_path: Path) -> None:
    text = """
        import pytest

        @pytest.mark.parametrize("n", range(100))
        def test_it(n):
            pass
    """
    folder = project(tmp_path / "it", text)
    size = [0]
    log = folder / "log" / "a.txt"

    def clock() -> float:  # leaps as often as the log grows
        size[0] += 299 * (log.stat().st_size > 0)
        return float(size[0])

    end, result = run(folder, "-v", clock=clock)
    assert (end.hung, result.passed, result.failed) == ((), 100, 0)


def marked(mark: str, count: int) -> str:
    """Return tests that have a mark."""
    tests = (
        f"@pytest.mark.{mark}\ndef test_{n}():\n    assert {n} % 2 == 0\n"
        for n in range(count)
    )
    return "\n".join(["import pytest", *tests])


def test_more_than_five_tests_marked_timing_are_refused(tmp_path: Path) -> None:
    five = project(tmp_path / "five", marked("timing('it may')", 5))
    _, result = run(five)
    assert (result.passed, result.failed) == (3, 2)
    end, result = run(project(tmp_path / "six", marked("timing('it may')", 6)))
    assert end.status == pytest.ExitCode.USAGE_ERROR
    assert "6 tests are marked timing, which 5 may be" in result.log.read_text("utf-8")


def test_only_a_test_marked_timing_runs_again(tmp_path: Path) -> None:
    from tools.dev import results  # noqa: PLC0415

    text = marked("timing('it may')", 4) + "\ndef test_wrong():\n    assert 0\n"
    _, result = run(project(tmp_path / "it", text))
    assert (result.passed, result.failed) == (2, 3)
    calls: list[str] = []

    def passes(test: str) -> bool:
        calls.append(test)
        return "test_1" in test

    settled = results.again(result, passes)
    assert Counter(calls) == {"test_it.py::test_1": 2, "test_it.py::test_3": 1}
    assert (settled.passed, settled.failed) == (3, 2)
    assert settled.unstable == ("test_it::test_1: it may",)
    assert [one.name for one in settled.failures] == [
        "test_it::test_3",
        "test_it::test_wrong",
    ]


def test_the_last_lines_say_why_a_check_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tools.dev import results  # noqa: PLC0415

    told, silent = tmp_path / "told.txt", tmp_path / "silent.txt"
    told.write_text("small:\n    FAILED: no row\nserved:\n1 failed\n", "utf-8")
    silent.write_text("".join(f"line {n}\n\n" for n in range(9)), "utf-8")
    logs = {"pages": told, "own tests": silent, "lost": tmp_path / "no.txt"}
    failed = [results.Result(name, log, failed=1) for name, log in logs.items()]
    assert results.close(failed)
    assert capsys.readouterr().out.splitlines() == [
        f"FAILED pages; log: {told}",
        "  FAILED: no row",
        f"FAILED own tests; log: {silent}",
        *(f"  line {n}" for n in range(4, 9)),
        f"FAILED lost; log: {tmp_path / 'no.txt'}",
        "0 passed, 3 failed, 0 skipped",
    ]


def test_the_mark_timing_implies_the_mark_serial(
    tmp_path: Path,
) -> None:
    text = marked("timing('it may')", 1) + marked("serial", 1).replace("_0", "_s")
    folder = project(tmp_path / "it", text + "\ndef test_other(): pass\n")
    _, alone = run(folder, "-mserial", "-v")
    assert alone.passed == 2
    assert "test_other" not in alone.log.read_text("utf-8")


def pythons(*versions: str) -> list[Any]:
    """Return descriptions of interpreters, for the plan."""
    from tools.dev.pythons import Python  # noqa: PLC0415

    given = SimpleNamespace(headers=True, venv=True, sqlite=True)
    return [
        Python(f"/{version}", "cpython", version, version, **vars(given))
        for version in versions
    ]


TWIN = "3.11.9"
VERSIONS = ["3.15.1", "3.14.2", "3.13.3", "3.12.4", TWIN, "3.11.2"]
FOUND = slice(2, None)  # the two newest are in a Debian


def files_of(runs: Sequence[Any]) -> dict[tuple[str, str], set[str]]:
    """Return the files of each Python and core."""
    found: dict[tuple[str, str], set[str]] = {}
    for one in runs:
        found.setdefault((one.python.version, one.core), set()).update(one.files)
    return found


def test_the_gate_has_every_test_once_and_counts_on_every_core() -> None:
    from tools.dev import plan  # noqa: PLC0415

    found = pythons(*VERSIONS)
    first = found[FOUND][0]
    gate = list(plan.gate(first, found))
    assert gate[0].files == plan.files()
    assert gate[0].marks == "(once or not (behaviour or recording)) and not seldom"
    by_core = files_of(gate)
    assert set(by_core) == {
        (one.version, core)
        for one in found
        for core in one.cores
        if one.version != TWIN  # 3.11.2 has all of it
    }
    counting = set(plan.files(plan.COUNTING))
    usual = {one.version: one.cores[0] for one in found}
    for (version, core), files in by_core.items():
        kinds = not version.startswith("3.11") and core == "monitoring"
        if kinds and version != first.version:
            assert not files & counting  # each kind of events has a run of its own
        elif core != usual[version]:
            beside = set(plan.files((plan.BESIDE,)))
            assert files & beside == {*plan.files(plan.COUNTING_BESIDE)}
            assert files >= counting - beside
        else:
            assert files >= counting
        smoke = plan.having("smoke")
        if core != usual[version]:
            smoke = plan.files(plan.LAUNCHES)
        assert files >= {*smoke}
    for version in (VERSIONS[0], VERSIONS[-1]):
        assert by_core[version, usual[version]] >= set(plan.files(plan.IN_TURN))


def test_the_oldest_and_the_newest_take_turns_with_programs(tmp_path: Path) -> None:
    from tools.dev import plan  # noqa: PLC0415

    found = pythons(*VERSIONS)
    first = found[FOUND][0]
    seen = set()
    for commit in ("1", "2", "3", "4"):
        gate = {o: o.turn for o in plan.gate(first, found, commit) if o.turns}
        later = {o: o.turn for o in plan.rest(first, found, commit) if o.turns}
        assert [one.python.version for one in gate] == [VERSIONS[0], VERSIONS[-1]]
        assert [*gate.values()] == [*later.values()][::-1]
        assert {*gate.values()} == {0, 1}
        seen.add(tuple(gate.values()))
        assert all(set(one.files) == {*plan.files(plan.IN_TURN)} for one in later)
    assert len(seen) == 2
    assert not any(one.turns for one in plan.gate(first, found[FOUND]))  # one end
    text = "import pytest\n" + "\n".join(
        f"@pytest.mark.{mark}\ndef test_{mark}_{n}(): pass\n"
        for mark in ("a", "b", "smoke")
        for n in range(20)
    )
    halves = []
    for half in "01":
        _, result = run(project(tmp_path / half, text), f"--turn={half},a", "-v")
        log = result.log.read_text("utf-8")
        assert (log.count("::test_b_"), log.count("::test_smoke_")) == (20, 20)
        halves.append({n for n in range(20) if f"::test_a_{n} " in log})
    first_half, second_half = halves
    assert first_half ^ second_half == set(range(20))
    assert first_half
    assert second_half


def test_tests_that_run_alone_run_with_the_first_python_and_at_the_ends() -> None:
    from tools.dev import plan  # noqa: PLC0415

    found = pythons(*VERSIONS)
    first = found[FOUND][0]
    gate, rest = list(plan.gate(first, found)), list(plan.rest(first, found))
    alone = {(one.python.version, one.core) for one in gate if one.alone()}
    assert alone == {
        *((first.version, core) for core in first.cores),
        (VERSIONS[0], "monitoring"),
        (VERSIONS[-1], "settrace"),
    }
    later = {(one.python.version, one.core) for one in rest if not one.beside()}
    assert alone | later == {(one.python.version, one.core) for one in gate}
    for one in rest:
        if not one.beside():
            assert one.marks.endswith("and serial")
            whole = one.alone()
            assert whole is not None
            assert whole.files == one.files


def test_the_rest_is_what_the_gate_leaves_out_and_ten_parts_have_all_of_it() -> None:
    from tools.dev import plan  # noqa: PLC0415

    found = pythons(*VERSIONS)
    first = found[FOUND][0]
    rest = list(plan.rest(first, found))
    whole = files_of([*plan.gate(first, found), *rest])
    for one in found:
        if one.version == TWIN:
            continue
        for file in plan.files(without=plan.READING):
            assert file in whole[one.version, one.cores[0]] or (
                file in plan.files(plan.COUNTING)
            )
    assert whole[VERSIONS[-1], "settrace"] == set(plan.files())
    parts = {
        tuple((one.name, file) for one in tenth for file in one.files)
        for number in range(200)
        for tenth in [list(plan.tenth(rest, f"{number:040x}"))]
    }
    assert len(parts) == plan.PARTS
    chosen = Counter(one for part in parts for one in part)
    assert chosen == Counter((one.name, file) for one in rest for file in one.files)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    runs = [len({name for name, _ in part}) for part in parts]
    assert sum(runs) < len(rest) + plan.PARTS  # each run takes a while to begin


def test_one_python_has_every_core_and_nothing_twice() -> None:
    from tools.dev import plan  # noqa: PLC0415

    [only] = pythons("3.13.5")
    names = [one.name for one in plan.gate(only, [only])]
    assert len(set(names)) == len(names)
    assert {name.partition(",")[0] for name in names} == {
        f"3.13.5 {core}" for core in only.cores
    }
