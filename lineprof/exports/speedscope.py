"""A profile as speedscope.app has it: by function and by line, a thread each.

The format: https://www.speedscope.app/file-format-schema.json. A run with
intervals comes in time order, as events; else each line's own time is the
weight of the stack it was in. GPU time comes as stacks in any case.
"""

from __future__ import annotations

from lineprof.exports.json_text import quoted
from lineprof.exports.pieces import Pieces
from lineprof.exports.speedscope_events import events
from lineprof.exports.speedscope_frames import Frames
from lineprof.exports.speedscope_stacks import gpu_stacks, stacks
from lineprof.exports.stacks import remarks as remarks_of_stacks
from lineprof.exports.stacks import thread_name
from lineprof.short_names import names_of_profile
from lineprof.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.exports.speedscope_frames import SpeedscopeProfile
    from lineprof.stats import Profile

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the JSON; times in nanoseconds."""
    frames, pieces = Frames(names_of_profile(stats)), Pieces()
    try:
        make = events if stats.traces else stacks
        profiles = [
            *make(stats, frames, pieces),
            *gpu_stacks(stats, frames, pieces),
        ]
        yield f'{{"$schema":{quoted(_SCHEMA)},"profiles":['.encode()
        for index, profile in enumerate(profiles):
            yield b",\n" if index else b"\n"
            yield from _profile(stats, profile, pieces)
        if not profiles:
            yield (
                b'{"type":"sampled","name":"nothing was measured","unit":"none",'
                b'"startValue":0,"endValue":0,"samples":[],"weights":[]}'
            )
        yield f'],\n"shared":{{"frames":[{frames.text()}]}},'.encode()
    finally:
        pieces.close()
    most = max(profiles, key=lambda one: one.end - one.start, default=None)
    active = profiles.index(most) if most else 0
    exporter, name = quoted(f"lineprof {VERSION}"), quoted(_name(stats))
    yield f'"name":{name},"activeProfileIndex":{active},'.encode()
    yield f'"exporter":{exporter}}}\n'.encode()


def remarks(stats: Profile) -> Iterator[str]:
    """Yield what a reader of the file should know, a line each."""
    if not stats.traces:
        yield (
            "the run had no --trace: left heavy and sandwich are right, but the order"
            " of what is under time order is not that of time"
        )
        yield from remarks_of_stacks(stats)
    left_out = sum(one.left_out for one in stats.traces)
    if left_out:
        yield f"{left_out} slices are not in the trace: there was no room for them"


def _profile(
    stats: Profile, profile: SpeedscopeProfile, pieces: Pieces
) -> Iterator[bytes]:
    """Yield one profile of the file."""
    name = profile.name or thread_name(stats, profile.thread) or "All threads"
    kind = "evented" if profile.is_evented else "sampled"
    yield (
        f'{{"type":"{kind}","name":{quoted(f"{name}: {profile.what}")},'
        f'"unit":"nanoseconds","startValue":{profile.start},"endValue":{profile.end}'
    ).encode()
    for array in profile.arrays:
        yield f',"{array}":['.encode()
        yield from _without_comma(pieces.take((profile.key, array)))
        yield b"]"
    yield b"}"


def _without_comma(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield `chunks`, of whose items each has a comma before it, without the first."""
    yield next(chunks, b"")[1:]
    yield from chunks


def _name(stats: Profile) -> str:
    """Return the program's name."""
    programs = dict.fromkeys(one.argv[0] for one in stats.processes if one.argv)
    return ", ".join(programs) or "lineprof"
