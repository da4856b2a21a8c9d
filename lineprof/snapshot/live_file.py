"""The profile of a process from its live file, while it runs or after its end.

The format is that of ``csrc/record/live_file.h``; `lineprof.recording.live_file` has
the notes in it.
"""

from __future__ import annotations

import ast
import mmap
import os
import time
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from lineprof.errors import LineprofError
from lineprof.files import normal_path
from lineprof.model.records import SourceFile
from lineprof.private_folder import open_file
from lineprof.snapshot.arithmetic import live_clock, live_notes, live_read
from lineprof.snapshot.calls import max_node_ticks
from lineprof.snapshot.counts import Counts
from lineprof.snapshot.profile import (
    CodeRow,
    TickScale,
    max_line_ticks,
    profile_of_process,
)
from lineprof.source import left_out, read_source, source_file
from lineprof.source_files import disk_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lineprof._core import MemorySnapshot
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

_CHANGED = "was changed since the program read it; the profile leaves its text out"
_INCOMPLETE = (
    "the file of the counts had no more room, or could not be opened again:"
    " functions and threads that began later may be missing, and so may memory"
)
_NO_ROOM = "the file of the counts had no more room: memory of some lines is missing"
_REQUIRED = {"pid", "argv", "start_unix_ns", "core"}
_TEXTS = ("host", "cwd", "python", "core", "core_reason", "clock", "version")
_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("pid", "start_unix_ns"), int),
    **dict.fromkeys(("rank", "ranks"), (int, type(None))),
    **dict.fromkeys(_TEXTS, str),
    "argv": tuple,
}


class Notes(NamedTuple):
    """What a live file has beside counts."""

    out: str = ""  # path of the profile that the process would have written
    identity: Mapping[str, Any] = {}  # see `lineprof.process_info.identity`
    run: str = ""  # the processes of one run share it
    state: int = 0  # of the file: lp_live_state in the core
    tracer: int = 0  # its counts are the profile's
    process: Mapping[str, Any] = {}  # fields of `Process`
    texts: Mapping[str, str] = {}  # source that is in no file
    is_whole: bool = False
    # Of files: `state` when they were read, `why` the profile has no text of one, and
    # a `remark` on the text.
    files: Mapping[str, Mapping[str, Any]] = {}
    cuts: Mapping[Key, tuple[int, int | None, int | None]] = {}
    hidden: frozenset[Key] = frozenset()  # functions that are not shown
    more: Mapping[str, Any] = {}  # other values by name


def read_notes(path: str) -> Notes:
    """Return the notes in the live file at `path`, whose process may still run.

    Raises LineprofError if it is no live file, or cannot be read.
    """
    with _copy(path) as data:
        state, raw = live_notes(data)
    return _notes_of(raw)._replace(state=state)


class LiveCounts(NamedTuple):
    """All that a live file has."""

    path: str
    header: Mapping[str, Any]
    notes: Notes
    threads: Sequence[tuple[int, str]]
    codes: Sequence[CodeRow]
    c_functions: Sequence[tuple[int, str]]  # serial and name
    calls: tuple[int, bytes]
    waits: Sequence[tuple[int, int, int, int, int]]
    # Serial, line, number of the thread and ticks when it was opened; the outermost
    # of a thread first. Those of threads that have not ended.
    open_lines: Sequence[tuple[int, int, int, int]]
    memory: Mapping[str, Any] | None = None  # of call paths; None: not measured


def read_counts(path: str) -> LiveCounts:
    """Return the contents of the live file at `path`, whose process has ended.

    Raises LineprofError if it is no live file, or cannot be read.
    """
    with _copy(path) as data:
        return _counts_of(path, live_read(data))


def _counts_of(
    path: str,
    contents: tuple[Any, ...],
    parse: Callable[[bytes], dict[str, Any]] | None = None,
) -> LiveCounts:
    """Return what the core read in the file at `path`."""
    header, threads, codes, calls, waits, raw, open_lines, memory = contents
    notes = _notes_of(raw, parse)._replace(state=header["state"])
    rows, c_functions = [], []
    for code in codes:
        tracer, serial, file, line, name, counts = code
        if tracer != notes.tracer or name is None:
            continue
        if file is None:
            c_functions.append((serial, name))
        elif (file, line, name) not in notes.hidden:
            rows.append(
                CodeRow(
                    key=(file, line, name),
                    calls=sum(one[0] for one in counts),
                    ticks=sum(one[1] for one in counts),
                    cost=sum(one[2] for one in counts),
                    recursed=any(one[3] for one in counts),
                    lines=b"".join([one[4] for one in counts]),
                    serial=serial,
                )
            )
    return LiveCounts(
        path=path,
        header=header,
        notes=notes,
        threads=[thread or (0, "") for thread in threads],
        codes=rows,
        c_functions=c_functions,
        calls=calls,
        waits=waits,
        open_lines=open_lines,
        memory=memory,
    )


