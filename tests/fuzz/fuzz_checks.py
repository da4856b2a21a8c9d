"""Checks of the output of a command: its format, and text that must not be in it."""

from __future__ import annotations

import csv
import io
import json
import marshal
import pickle
import re
import sqlite3
import xml.parsers.expat
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pprof_file
from fuzz_cases import INJECTED

from lineprof.errors import DIRECTION_MARKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CANARY = "zzcanaryzz"  # the text of files that no output may have

# Escapes of lineprof: its colours and links, and the colours of the package rich.
_LINK = "\x1b\\]8;[^\x00-\x1f\x7f-\x9f]*\x1b\\\\"
_OWN_COLOURS = re.compile(f"\x1b\\[(?:[012]|1;3[13]|3[2-6]|91)m|{_LINK}")
_ANY_COLOUR = re.compile(f"\x1b\\[[0-9;]*m|{_LINK}")
_CONTROL = re.compile("[\x00-\x08\x0b\x0d-\x1f\x7f-\x9f]")  # but not tab, \n and \f
_ON_TERMINALS = re.compile(f"[\x00-\x09\x0b-\x1f\x7f-\x9f{DIRECTION_MARKS}]")
_INJECTED = re.compile(f"^{INJECTED}", re.MULTILINE)
_MESSAGE = "lineprof: "


class Output(NamedTuple):
    """The output of one command."""

    command: Sequence[str]
    status: int
    stdout: bytes
    stderr: str
    file: bytes | None  # OUT, if it was written

    @property
    def on_terminal(self) -> bool:
        """Whether it was written to a terminal."""
        return self.command[0].startswith("COLUMNS=")


def wrong_with(output: Output) -> Iterator[str]:
    """Yield what is wrong with an output, without what depends on the case."""
    yield from _wrong_messages(output)
    written = output.stdout if output.file is None else output.file
    if CANARY.encode() in written + output.stderr.encode("utf-8", "replace"):
        yield "the text of a local file is shown"
    name, is_text = _format(output.command)
    if is_text:
        yield from _wrong_text(output, written)
    if output.status == 0 and name in _FORMATS:
        try:
            _FORMATS[name](written)
        except Exception as error:  # noqa: BLE001 - readers raise anything
            why = re.sub(r"\d+", "N", str(error).split("\n")[0])[:80]
            yield f"{name} cannot be read: {type(error).__name__}: {why}"


def _wrong_messages(output: Output) -> Iterator[str]:
    lines = output.stderr.split("\n")
    if lines.pop():
        yield "standard error does not end with a line end"
    if not all(line.startswith(_MESSAGE) for line in lines):
        yield "a message has several lines"
    if found := _ON_TERMINALS.search("".join(lines)):
        yield f"a message has the character {found[0]!r}"
    if output.status not in {0, 1}:
        yield f"the exit status is {output.status}"
    if output.status and len(lines) != 1:
        yield "an error is not one line"
    for word in ("MemoryError", "out of memory"):
        if output.status and word in output.stderr:
            yield f"a file is refused for {word}"


def _wrong_text(output: Output, written: bytes) -> Iterator[str]:
    """Yield characters that act on a terminal, and lines that the file begins."""
    try:
        text = written.decode()
    except UnicodeDecodeError:
        yield "the text is not UTF-8"
        return
    colour = _ANY_COLOUR if "--rich" in output.command else _OWN_COLOURS
    if output.on_terminal and output.file is None:
        found = _ON_TERMINALS.search(colour.sub("", text))
    else:
        found = _CONTROL.search(text)
    if found:
        yield f"the text has the character {found[0]!r}"
    if _INJECTED.search(text):
        yield "a line end in a name is printed"


def _format(command: Sequence[str]) -> tuple[str, bool]:
    """Return the name of the format that a command writes, and whether it is a text."""
    words = [word for word in command if not word.startswith("COLUMNS=")]
    if words[0] == "export":
        return words[words.index("-f") + 1], False
    if words[0] == "merge":
        return "sqlite", False  # as a profile is
    if "--json" in words:
        return "json", True
    return ("csv of view", True) if "--csv" in words else ("text", True)


# Readers: they raise any exception if the format is not as it should be.


def _json(data: bytes) -> object:
    def refuse(name: str) -> object:
        raise ValueError(f"{name} is not JSON")

    return json.loads(data.decode(), parse_constant=refuse)


def _trace_events(data: bytes) -> None:
    events = _json(data)["traceEvents"]  # type: ignore[index]
    for event in events:
        assert type(event["ph"]) is str
        assert event["ph"] == "M" or type(event["ts"]) in {int, float}


