"""Samples of the counters of a program that runs, from its live file.

`lineprof.recording.live_file` makes the file. Reading it stops the program for no
moment: a sample is made of a copy.
"""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from lineprof import process_info
from lineprof.errors import LineprofError
from lineprof.files import normal_path
from lineprof.model.call_graph import line_self_ns
from lineprof.model.own_waits import own_waits
from lineprof.model.profile import Profile
from lineprof.processes.recovery import end_of, is_running, live_files
from lineprof.recording.live_file import SUFFIX
from lineprof.snapshot.live_file import (
    LiveFileReader,
    profile_of_counts,
    read_notes,
    read_source_noted,
    scale_at,
)
from lineprof.source_files import lines_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lineprof.model.records import Key
    from lineprof.snapshot.live_file import LiveCounts, Moment
    from lineprof.snapshot.profile import CodeRow, TickScale

    Place = tuple[Key, int]  # function and line; for the function itself its first one

_START = "start it with `kernprof -l`, or `lineprof attach PID`"
_NO_PROCESS = "name one that runs under `kernprof -l`"


class Numbers(NamedTuple):
    """The counts of one line or function since the program began. Times are in ns."""

    hits: int = 0  # of a function: calls
    time_ns: int = 0  # with callees
    own_ns: int = 0  # without profiled functions
    wait_ns: int = 0  # the part of `time_ns` off-CPU
    own_wait_ns: int = 0  # the part of `own_ns`, at least
    gpu_ns: int = 0  # of kernels and memsets that it, or a callee, launched
    own_gpu_ns: int = 0  # of those that it launched itself
    kernels: int = 0  # with those of callees


class OpenLine(NamedTuple):
    """The innermost line that a thread is on."""

    thread: str  # its name
    place: Place
    open_ns: int  # how long


class Sample(NamedTuple):
    """The counters of a program at one time."""

    at_ns: int  # on CLOCK_MONOTONIC
    ran_ns: int  # since it began to count; if it has ended, up to the last event
    lines: Mapping[Place, Numbers]
    functions: Mapping[Place, Numbers]
    open_lines: Sequence[OpenLine] = ()  # of each thread, the longest first
    callers: frozenset[Place] = frozenset()  # lines further out that are open
    threads: int = 0  # that have counted, and have not ended
    ended: str | None = None  # half a sentence if not normally; None: it runs
    is_seen: bool = True  # whether this system shows if it runs
    is_complete: bool = True  # whether all counts are in the file


# Finding the live file.


def find_live_file(pid: int) -> str:
    """Return the live file of a process that runs; LineprofError if it has none."""
    found: dict[str, tuple[bool, float]] = {}
    failed: LineprofError | None = None
    for path in _candidates(pid):
        try:
            runs = is_running(path, read_notes(path))
        except LineprofError as error:
            failed = error
            continue
        with suppress(OSError):
            if runs is not False:
                found[path] = (bool(runs), os.stat(path).st_mtime)
    if found:
        return max(found, key=found.__getitem__)
    raise failed or _no_file(pid)


def _candidates(pid: int) -> list[str]:
    """Return the files that may be the one of a process, by name and by its mappings.

    The variable LINEPROF_LIVE of the process may name another folder.
    """
    found = dict.fromkeys(
        path for path in live_files() if os.path.basename(path).startswith(f"{pid}-")
    )
    with suppress(OSError), open(f"/proc/{pid}/maps", "rb") as stream:
        for line in stream:
            name = os.fsdecode(line.rstrip(b"\n").split(None, _PATH)[-1])
            if name.endswith(SUFFIX):
                # The second name is that of a process in a container.
                names = (name, f"/proc/{pid}/root{name}")
                found.update(dict.fromkeys([*filter(os.path.exists, names)][:1]))
    return [*found]


_PATH = 5  # place in a line of /proc/PID/maps


def _no_file(pid: int) -> LineprofError:
    """Return why a process has no live file."""
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        if process_info.start_ticks(os.getpid()) is not None or not _exists(pid):
            return LineprofError(f"there is no process {pid}", hint=_NO_PROCESS)
        owner = os.getuid()  # this system has no /proc
    if owner != os.getuid():
        return LineprofError(
            f"process {pid} is another user's", hint="run this command as that user"
        )
    return LineprofError(f"process {pid} has no live file", hint=_START)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


# Reading it.