# A process that runs.


class Moment(NamedTuple):
    """The present time on the clock of a process, and on CLOCK_MONOTONIC."""

    ticks: int  # 0 if unknown
    ns: int


class LiveFileReader:
    """An open live file, which can be read again and again while its process runs.

    Once the process has deleted the file, at its end, this still has its last counts.
    """

    def __init__(self, path: str, handle: int | None = None) -> None:
        """Open the file, or take its `handle`; LineprofError if it cannot be read."""
        self.path = path
        try:
            self._handle = _open(path) if handle is None else handle
        except OSError as error:
            raise _unreadable(path, error) from error
        self._clock = ""
        self._parse = cache(_note)  # most notes are those of the last time

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)

    def read(self, *, is_running: bool | None) -> tuple[LiveCounts, Moment]:
        """Return the counts, and when they were read.

        Open lines count up to that time if the process is running, else up to the last
        event of their thread; None: it may be running. LineprofError if it is no live
        file, or cannot be read.
        """
        with _core_errors(self.path):
            first = bytearray(self._content())
            if not self._clock:
                notes = _notes_of(live_notes(first)[1], self._parse)
                self._clock = str(notes.process.get("clock", ""))
            moment = self._moment()
            # Copies are taken one after the other: lines that are the same in both
            # were open in between, at `moment`.
            second = None if is_running is False else self._content()
            now = moment.ticks if is_running else 0
            contents = live_read(first, second, now)
            return _counts_of(self.path, contents, self._parse), moment

    def _moment(self) -> Moment:
        try:
            return Moment(*live_clock(self._clock))
        except ValueError:
            return Moment(0, time.clock_gettime_ns(time.CLOCK_MONOTONIC))

    def _content(self) -> bytes:
        size = os.fstat(self._handle).st_size
        parts, at = [], 0
        try:
            while at < size and (part := os.pread(self._handle, size - at, at)):
                parts.append(part)
                at += len(part)
        except OSError as error:
            raise _unreadable(self.path, error) from error
        return b"".join(parts)


def scale_at(live: LiveCounts, moment: Moment) -> TickScale:
    """Return the scale of a process's clock, as exact as it is known at `moment`.

    The process notes it when it begins, and seldom later.
    """
    header = live.header
    noted, ticks = header["scale"], moment.ticks - header["ticks"]
    scale, ns = noted, moment.ns - header["mono_ns"]
    if moment.ticks and min(ticks, ns) > 0 and (ns >= _EXACT_NS or not noted):
        scale = (ns << 32) // ticks
        # (A container may have another CLOCK_MONOTONIC.)
        if noted and abs(scale - noted) > noted // _NEAR:
            scale = noted
    return TickScale(ns_per_tick=scale, cost_one=header["cost_one"])


_EXACT_NS = 10_000_000  # from so long on a scale is exact to 1/100,000
_NEAR = 50  # the scale that the process noted is exact to 1/100


def read_source_noted(notes: Notes) -> Callable[[str], SourceFile]:
    """Return a function that reads a file's text as the process read it.

    The text of a file that has changed since is empty, without a hash.
    """
    return _Sources(notes).read


# The profile.


