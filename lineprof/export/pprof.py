"""A profile for ``go tool pprof`` and all that reads its files, by line.

A gzip'd protocol buffer; ``proto/profile.proto`` of github.com/google/pprof is
its description, and gives the fields their numbers.
"""

from __future__ import annotations

import zlib
from itertools import count
from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.export import stacks
from lineprof.export.encoding import message, number, packed, tag, text, varint
from lineprof.model.names import names_of_profile
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.export.stacks import Frame, Stack
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

remarks = stacks.remarks

_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRING = 1, 2, 4, 5, 6  # of Profile

_TIME_NS, _DURATION_NS, _COMMENT, _DEFAULT_TYPE = 9, 10, 13, 14

_SAMPLE_LOCATIONS, _SAMPLE_VALUES, _SAMPLE_LABEL = 1, 2, 3

_TYPES = (("time", "nanoseconds"), ("hits", "count"), ("calls", "count"))

_GPU_TYPES = (("gpu", "nanoseconds"), ("gpu_copy", "nanoseconds"))

_SAMPLE_TAG, _LOCATIONS_TAG = tag(_SAMPLE, 2), tag(_SAMPLE_LOCATIONS, 2)

_LOCATION_TAG, _LINE_TAG = tag(_LOCATION, 2), tag(4, 2)

_VALUES_TAG = tag(_SAMPLE_VALUES, 2)

_GZIP = 16 + zlib.MAX_WBITS

_LEVEL = 3  # of compression: 6 takes longer for a hundredth less

