"""The stacks of all threads of a process, at one moment.

They are read from outside where that is possible: a process that hangs, in a system
call, in a deadlock or in C code that holds the GIL, runs nothing that could tell. From
Python 3.14 on Python itself can read another process's stacks (`_remote_debugging`);
before, py-spy does if it is installed. Without it the process is asked to write its
stacks itself, which it does as soon as its main thread runs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from lineprof.attach import task_state
from lineprof.attach.injection import run_in
from lineprof.attach.refusal import check
from lineprof.control.place import place_of, remove_leftovers
from lineprof.control.watch import Watch
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from lineprof.attach.interpreter import Interpreter

_PATIENCE = 3.0  # s for a process that writes its stacks itself
_POLL = 0.002  # s
_MAX_TEXT = 1 << 24  # bytes that a process may write
_TRIES = 20  # to read a program that runs on meanwhile
_PY_SPY_TIMEOUT = 30.0  # s
_UNREADABLE = (  # errors of a py-spy that prints something else
    *(OSError, subprocess.TimeoutExpired, AttributeError, KeyError),
    *(TypeError, ValueError),
)

_PAYLOAD = """\
import os, sys
lines = []
names = {{}}
threading = sys.modules.get("threading")
if threading is not None:
    for number, thread in dict(threading._active).items():
        names[number] = (thread._name, getattr(thread, "_native_id", None))
here = sys._getframe()
for number, frame in sys._current_frames().items():
    name, native = names.get(number, ("", None))
    lines.append(("thread", number, name, native))
    if frame is here:
        frame = here.f_back.f_back  # below that of the text around this one
    while frame is not None:
        code = frame.f_code
        lines.append((code.co_filename, frame.f_lineno, code.co_qualname))
        frame = frame.f_back