def profile_of_counts(
    live: LiveCounts,
    *,
    exit_reason: str = "",
    warnings: Iterable[str] = (),
    scale: TickScale | None = None,
    has_sources: bool = True,
) -> Profile:
    """Return the profile of a process whose counts are `live`.

    `exit_reason` says how it ended. If it has, open lines count up to the last event
    of their thread. `scale` is that of its clock, if that is known better than by the
    process. Raises LineprofError if the file lacks the notes of a run, or is damaged.
    """
    notes, header = live.notes, live.header
    if scale is None:
        scale = TickScale(ns_per_tick=header["scale"], cost_one=header["cost_one"])
    _check_times(live, scale)
    sources = _Sources(notes if has_sources else Notes())
    process = _process_of(live, scale, exit_reason)
    all_warnings = list(warnings)
    if header["incomplete"]:
        all_warnings.append(_INCOMPLETE)
    all_warnings += sources.warnings({str(row.key[0]) for row in live.codes})
    counts = Counts(
        threads=live.threads,
        codes=live.codes,
        blocks=(),
        calls=live.calls,
        c_functions=live.c_functions,
        waits=live.waits,
        waits_unavailable=False,
        own_times=False,
        cuts=notes.cuts,
        scale=(scale.ns_per_tick, scale.cost_one, scale.cost_share),
        process=process,
        warnings=all_warnings,
        memory=_memory_of(live, scale),
    )
    return profile_of_process(
        counts,
        read_source=sources.read if has_sources else _without_text,
        file_name=normal_path,
        names={},
    )


_MAX_SCALE = 1_000_000 << 32  # no clock has ticks of more than a ms
_MAX_NS = 1 << 62  # 146 years


def _check_times(live: LiveCounts, scale: TickScale) -> None:
    """Raise LineprofError if a time is longer than that of any program."""
    max_ticks = (_MAX_NS << 32) // max(1, scale.ns_per_tick)
    header = live.header
    if (
        not 0 <= scale.ns_per_tick <= _MAX_SCALE
        or max(header["unix_ns"], header["mono_ns"]) > _MAX_NS
        or max_line_ticks(live.codes) > max_ticks
        or max_node_ticks(live.calls[1]) > max_ticks
        or any(not 0 <= row[-1] <= _MAX_NS for row in live.waits)
    ):
        raise LineprofError(
            f"cannot read {live.path}: it has times that no program takes: it is"
            " damaged",
            hint="delete it",
        )


def _memory_of(live: LiveCounts, scale: TickScale) -> tuple[MemorySnapshot, int] | None:
    """Return the numbers of `memory_snapshot`, and when measuring began; or None.

    There are no moments in between. LineprofError if there are numbers that no program
    can have.
    """
    found, header = live.memory, live.header
    if found is None:
        return None

    def ns(ticks: int) -> int:
        return int(header["mono_ns"] + scale.ns(ticks - header["ticks"]))

    sums = found["sums"]
    totals = [sum(column) for column in zip(*sums, strict=True)][1:]
    if max([0, found["lost"], found["sample"], *totals]) > _MAX_BYTES:
        raise LineprofError(
            f"cannot read {live.path}: it has memory that no program takes: it is"
            " damaged",
            hint="delete it",
        )
    return {
        "paths": found["paths"],
        "sums": sums,
        "peak_bytes": sum(row[-1] for row in sums),
        "peak_ns": min(_MAX_NS, ns(found["peak_at"] or header["last"])),
        "live_bytes": sum(row[2] - row[3] for row in sums),
        "curve": [],
        "side_bytes": 0,
        "lost": found["lost"],
        "sample": found["sample"],
        "native": found["native"],
        "notes": [_NO_ROOM] if found["incomplete"] else [],
    }, min(_MAX_NS, ns(found["start"]))


_MAX_BYTES = 1 << 62


def _process_of(live: LiveCounts, scale: TickScale, exit_reason: str) -> dict[str, Any]:
    """Return the fields of `Process`; LineprofError if their notes are damaged."""
    header, known = live.header, live.notes.process
    if (
        not known.keys() >= _REQUIRED
        or not all(isinstance(known[name], _TYPES.get(name, object)) for name in known)
        or not all(isinstance(word, str) for word in known["argv"])
    ):
        raise LineprofError(
            f"cannot recover {live.path}: its notes are damaged", hint="delete it"
        )
    ran_ns = scale.ns(max(0, header["last"] - header["ticks"]))
    start_ns: int = known["start_unix_ns"]
    parent = live.notes.more.get("parent")  # of a child
    return {
        **{name: known.get(name, "" if name in _TEXTS else None) for name in _TYPES},
        "wall_ns": max(0, header["unix_ns"] + ran_ns - start_ns),
        "overhead_ns": scale.cost_ns(header["cost"]),
        "exit": exit_reason,
        "is_whole": live.notes.is_whole,
        "parent_pid": parent if isinstance(parent, int) else None,
    }