class Program:
    """A program whose live file is read again and again."""

    def __init__(self, path: str) -> None:
        """Open its live file; LineprofError if that cannot be read."""
        self._file = LiveFileReader(path)
        try:
            self._notes = read_notes(path)
        except LineprofError:
            self._file.close()
            raise
        self._sources: dict[str, list[str]] = {}

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def pid(self) -> int:
        """Its process id; 0 if it does not say."""
        pid = self._notes.identity.get("pid", 0)
        return pid if isinstance(pid, int) else 0

    @property
    def command(self) -> str:
        """Its command line; "" if it has not begun."""
        return " ".join(map(str, _sequence(self._notes.process.get("argv"))))

    @property
    def cwd(self) -> str:
        """The folder in which it was started."""
        return str(self._notes.process.get("cwd", ""))

    @property
    def is_running(self) -> bool | None:
        """Whether it runs; None if this system does not show it."""
        return is_running(self._file.path, self._notes)

    def sample(self) -> Sample:
        """Return its present counters; LineprofError if the file is damaged."""
        runs = self.is_running
        live, moment = self._file.read(is_running=runs)
        self._notes = live.notes
        if runs is not False and self.is_running is False:
            runs = False  # it has ended in the meantime: the last counts follow
            live, moment = self._file.read(is_running=False)
            self._notes = live.notes
        ended = end_of(self._file.path, live) if runs is False else None
        return _sample_of(live, moment, runs)._replace(ended=ended)

    def line(self, place: Place) -> str:
        """Return the text of a line as the program read it; "" if it is unknown."""
        (file, _, _), number = place
        if file not in self._sources:
            self._sources[file] = lines_of(
                read_source_noted(self._notes)(file).text or ""
            )
        lines = self._sources[file]
        return lines[number - 1] if 0 < number <= len(lines) else ""


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()


# From counts to a sample.


def _sample_of(live: LiveCounts, moment: Moment, runs: bool | None) -> Sample:  # noqa: FBT001  # three states
    """Return the counts that were read at a moment; `runs` is None if unknown."""
    header, scale = live.header, scale_at(live, moment)
    profile = Profile.from_functions(())
    if live.notes.process:  # else it has not begun
        live = live._replace(memory=None)
        profile = profile_of_counts(live, scale=scale, has_sources=False)
    now = (moment.ticks if runs else 0) or header["last"]
    lines = _lines(profile)
    opened, callers = _open_lines(live, scale, now)
    return Sample(
        at_ns=moment.ns,
        ran_ns=scale.ns(max(0, now - header["ticks"])),
        lines=lines,
        functions=_functions(profile, lines),
        open_lines=opened if runs is not False else (),
        callers=callers if runs is not False else frozenset(),
        threads=header["threads"],
        is_seen=runs is not None,
        is_complete=not header["incomplete"],
    )


def _open_lines(
    live: LiveCounts, scale: TickScale, now: int
) -> tuple[Sequence[OpenLine], frozenset[Place]]:
    """Return the innermost open line of each thread, and the others; `now` in ticks."""
    keys = {code.serial: _key_of(code) for code in live.codes}
    innermost: dict[int, OpenLine] = {}
    callers: set[Place] = set()
    for serial, line, thread, opened in live.open_lines:
        if serial not in keys:
            continue
        if thread in innermost:
            callers.add(innermost[thread].place)
        innermost[thread] = OpenLine(
            thread=_name_of(live, thread),
            place=(keys[serial], line),
            open_ns=scale.ns(max(0, now - opened)),
        )
    found = sorted(innermost.values(), key=lambda one: -one.open_ns)
    return found, frozenset(callers)


def _key_of(code: CodeRow) -> Key:
    """Return the key of a function in a profile of the same counts."""
    file, line, name = code.function
    return (normal_path(file), line, name)


def _name_of(live: LiveCounts, thread: int) -> str:
    """Return the name of a thread by the core's number."""
    known = live.threads[thread] if thread < len(live.threads) else (0, "")
    native_id, name = known
    if not name and native_id == live.header["pid"]:  # as on Linux
        return "MainThread"
    return name or f"thread {native_id}"


def _lines(profile: Profile) -> dict[Place, Numbers]:
    waits: dict[Place, int] = defaultdict(int)
    for wait in profile.waits:
        waits[wait.function, wait.line] += wait.ns
    own_of = own_waits(profile, waits)
    self_ns = line_self_ns(profile)
    hits: dict[Place, int] = defaultdict(int)
    times: dict[Place, int] = defaultdict(int)
    for function in profile.functions:
        key = function.key
        for one in function.thread_lines:
            hits[key, one.line] += one.hits
            times[key, one.line] += one.time_ns
    return {
        place: Numbers(
            hits=count,
            time_ns=times[place],
            own_ns=self_ns[place[0]][place[1]],
            wait_ns=waits.get(place, 0),
            own_wait_ns=own_of[place].min_ns if place in own_of else 0,
        )
        for place, count in hits.items()
        if count or times[place]
    }


def _functions(
    profile: Profile, lines: Mapping[Place, Numbers]
) -> dict[Place, Numbers]:
    sums: dict[Key, Numbers] = {}
    for (key, _), one in lines.items():
        known = sums.get(key, Numbers())
        sums[key] = known._replace(
            own_ns=known.own_ns + one.own_ns,
            wait_ns=known.wait_ns + one.wait_ns,
            own_wait_ns=known.own_wait_ns + one.own_wait_ns,
        )
    return {
        (function.key, function.line): sums[function.key]._replace(
            hits=function.calls, time_ns=function.total_ns
        )
        for function in profile.functions
        if function.key in sums
    }