_CHUNK = 1 << 20  # bytes


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the file of `stats`: time (ns), hits, calls; of GPU work its time (ns)."""
    packer = zlib.compressobj(_LEVEL, wbits=_GZIP)
    waiting: list[bytes] = []
    size = 0
    for piece in _Profile(stats).fields():
        waiting.append(piece)
        size += len(piece)
        if size > _CHUNK:
            yield packer.compress(b"".join(waiting))
            waiting, size = [], 0
    yield packer.compress(b"".join(waiting))
    yield packer.flush()


class _Profile:
    """One profile, with the numbers of all names and places that it has so far."""

    def __init__(self, stats: Profile) -> None:
        self._stats = stats
        self._names = names_of_profile(stats)
        self._types = (*_TYPES, *_GPU_TYPES) if stats.gpu.sums else _TYPES
        self._strings = {"": 0}
        self._functions: dict[Key, _Locations] = {}
        self._frames: dict[Frame, bytes] = {}  # where calls are from
        self._ids_left = count(1)  # of locations
        self._numbers = _Varints()
        self._labels: dict[int, bytes] = {}  # of each thread

    def fields(self) -> Iterator[bytes]:
        """Yield the fields of the message; what names things follows its use."""
        for kind, unit in self._types:
            content = number(1, self._string(kind)) + number(2, self._string(unit))
            yield message(_SAMPLE_TYPE, content)
        for way in stacks.call_path_shares(self._stats):
            yield self._of_way(way)
        for stack in stacks.gpu_stacks(self._stats):
            yield self._of_gpu(stack)
        yield from self._about()
        yield from self._places()
        for string in self._strings:
            yield text(_STRING, string)

    def _of_way(self, way: stacks.CallPathShare) -> bytes:
        """Return the samples of a function as it was called by one way."""
        callers = self._chain(way.callers)
        label = self._label(way.thread)
        none = bytes(len(self._types) - len(_TYPES))
        numbers, lines = self._numbers, self._lines(way.function)
        made: list[bytes] = []
        if way.calls:
            values = b"\0\0" + numbers[way.calls] + none
            leaf = lines[way.function[1]]
            made.append(_sample(leaf + callers, values, label))
        rest = b"\0" + none
        sizes: dict[tuple[int, int], tuple[bytes, bytes]] = {}  # what stands between
        for line, ns, hits in way.lines:  # the most of all there is: see _sample
            leaf, values = lines[line], numbers[ns] + numbers[hits]
            size = (len(leaf), len(values))
            between = sizes.get(size)
            if between is None:
                sizes[size] = between = _around(
                    callers, size[0], size[1] + len(rest), len(label)
                )
            made += (between[0], leaf, between[1], values, rest, label)
        return b"".join(made)

    def _of_gpu(self, stack: Stack) -> bytes:
        """Return the sample of what a device did."""
        label = self._label(stack.thread)
        if stack.device >= 0:
            one = self._stats.gpu.devices[stack.device]
            label += self._text_label("device", f"{one.device}: {one.name}")
            if stack.thread == UNKNOWN_THREAD:
                label += self._of_process(one.process)
        if stack.stream is not None:
            label += self._text_label("stream", str(stack.stream))
        label += self._text_label("work", stack.work)
        values = bytes(len(_TYPES)) + varint(stack.gpu_ns) + varint(stack.copy_ns)
        return _sample(self._chain(stack.frames), values, label)

    def _chain(self, frames: Sequence[Frame]) -> bytes:
        """Return the numbers of frames, which come root first, from the leaf on."""
        found = self._frames
        ids = []
        for frame in reversed(frames):
            id_ = found.get(frame)
            if id_ is None:
                id_ = found[frame] = self._lines(frame[0])[frame[1]]
            ids.append(id_)
        return b"".join(ids)

    def _lines(self, key: Key) -> _Locations:
        """Return the locations of a function."""
        found = self._functions.get(key)
        if found is None:
            found = self._functions[key] = _Locations(self._ids_left)
        return found

    def _string(self, string: str) -> int:
        return self._strings.setdefault(string, len(self._strings))

    def _text_label(self, key: str, value: str) -> bytes:
        content = number(1, self._string(key)) + number(2, self._string(value))
        return message(_SAMPLE_LABEL, content)

    def _label(self, thread: int) -> bytes:
        """Return the labels of a thread: its own, and those of its process."""
        label = self._labels.get(thread)
        if label is None:
            label = b""
            if thread != UNKNOWN_THREAD:
                name = stacks.thread_name(self._stats, thread)
                label = self._text_label("thread", printable(name))
                label += self._of_process(self._stats.threads[thread].process)
            self._labels[thread] = label
        return label

    def _of_process(self, index: int) -> bytes:
        one = self._stats.processes[index]
        label = self._text_label("process", f"{one.pid} on {printable(one.host)}")
        if one.rank is not None:
            label += self._text_label("rank", str(one.rank))
        return label

    def _about(self) -> Iterator[bytes]:
        """Yield what is known of the run."""
        comments = [f"lineprof {VERSION}", *remarks(self._stats)]
        processes = self._stats.processes
        if processes:
            start = min(one.start_unix_ns for one in processes)
            end = max(one.start_unix_ns + one.wall_ns for one in processes)
            yield number(_TIME_NS, start)
            yield number(_DURATION_NS, end - start)
            comments[1:1] = [" ".join(one.argv) for one in processes[:1]]
        numbers = [self._string(printable(one)) for one in comments]
        yield packed(_COMMENT, numbers)
        yield number(_DEFAULT_TYPE, self._string(_TYPES[0][0]))

    def _places(self) -> Iterator[bytes]:
        """Yield all locations and functions."""
        numbers = self._numbers
        for place, (key, lines) in enumerate(self._functions.items(), 1):
            function = number(1, place) + tag(2, 0)
            for line, id_ in lines.items():
                content = function + numbers[line]
                whole = tag(1, 0) + id_ + _LINE_TAG + numbers[len(content)] + content
                yield _LOCATION_TAG + numbers[len(whole)] + whole
            file, first, _ = key
            name = self._string(self._names.label(key))
            content = number(1, place) + number(2, name)
            content += number(4, self._string(printable(file))) + number(5, first)
            yield message(_FUNCTION, content)


class _Varints(dict[int, bytes]):
    """Numbers as they are written, each worked out once."""

    def __missing__(self, value: int) -> bytes:
        made = self[value] = varint(value)
        return made


class _Locations(dict[int, bytes]):
    """The number, as it is written, of each location of one function, by line."""

    def __init__(self, ids: Iterator[int]) -> None:
        super().__init__()
        self._ids = ids

    def __missing__(self, line: int) -> bytes:
        made = self[line] = varint(next(self._ids))
        return made


def _sample(locations: bytes, values: bytes, label: bytes) -> bytes:
    """Return one sample; each but `label` as packed numbers, the leaf's first."""
    before, between = _around(b"", len(locations), len(values), len(label))
    return before + locations + between + values + label


def _around(callers: bytes, leaf: int, values: int, label: int) -> tuple[bytes, bytes]:
    """Return what stands before a sample's leaf, and from there to its values.

    It depends on their sizes alone, in bytes: so many samples have it alike.
    """
    before = _LOCATIONS_TAG + varint(leaf + len(callers))
    between = callers + _VALUES_TAG + varint(values)
    size = len(before) + leaf + len(between) + values + label
    return _SAMPLE_TAG + varint(size) + before, between