class _Sources:
    """Texts of source files as the process read them."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._states = {
            normal_path(file): note.get("state", ())
            for file, note in notes.files.items()
            if isinstance(file, str)  # else it is damaged
        }

    def _note(self, file: str, name: str) -> str:
        return str(self._notes.files.get(file, {}).get(name, ""))

    def _why_left_out(self, file: str) -> str:
        why = self._note(file, "why")
        state = self._states.get(normal_path(file))
        is_changed = not why and state is not None and disk_state(file) != state
        return _CHANGED if is_changed else why

    def read(self, file: str) -> SourceFile:
        """Return a file's text; one that is left out is empty, without a hash."""
        text = self._notes.texts.get(file)
        if text is not None:
            return source_file(file, text)
        if self._why_left_out(file):
            return left_out(file)
        return read_source(file)

    def warnings(self, files: Iterable[str]) -> list[str]:
        """Return a sentence for each of `files` whose text is left out or another's."""
        whys = {
            file: self._why_left_out(file) or self._note(file, "remark")
            for file in files
        }
        return [f"{normal_path(file)} {why}" for file, why in whys.items() if why]


def _without_text(file: str) -> SourceFile:
    """Return a file of a profile that only has numbers."""
    return SourceFile(file=file, text=None, sha256="")


# Reading.


@contextmanager
def _copy(path: str) -> Iterator[mmap.mmap]:
    """Give a private, writable mapping of a live file.

    LineprofError if that fails, and for errors of the core.
    """
    try:
        handle = _open(path)
        try:
            data = mmap.mmap(handle, 0, access=mmap.ACCESS_COPY)
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    with data, _core_errors(path):
        yield data


def _open(path: str) -> int:
    """Return a descriptor of this user's file at `path`.

    OSError if it cannot be opened, LineprofError if it is another user's.
    """
    return open_file(path, owner=os.getuid())


def _unreadable(path: str, error: Exception) -> LineprofError:
    reason = getattr(error, "strerror", None) or str(error)
    return LineprofError(f"cannot read {path}: {reason}", hint="name a live file")


@contextmanager
def _core_errors(path: str) -> Iterator[None]:
    """Give errors of the core as LineprofError."""
    try:
        yield
    except (NotImplementedError, ValueError) as error:
        hint = "name a file that a run left behind"
        if isinstance(error, NotImplementedError):
            hint = "use the version that recorded it"
        raise LineprofError(f"cannot read {path}: {error}", hint=hint) from error


def _notes_of(
    raw: Iterable[bytes], parse: Callable[[bytes], dict[str, Any]] | None = None
) -> Notes:
    """Return the sum of all notes; damaged ones are left out."""
    values: dict[str, Any] = {}
    files: dict[str, dict[str, Any]] = {}
    cuts: dict[Key, tuple[int, int | None, int | None]] = {}
    hidden: set[Key] = set()
    for one in map(parse or _note, raw):
        with suppress(TypeError):  # damaged: a list as a key
            if "file" in one:
                files[one["file"]] = one
            elif "cut" in one:
                cuts[one["cut"]] = one.get("span", (0, None, None))
            elif "hidden" in one:
                hidden.add(one["hidden"])
            elif "shown" in one:
                hidden.discard(one["shown"])
            else:
                values |= one
    fields = {
        name: values.pop(name)
        for name, kind in _KINDS.items()
        if isinstance(values.get(name), kind)
    }
    if not _is_path(str(fields.get("out", ""))):  # damaged
        del fields["out"]
    return Notes(
        **fields,
        is_whole=bool(values.pop("whole", False)),
        files=files,
        cuts=cuts,
        hidden=frozenset(hidden),
        more=values,
    )


def _is_path(text: str) -> bool:
    """Return whether the system takes a text as a path."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


_KINDS: dict[str, type] = {  # of values of notes that are fields of `Notes`
    **dict.fromkeys(("out", "run"), str),
    **dict.fromkeys(("identity", "process", "texts"), dict),
    "tracer": int,
}


def _note(raw: bytes) -> dict[str, Any]:
    """Return one note, {} if it is damaged."""
    try:
        value = ast.literal_eval(raw.decode("utf-8", "surrogatepass"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    is_valid = isinstance(value, dict) and all(isinstance(name, str) for name in value)
    return value if is_valid else {}