kind = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
folder = os.open({folder!r}, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
try:
    status = os.fstat(folder)
    if status.st_uid == os.getuid() and not status.st_mode & 0o022:
        handle = os.open({name!r} + ".new", kind, 0o600, dir_fd=folder)
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as out:
            for line in lines:
                words = [str(word).encode("unicode_escape").decode() for word in line]
                print(*words, sep="\\t", file=out)
        os.rename(
            {name!r} + ".new", {name!r}, src_dir_fd=folder, dst_dir_fd=folder
        )
finally:
    os.close(folder)
del here, frame, threading
"""


class StackFrame(NamedTuple):
    """One frame."""

    file: str
    line: int  # 0 if unknown
    function: str


class ThreadStack(NamedTuple):
    """The frames of one thread, outermost first."""

    number: int  # of the operating system, or Python's own; 0 if unknown
    name: str
    frames: tuple[StackFrame, ...]
    state: str = ""  # "blocked in read", for example


def stacks(pid: int) -> tuple[list[ThreadStack], str]:
    """Return the stacks of the process `pid`, and how they were read.

    Raises LineprofError if the process cannot be read, or runs nothing.
    """
    interpreter = check(pid)
    if sys.version_info >= (3, 14):
        return _read_by_python(pid), "read from outside by Python"
    if command := _py_spy():
        return _read_by_py_spy(pid, command), "read from outside by py-spy"
    return _told(pid, interpreter), "told by the process itself"


# Read from outside.


def _read_by_python(pid: int) -> list[ThreadStack]:
    """Return the stacks as the private module of ``profiling.sampling`` reads them."""
    import _remote_debugging  # type: ignore[import-not-found]  # noqa: PLC0415

    for left in reversed(range(_TRIES)):
        try:
            unwinder = _remote_debugging.RemoteUnwinder(pid, all_threads=True)
            found = unwinder.get_stack_trace()
            break
        except (OSError, RuntimeError, ValueError) as error:
            if task_state.read(pid).state == "ended" or not left:
                raise LineprofError(
                    f"cannot read the stacks of process {pid}: {error}",
                    hint="try again",
                ) from None
            time.sleep(_POLL)
    threads: list[Any] = []
    for item in found:  # interpreters, from 3.15 on
        threads += getattr(item, "threads", None) or [item]
    return [_thread_of(pid, *_parts(one)) for one in threads]


def _parts(thread: Any) -> tuple[int, list[StackFrame]]:  # noqa: ANN401
    number = getattr(thread, "thread_id", None)
    frames = getattr(thread, "frame_info", None)
    if number is None:
        number, frames = thread[0], thread[1]
    return int(number), [_frame(one) for one in frames or ()]


def _frame(frame: Any) -> StackFrame:  # noqa: ANN401
    file = getattr(frame, "filename", None)
    if file is None:
        file, place, function = frame[0], frame[1], frame[2]
    else:
        place = getattr(frame, "location", None) or getattr(frame, "lineno", 0)
        function = frame.funcname
    line = place[0] if isinstance(place, tuple) else getattr(place, "lineno", place)
    return StackFrame(str(file), int(line or 0), str(function))


def _py_spy() -> str | None:
    """Return the path of py-spy: of this environment, or on PATH; None without it."""
    own = os.path.join(sysconfig.get_path("scripts"), "py-spy")
    return own if os.access(own, os.X_OK) else shutil.which("py-spy")


def _read_by_py_spy(pid: int, command: str) -> list[ThreadStack]:
    try:
        done = subprocess.run(
            [command, "dump", "--json", "--pid", str(pid)],
            capture_output=True,
            timeout=_PY_SPY_TIMEOUT,
            check=True,
        )
        found = json.loads(done.stdout)
        return [
            _thread_of(
                pid,
                int(one.get("os_thread_id") or one["thread_id"]),
                [
                    StackFrame(f["filename"], int(f["line"] or 0), f["name"])
                    for f in one["frames"]
                ],
                str(one.get("thread_name") or ""),
            )
            for one in found
        ]
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        last = said.rpartition("\n")[2]
        raise LineprofError(
            f"py-spy cannot read process {pid}: {last or 'it failed'}",
            hint="see py-spy dump --pid",
        ) from None
    except _UNREADABLE as error:
        raise LineprofError(
            f"py-spy cannot read process {pid}: {error}", hint="see py-spy dump --pid"
        ) from None


# Told by the process itself.


def _told(pid: int, interpreter: Interpreter) -> list[ThreadStack]:
    """Return the stacks that a text run in the process has written; LineprofError."""
    place = place_of(pid)
    with Watch(pid) as watch, place.folder(make=True) as folder:
        remove_leftovers(folder)
        stem = f"{place.pid}-{os.urandom(6).hex()}"
        token = f"{stem}.token"  # the process deletes it before anything else
        name = f"{stem}.stacks"
        folder.create(token)
        payload = f"import os\nos.unlink({os.path.join(place.inside, token)!r})\n"
        payload += _PAYLOAD.format(folder=place.inside, name=name)
        try:
            run_in(interpreter, payload, folder)
            until = time.monotonic() + _PATIENCE
            while time.monotonic() < until and not watch.has_ended:
                with suppress(FileNotFoundError):
                    text = folder.read(name, _MAX_TEXT)
                    folder.remove(name)
                    return _stacks_in(text, pid)
                time.sleep(_POLL)
        finally:
            with suppress(OSError):
                folder.remove(token)
        if watch.has_ended:
            raise LineprofError(
                f"process {pid} has ended", hint="name one that still runs"
            )
    state = task_state.read(pid)
    raise LineprofError(
        f"process {pid} runs nothing that could tell: the main thread is {state}",
        hint="pip install py-spy, with which lineprof reads stacks from outside",
    )


_HEAD = 4  # words of a line of a thread; one of a frame has three
_MAX_DIGITS = 20


def _stacks_in(text: bytes, pid: int) -> list[ThreadStack]:
    """Return the stacks in a text that a process has written; LineprofError.

    Each line has words between tabs, in which other special characters are escaped: of
    a thread, or of a frame of the thread above, innermost first.
    """
    threads: list[tuple[list[str], list[StackFrame]]] = []
    try:
        for line in text.decode("ascii").splitlines():
            words = [one.encode().decode("unicode_escape") for one in line.split("\t")]
            if words[0] == "thread" and len(words) == _HEAD:
                threads.append((words, []))
            else:
                file, number, function = words
                threads[-1][1].append(StackFrame(file, _number(number), function))
        return [
            _thread_of(pid, _number(native) or _number(number), frames, name)
            for (_, number, name, native), frames in threads
        ]
    except (IndexError, ValueError):
        raise LineprofError(
            f"process {pid} has written something else than its stacks",
            hint=f"see what it is: ps -fp {pid}",
        ) from None


def _number(word: str) -> int:
    """Return the number that a word is, 0 for None; ValueError."""
    if word == "None":
        return 0
    if len(word) > _MAX_DIGITS:
        raise ValueError(word)
    return int(word)


def _thread_of(
    pid: int, number: int, frames: list[StackFrame], name: str = ""
) -> ThreadStack:
    """Return the record of a thread, whose `frames` are innermost first."""
    state = ""
    with suppress(LineprofError):
        state = str(task_state.read(pid, number))
    return ThreadStack(number, name, tuple(reversed(frames)), state)
