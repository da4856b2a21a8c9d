"""Profiles for ``go tool pprof`` and all readers of its files, by line.

The file is a gzipped protocol buffer; ``proto/profile.proto`` of
github.com/google/pprof specifies it, with the numbers of the fields.
"""

from __future__ import annotations

import zlib
from itertools import count
from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.export import stacks
from lineprof.export.encoding import (
    chunks,
    int64,
    message,
    number,
    packed,
    tag,
    text,
    varint,
)
from lineprof.export.made_once import MadeOnce
from lineprof.model.names import names_of_profile
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.model.relation import NONE
from lineprof.report.marks import Marks
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.export.stacks import Frame, MemoryStack, Stack
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

remarks = stacks.remarks

_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRING = 1, 2, 4, 5, 6  # of Profile

_TIME_NS, _DURATION_NS, _PERIOD_TYPE, _PERIOD = 9, 10, 11, 12

_COMMENT, _DEFAULT_TYPE = 13, 14

_SAMPLE_LOCATIONS, _SAMPLE_VALUES, _SAMPLE_LABEL = 1, 2, 3

_TYPES = (("time", "nanoseconds"), ("hits", "count"), ("calls", "count"))

_GPU_TYPES = (("gpu", "nanoseconds"), ("gpu_copy", "nanoseconds"))

# Named as in Go's heap profiles, as far as these have them.
_MEMORY_TYPES = (
    *(("alloc_objects", "count"), ("alloc_space", "bytes")),
    *(("inuse_space", "bytes"), ("peak_space", "bytes")),
)

_LIVE = _MEMORY_TYPES[2]

_SPACE = ("space", "bytes")  # the period of Go's heap profiles

_SAMPLE_TAG, _LOCATIONS_TAG = tag(_SAMPLE, 2), tag(_SAMPLE_LOCATIONS, 2)

_LOCATION_TAG, _LINE_TAG = tag(_LOCATION, 2), tag(4, 2)

_VALUES_TAG = tag(_SAMPLE_VALUES, 2)

_GZIP = 16 + zlib.MAX_WBITS

_ZLIB_LEVEL = 3  # 6 takes longer and saves 1 %


def content(profile: Profile) -> Iterator[bytes]:
    """Yield the file: time (ns), hits, calls; GPU time and time of copies (ns).

    If memory was measured, samples have blocks, and bytes that were allocated, that are
    live and that were at the peak.
    """
    return _packed(_Writer(profile).fields())


def heap_content(profile: Profile) -> Iterator[bytes]:
    """Yield a file with the memory alone, such as Go's programs have of theirs."""
    return _packed(_Writer(profile, is_heap=True).fields())