def _cpuprofile(data: bytes) -> None:
    found = _json(data)
    ids = [node["id"] for node in found["nodes"]]  # type: ignore[index]
    assert len(ids) == len(set(ids)), "an id is given twice"
    samples, steps = found["samples"], found["timeDeltas"]  # type: ignore[index]
    assert len(samples) == len(steps), "samples and steps differ in number"
    assert set(samples) <= set(ids), "a sample has no node"


def _speedscope(data: bytes) -> None:
    found = _json(data)
    count = len(found["shared"]["frames"])  # type: ignore[index]
    for profile in found["profiles"]:  # type: ignore[index]
        if profile["type"] == "sampled":
            assert len(profile["samples"]) == len(profile["weights"])
            used = {place for sample in profile["samples"] for place in sample}
        else:
            used = {event["frame"] for event in profile["events"]}
        assert all(0 <= place < count for place in used), "a frame is unknown"


def _svg(data: bytes) -> None:
    parser = xml.parsers.expat.ParserCreate()
    parser.Parse(data, True)


def _csv(data: bytes) -> None:
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    assert len({*map(len, rows)}) <= 1, "rows differ in length"


def _csv_of_view(data: bytes) -> None:
    csv.field_size_limit(1 << 30)
    list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))


def _pstats(data: bytes) -> None:
    found = marshal.loads(data)  # noqa: S302 - our own
    for key, (primitive, calls, own, total, callers) in found.items():
        assert [*map(type, key)] == [str, int, str]
        assert {type(primitive), type(calls)} == {int}
        assert {type(own), type(total)} == {float}
        assert all(caller in found for caller in callers), "a caller is unknown"


def _sqlite(data: bytes) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(data)
        (finding,) = db.execute("PRAGMA integrity_check").fetchone()
        assert finding == "ok", finding
        names = db.execute("SELECT name FROM sqlite_master WHERE type = 'view'")
        for (name,) in names.fetchall():
            db.execute(f"SELECT * FROM {name}").fetchall()  # noqa: S608


def _wire(data: bytes) -> Counter[int]:
    """Return how often each field is in a message of Protocol Buffers."""
    found: Counter[int] = Counter()
    at = 0
    while at < len(data):
        tag, at = pprof_file._varint(data, at)
        found[tag >> 3] += 1
        assert tag >> 3, "a field has the number 0"
        if tag & 7 == 0:
            _, at = pprof_file._varint(data, at)
        elif tag & 7 == 2:
            size, at = pprof_file._varint(data, at)
            at += size
        else:
            at += {1: 8, 5: 4}[tag & 7]
    assert at == len(data), "a field is cut off"
    return found


def _perfetto(data: bytes) -> None:
    assert set(_wire(data)) <= {1}, "there is more than packets"


_CALLGRIND = re.compile(
    r"|#.*|(fl|fn|cfi|cfn|ob|cob)=\(\d+\)( .*)?|calls=\d+ \d+|\d+( \d+)+|[a-zA-Z]+:.*"
)


def _callgrind(data: bytes) -> None:
    for line in data.decode().split("\n"):
        assert _CALLGRIND.fullmatch(line), f"a line is {line[:20]!r}"


def _collapsed(data: bytes) -> None:
    lines = data.decode().split("\n")
    assert lines.pop() == ""
    for line in lines:
        assert re.fullmatch(r"[^\x00-\x1f]+ \d+", line), f"a line is {line[:20]!r}"
        assert not line.startswith(INJECTED), "a name begins a line"


class _State:
    """The object in a file for line_profiler."""

    timings: dict[tuple[str, int, str], list[tuple[int, int, int]]]
    unit: float


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[_State]:
        assert (module, name) == ("line_profiler._line_profiler", "LineStats")
        return _State


def _line_profiler(data: bytes) -> None:
    found = _Unpickler(io.BytesIO(data)).load()
    assert type(found.unit) is float
    for (file, first, name), lines in found.timings.items():
        assert [*map(type, (file, first, name))] == [str, int, str]
        for line, hits, ticks in lines:
            assert {type(line), type(hits)} == {int}, "a line is no number"
            assert ticks + 1, "a time is no number"


_FORMATS: dict[str, Callable[[bytes], object]] = {
    "json": _json,
    "csv of view": _csv_of_view,
    "callgrind": _callgrind,
    "pprof": pprof_file.read,
    "speedscope": _speedscope,
    "collapsed": _collapsed,
    "svg": _svg,
    "pstats": _pstats,
    "chrome": _trace_events,
    "perfetto": _perfetto,
    "cpuprofile": _cpuprofile,
    "csv": _csv,
    "sqlite": _sqlite,
    "line_profiler": _line_profiler,
}
