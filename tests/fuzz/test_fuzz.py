"""Damaged and hostile profiles through views and exports: what fuzzing has found.

`make fuzz` looks for more of them. A file of the corpus has a case as
`fuzz_cases` explains it, and what it showed before that was mended.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import fuzz_commands
import pytest
from fork_server import SERVERS
from fuzz import WorkerProcess, smaller
from fuzz_cases import INJECTED, Case, case_of, random_case
from fuzz_checks import CANARY, Output, wrong_with
from fuzz_seeds import DATABASES, PICKLES
from running import plain

from lineprof.export import EXPORTS
from lineprof.report import VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    not hasattr(sqlite3.Connection, "deserialize"),
    reason="this SQLite is older than 3.36: it opens no database in memory",
)
HERE = Path(__file__).parent
CORPUS = sorted((HERE / "corpus").glob("*.json"))
LARGEST = 8_000  # bytes of a file of the corpus


@pytest.fixture(scope="module")
def worker() -> Iterator[WorkerProcess]:
    with WorkerProcess() as one:
        yield one


@pytest.fixture(autouse=True)
def _worker_lasts(worker: WorkerProcess) -> Iterator[None]:
    yield
    if worker._process:
        SERVERS.add(worker._process.pid)


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.stem)
def test_a_file_of_the_corpus_shows_nothing(worker: WorkerProcess, file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(text) <= LARGEST
    assert worker.run(case_of(json.loads(text)))["found"] == []


@pytest.mark.parametrize("seed", range(3))
def test_files_changed_at_random_are_shown_or_refused(
    worker: WorkerProcess, seed: int
) -> None:
    found = []
    for number in range(10):
        case = random_case(Random(f"{seed}:{number}"))  # noqa: S311 - not for security
        answer = worker.run(case, f"{seed}:{number}")
        found += [(case, one) for one in answer["found"]]
    assert found == []


@pytest.mark.parametrize("seed", [*DATABASES, *PICKLES])
def test_an_unchanged_file_is_loaded(worker: WorkerProcess, seed: str) -> None:
    answer = worker.run(Case(seed, (), (["view", "FILE"],)))
    assert (answer["loaded"], answer["found"]) == (True, [])


def test_the_commands_have_every_view_option_and_export() -> None:
    words = {word for command in fuzz_commands.every_command() for word in command}
    flags = {word.partition("=")[0] for word in words}
    options = [option for view in VIEWS.values() for option in view.options]
    assert {option.long for option in options} <= flags
    assert {f"--{name}" for name in VIEWS if name != "text"} <= flags
    assert set(EXPORTS) <= words


def test_the_death_of_the_worker_is_a_finding(worker: WorkerProcess) -> None:
    worker._started().kill()
    (finding,) = worker.run(Case("plain", (), (["view", "FILE"],)))["found"]
    assert finding["what"] == "the process dies of SIGKILL"
    assert worker.run(Case("plain", (), (["view", "FILE"],)))["found"] == []


# Findings, each of a program in place of the command line.

MAINS = {
    "view: KeyError in None of ?": "raise KeyError(1)",
    "view: SystemExit in None of ?": "sys.exit(3)",
    "view: MemoryError in None of ?": "bytes(600 << 20)",
    "view: it takes more than 0.1 s of processor time": "while True: pass",
    "view: it waits for ever": "time.sleep(9)",
    "view: it does os.system": "os.system('true')",
    "view: it does pickle.find_class": "pickle.loads(b'cos\\nsystem\\n.')",
    "view: a file outside of the folder is written": "open('../x', 'w')",
    "view: the profile is changed": "open('case.lprof', 'ab').write(b'x')",
    "view: the text of a local file is shown": "print(open('secret').read())",
    "view: the text has the character '\\x1b'": "print('\\x1b[31m')",
    "view: the exit status is 2": "print('lineprof: x', file=sys.stderr); return 2",
    "view: an error is not one line": "return 1",
    "view: a message has several lines": "print('Traceback', file=sys.stderr)",
}
if sys.platform != "linux":
    del MAINS["view: MemoryError in None of ?"]  # there is no such limit
WICKED = """
import json, os, pickle, sys, time
from pathlib import Path
import fuzz_worker
from fuzz_cases import Case

fuzz_worker.CPU_S, fuzz_worker.HANG_S = 0.1, 1.5
folder = Path(sys.argv[1], "work")
folder.mkdir()
os.chdir(folder)
worker = fuzz_worker.Worker(folder)
case = Case("plain", (), (["view", "FILE"],))
for text in json.loads(sys.argv[2]):
    names = {**globals()}
    exec(f"def main(_):\\n    {text}\\n    return 0", names)
    fuzz_worker.main = names["main"]
    print(json.dumps([one["what"] for one in worker.run(case, None)["found"]]))
"""


def test_each_kind_of_finding_is_noticed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", plain(WICKED), tmp_path, json.dumps([*MAINS.values()])],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found == [[name] for name in MAINS], done.stderr


def output(*command: str, stdout: str = "", **more: object) -> Output:
    """Return the output of a command that has succeeded."""
    fields = {"status": 0, "stderr": "", "file": None, **more}
    return Output(command=command, stdout=stdout.encode(), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*EXPORTS])
def test_a_damaged_export_is_noticed(name: str) -> None:
    found = [*wrong_with(output("export", "-f", name, stdout="{ZZ\n<a,'b"))]
    if name == "csv":
        found = [*wrong_with(output("export", "-f", name, stdout="a,b\nc\n"))]
    assert len(found) == 1
    assert "cannot be read" in found[0]


def test_text_that_acts_on_a_terminal_is_noticed() -> None:
    shown = output("COLUMNS=80", "view", "FILE", stdout="\u202ea\n")
    assert [*wrong_with(shown)] == ["the text has the character '\\u202e'"]
    piped = output("view", "FILE", stdout="\u202ea\tb\n")
    assert [*wrong_with(piped)] == []
    ended = output("view", "FILE", stdout=f"a\n{INJECTED}\n")
    assert [*wrong_with(ended)] == ["a line end in a name is printed"]
    leaked = output("export", "-f", "svg", stdout=f"<a>{CANARY}</a>")
    assert [*wrong_with(leaked)] == ["the text of a local file is shown"]


def test_changes_that_a_finding_does_not_need_are_left_out() -> None:
    class Counted(WorkerProcess):
        """A worker that finds something in each case with the change `[2]`."""

        def run(self, case: Case, _: str | None = None) -> dict[str, object]:
            found = [{"what": "x", "command": ["view"]}] if [2] in case.changes else []
            return {"found": found}

    with Counted() as counted:
        case = Case("plain", ([1], [2], [3]))
        found = smaller(counted, case, {"what": "x", "command": ["view"]})
    assert found == Case("plain", ([2],))