def _packed(fields: Iterator[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(_ZLIB_LEVEL, wbits=_GZIP)
    for chunk in chunks(fields, b""):
        yield packer.compress(chunk)
    yield packer.flush()


class _Writer:
    """Writes a profile; it numbers all names and places at their first use."""

    def __init__(self, profile: Profile, *, is_heap: bool = False) -> None:
        self._profile = profile
        self._is_heap = is_heap  # only memory is written
        self._names = names_of_profile(profile)
        self._types: tuple[tuple[str, str], ...] = ()  # of the values of a sample
        if not is_heap:
            self._types = (*_TYPES, *_GPU_TYPES) if profile.gpu.sums else _TYPES
        self._before_memory = bytes(len(self._types))
        if is_heap or profile.memory.sums:
            self._types += _MEMORY_TYPES
        self._strings = {"": 0}
        ids = count(1)
        # Varints of the locations of each function, by line; those of callers.
        functions: MadeOnce[Key, MadeOnce[int, bytes]] = MadeOnce(
            lambda _: MadeOnce(lambda _: varint(next(ids)))
        )
        self._functions = functions
        self._frames: MadeOnce[Frame, bytes] = MadeOnce(
            lambda frame: functions[frame[0]][frame[1]]
        )
        self._numbers: MadeOnce[int, bytes] = MadeOnce(lambda n: varint(int64(n)))
        self._labels: dict[int, bytes] = {}  # by thread

    def fields(self) -> Iterator[bytes]:
        """Yield the fields of the message; names and places follow their use."""
        for one in self._types:
            yield message(_SAMPLE_TYPE, self._type(one))
        if not self._is_heap:
            for path in stacks.call_path_shares(self._profile):
                yield self._samples(path)
            for stack in stacks.gpu_stacks(self._profile):
                yield self._gpu_sample(stack)
        for memory in stacks.memory_stacks(self._profile):
            yield self._memory_sample(memory)
        yield from self._about()
        yield from self._places()
        for string in self._strings:
            yield text(_STRING, string)

    def _samples(self, path: stacks.CallPathShare) -> bytes:
        """Return the samples of a function at the end of one call path."""
        callers = self._chain(path.callers)
        label = self._label(path.thread)
        none = bytes(len(self._types) - len(_TYPES))
        numbers, lines = self._numbers, self._functions[path.function]
        made: list[bytes] = []
        if path.calls:
            values = b"\0\0" + numbers[path.calls] + none
            leaf = lines[path.function[1]]
            made.append(_sample(leaf + callers, values, label))
        rest = b"\0" + none
        sizes: dict[tuple[int, int], tuple[bytes, bytes]] = {}  # see _around
        for one in path.lines:  # as in _sample, but faster: they are many
            leaf, values = lines[one.line], numbers[one.ns] + numbers[one.hits]
            size = (len(leaf), len(values))
            between = sizes.get(size)
            if between is None:
                sizes[size] = between = _around(
                    callers, size[0], size[1] + len(rest), len(label)
                )
            made += (between[0], leaf, between[1], values, rest, label)
        return b"".join(made)

    def _gpu_sample(self, stack: Stack) -> bytes:
        """Return the sample of a device's work."""
        label = self._label(stack.thread)
        if stack.device >= 0:
            one = self._profile.gpu.devices[stack.device]
            label += self._text_label("device", f"{one.device}: {printable(one.name)}")
            if stack.thread == UNKNOWN_THREAD:
                label += self._process_labels(one.process)
        if stack.stream is not None:
            label += self._text_label("stream", str(stack.stream))
        label += self._text_label("work", stack.work)
        values = bytes(len(_TYPES)) + varint(int64(stack.gpu_ns))
        values += varint(int64(stack.copy_ns))
        values += bytes(len(self._types) - len(_TYPES) - len(_GPU_TYPES))
        return _sample(self._chain(stack.frames), values, label)

    def _memory_sample(self, stack: MemoryStack) -> bytes:
        """Return the sample of the blocks that a line allocated itself."""
        one, numbers = stack.numbers, self._numbers
        values = (one.allocs, one.alloc_bytes, one.live_bytes, one.peak_bytes)
        return _sample(
            self._chain(stack.frames),
            self._before_memory + b"".join([numbers[value] for value in values]),
            b"" if stack.process == NONE else self._process_labels(stack.process),
        )

    def _chain(self, frames: Sequence[Frame]) -> bytes:
        """Return the locations of `frames`, which come root first, leaf first."""
        return b"".join([self._frames[frame] for frame in reversed(frames)])

    def _string(self, string: str) -> int:
        return self._strings.setdefault(string, len(self._strings))

    def _type(self, type_: tuple[str, str]) -> bytes:
        """Return a ValueType."""
        return number(1, self._string(type_[0])) + number(2, self._string(type_[1]))

    def _text_label(self, key: str, value: str) -> bytes:
        content = number(1, self._string(key)) + number(2, self._string(value))
        return message(_SAMPLE_LABEL, content)

    def _label(self, thread: int) -> bytes:
        """Return the labels of a thread: its own, and those of its process."""
        label = self._labels.get(thread)
        if label is None:
            label = self._labels[thread] = self._new_label(thread)
        return label

    def _new_label(self, thread: int) -> bytes:
        if thread == UNKNOWN_THREAD:
            return b""
        name = stacks.thread_name(self._profile, thread)
        label = self._text_label("thread", printable(name))
        return label + self._process_labels(self._profile.threads[thread].process)

    def _process_labels(self, index: int) -> bytes:
        one = self._profile.processes[index]
        label = self._text_label("process", f"{one.pid} on {printable(one.host)}")
        if one.rank is not None:
            label += self._text_label("rank", str(one.rank))
        return label

    def _about(self) -> Iterator[bytes]:
        """Yield start, duration and comments of the run."""
        comments = [f"lineprof {VERSION}"]
        if not self._is_heap:
            comments += Marks(self._profile).sentences()
            comments += remarks(self._profile)
        processes = self._profile.processes
        if processes:
            start = min(one.start_unix_ns for one in processes)
            end = max(one.start_unix_ns + one.wall_ns for one in processes)
            yield number(_TIME_NS, int64(start))
            yield number(_DURATION_NS, int64(end - start))
            comments[1:1] = [" ".join(one.argv) for one in processes[:1]]
        # Every nanosecond counts. Pyroscope names series by this type as well.
        period, default = (_SPACE, _LIVE) if self._is_heap else _TYPES[:1] * 2
        yield message(_PERIOD_TYPE, self._type(period))
        yield number(_PERIOD, 1)
        numbers = [self._string(printable(one)) for one in comments]
        yield packed(_COMMENT, numbers)
        yield number(_DEFAULT_TYPE, self._string(default[0]))

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


def _sample(locations: bytes, values: bytes, label: bytes) -> bytes:
    """Return one sample; `locations` and `values` are packed, the leaf comes first."""
    before, between = _around(b"", len(locations), len(values), len(label))
    return before + locations + between + values + label


def _around(callers: bytes, leaf: int, values: int, label: int) -> tuple[bytes, bytes]:
    """Return the bytes before a sample's leaf, and those from its leaf to its values.

    They depend on `callers` and on the sizes (bytes) alone, so many samples share
    them.
    """
    before = _LOCATIONS_TAG + varint(leaf + len(callers))
    between = callers + _VALUES_TAG + varint(values)
    size = len(before) + leaf + len(between) + values + label
    return _SAMPLE_TAG + varint(size) + before, between
