"""The process that reads the fuzzer's files: one case a line on its standard input.

Each answer is one line of JSON. Commands run in this process, by `lineprof.cli.main`,
with limits of memory and of processor time; an audit hook notices a process that is
started and a file that is changed outside of the worker's folder. If this process
dies, the file `now` has the command that ran.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz_cases import Case, case_of, file_of
from fuzz_checks import CANARY, Output, wrong_with
from fuzz_commands import random_commands
from fuzz_seeds import seed_file

import lineprof
from lineprof.cli.main import main
from lineprof.report import VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType

CPU_S = 5.0  # of one command
HANG_S = 30.0  # without the use of a processor
MEMORY = 500 << 20  # bytes of one command, beyond what the process has
FILE, OTHER, OUT, NOW = "case.lprof", "other.lprof", "out", "now"

_VIEWS = frozenset(f"--{name}" for name in VIEWS)
_PACKAGE = f"{Path(lineprof.__file__).parent}/"
_STARTS = frozenset(
    {
        *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork"),
        *("subprocess.Popen", "pty.spawn", "socket.connect", "socket.bind"),
        *("pickle.find_class", "os.kill", "os.forkpty"),
    }
)
_CHANGES = frozenset(
    {
        *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod"),
        *("os.link", "os.symlink", "os.chown", "os.utime"),
    }
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class TooSlow(BaseException):
    """A command that takes too long."""


class _Limits:
    """The limits of a command's time and memory."""

    def __init__(self) -> None:
        self.reached = ""
        self._begun = 0.0
        signal.signal(signal.SIGPROF, self._too_long)
        signal.signal(signal.SIGALRM, self._hangs)

    def _too_long(self, *_: object) -> None:
        self.reached = f"it takes more than {CPU_S:g} s of processor time"
        raise TooSlow(self.reached)

    def _hangs(self, *_: object) -> None:
        if time.process_time() - self._begun < HANG_S / 30:  # else others have it
            self.reached = "it waits for ever"
            raise TooSlow(self.reached)
        signal.setitimer(signal.ITIMER_REAL, HANG_S)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Raise TooSlow in the block after its time; kill it if that has no effect."""
        self.reached = ""
        self._begun = time.process_time()
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        end = int(self._begun + 3 * CPU_S) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (end, hard))
        _limit_memory(_address_space() + MEMORY)
        signal.setitimer(signal.ITIMER_PROF, CPU_S)
        signal.setitimer(signal.ITIMER_REAL, HANG_S)
        try:
            yield
        finally:
            _limit_memory(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)


class _Lines:
    """The number of lines of lineprof that have run, each counted once."""

    def __init__(self) -> None:
        self.count = 0
        if sys.version_info >= (3, 12):
            events = sys.monitoring
            events.use_tool_id(events.COVERAGE_ID, "lineprof's fuzzer")
            events.register_callback(events.COVERAGE_ID, events.events.LINE, self._line)
            events.set_events(events.COVERAGE_ID, events.events.LINE)

    def _line(self, code: CodeType, _: int) -> object:
        self.count += code.co_filename.startswith(_PACKAGE)
        return sys.monitoring.DISABLE


class _Stream(io.TextIOWrapper):
    """Standard output of a command."""

    def __init__(self, *, is_terminal: bool) -> None:
        self.bytes = io.BytesIO()
        self._is_terminal = is_terminal
        super().__init__(self.bytes, encoding="utf-8", newline="\n")

    def isatty(self) -> bool:
        return self._is_terminal


class Worker:
    """The worker's folder, and what it has noticed so far."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._audited = ""
        self._within = folder.resolve()
        self._places = make_places(folder)
        self._now = os.open(folder / NOW, os.O_WRONLY | os.O_CREAT)
        (folder / OTHER).write_bytes(seed_file("calls"))
        self._limits, self._lines = _Limits(), _Lines()
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and arguments[2] & _WRITING:
            if self._is_outside(arguments[0]):
                self._audited = "a file outside of the folder is written"
        elif event in _STARTS or (event in _CHANGES and self._is_outside(arguments[0])):
            self._audited = f"it does {event}"

    def _is_outside(self, path: object) -> bool:
        """Tell whether a path is neither in the folder nor of compiled modules."""
        if isinstance(path, int) or path == os.devnull:
            return False
        name = Path(os.path.abspath(os.fsdecode(path)))  # type: ignore[arg-type]  # noqa: PTH100 - resolve() opens
        return not (name.is_relative_to(self._within) or "__pycache__" in name.parts)

    def run(self, case: Case, chance: random.Random | None) -> dict[str, Any]:
        """Return what the commands of a case have shown; `chance` chooses commands."""
        data = file_of(case, self._places)
        file = self._folder / FILE
        file.write_bytes(data)
        before = self._lines.count
        commands = case.commands
        answer = {"loaded": False, "views": 0, "exports": 0, "found": []}
        if not commands:
            commands = [["view", "--json", "FILE"]]
        while commands:
            for command in commands:
                answer["found"] += self._findings(command, data, answer)
            new = self._lines.count - before
            commands = ()
            if chance is not None and answer["loaded"]:
                commands = random_commands(chance, *((12, 6) if new else (5, 2)))
                chance = None
        answer["new_lines"] = self._lines.count - before
        return answer

    def _findings(
        self, command: Sequence[str], data: bytes, answer: dict[str, Any]
    ) -> Iterator[dict[str, Any]]:
        """Yield what is wrong with a command; count it in `answer`."""
        os.pwrite(self._now, f"{json.dumps(command):4000}".encode(), 0)
        self._audited = ""
        output, wrong = self._command(command)
        file = self._folder / FILE
        if output is not None:
            wrong = [(one, "") for one in wrong_with(output)]
            if output.status == 0:
                answer["loaded"] = True
                answer["exports" if "export" in command else "views"] += 1
        if not file.exists() or file.read_bytes() != data:
            wrong.append(("the profile is changed", ""))
            file.write_bytes(data)
        if self._audited:
            wrong.append((self._audited, ""))
        for what, detail in wrong:
            what = f"{_kind(command)}: {what}"  # noqa: PLW2901
            yield {"what": what, "command": command, "detail": detail}

    def _command(
        self, command: Sequence[str]
    ) -> tuple[Output | None, list[tuple[str, str]]]:
        """Return the output of a command, or what it raises."""
        out = self._folder / OUT
        out.unlink(missing_ok=True)
        is_terminal = command[0].startswith("COLUMNS=")
        names = {"FILE": FILE, "OTHER": OTHER, "OUT": OUT}
        arguments = [
            names.get(one, one).replace("=OUT", f"={OUT}").replace("=FILE", f"={FILE}")
            for one in command[is_terminal:]
        ]
        if arguments[0] == "view":
            arguments.insert(1, "--no-config")
        if is_terminal:
            os.environ["COLUMNS"] = command[0].partition("=")[2]
        stdout, stderr = _Stream(is_terminal=is_terminal), io.StringIO()
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = stdout, stderr
        status, raised = 0, None
        try:
            with self._limits.kept():
                status = main(arguments)
                stdout.flush()
        except BaseException as error:  # noqa: BLE001 - each is a finding
            raised = error
        finally:
            sys.stdout, sys.stderr = before
        if self._limits.reached:
            return None, [(self._limits.reached, _trace(raised))]
        if raised is not None:
            return None, [(_place(raised), _trace(raised))]
        return Output(
            command=command,
            status=status,
            stdout=stdout.bytes.getvalue(),
            stderr=stderr.getvalue(),
            file=out.read_bytes() if out.exists() else None,
        ), []


def _kind(command: Sequence[str]) -> str:
    """Return the view or the format of a command."""
    if "export" in command:
        return f"export {command[command.index('-f') + 1]}"
    if "merge" in command:
        return " ".join(command[:2])
    flags = [word.partition("=")[0] for word in command]
    return " ".join(["view", *(flag for flag in flags if flag in _VIEWS)])


def _place(error: BaseException) -> str:
    """Return the type of an exception, and the function of lineprof that raised it."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(_PACKAGE)
    ]
    where = frames[-1] if frames else None
    name = where.filename[len(_PACKAGE) :] if where else "?"
    return f"{type(error).__name__} in {where and where.name} of {name}"


def _trace(error: BaseException | None) -> str:
    return "".join(traceback.format_exception(error, limit=-8)) if error else ""


def make_places(folder: Path) -> dict[str, str]:
    """Make the files that values can name; return their paths."""
    secret = folder / "secret"
    secret.write_text(f"password for this: {CANARY}\n" * 50, encoding="utf-8")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "fifo")
    return {
        "secret": str(secret),
        "fifo": str(folder / "fifo"),
        "folder": str(folder / "folder"),
        "environ": "/proc/self/environ",
        "socket": "/dev/log",
    }


def serve(folder: Path) -> None:
    """Answer cases until there are no more."""
    os.chdir(folder)
    worker = Worker(folder)
    for line in sys.stdin:
        request = json.loads(line)
        seed = request.get("chance")
        chance = None if seed is None else random.Random(seed)  # noqa: S311
        answer = worker.run(case_of(request), chance)
        print(json.dumps(answer), flush=True)


def _limit_memory(size: int | None) -> None:
    """Limit the memory of this process; None: as far as it may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(OSError, ValueError):  # macOS does not let it
        resource.setrlimit(resource.RLIMIT_AS, (hard if size is None else size, hard))


def _address_space() -> int:
    """Return the size of this process's memory; on macOS a large one."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 1 << 40
    return pages * resource.getpagesize()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
