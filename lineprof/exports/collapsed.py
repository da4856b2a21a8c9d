"""A profile as collapsed stacks, one a line, for flamegraph.pl and its kind.

Functions from the root on, semicolons between them, a blank and a number: here
the time in the last one's own lines, in nanoseconds.
"""

from __future__ import annotations

from lineprof.exports import stacks
from lineprof.exports.flames import flames, walk
from lineprof.log_file import encoded
from lineprof.short_names import ShortNames, names_of_profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.records import Key
    from lineprof.stats import Profile


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the stacks of `stats`: ``main (a.py:1);fit (b.py:7) 1200`` and so on."""
    names = names_of_profile(stats)
    known: dict[Key, str] = {}
    most = stacks.most_frames(stats.calls)
    way: list[tuple[Key, int]] = []
    for level, flame in walk(flames(stats)):
        del way[level:]
        if flame.own_ns:
            frames = (*stacks.cut(way, most), (flame.key, 0))
            texts = [known.get(key) or _name(known, names, key) for key, _ in frames]
            yield from encoded([f"{';'.join(texts)} {flame.own_ns}"])
        way.append((flame.key, 0))


def _name(known: dict[Key, str], names: ShortNames, key: Key) -> str:
    """Return a function's name without what has a meaning in the file."""
    name = known[key] = names.full(key).replace(";", ",")
    return name


def remarks(stats: Profile) -> Iterator[str]:
    """Yield what the file does not say itself."""
    yield from stacks.remarks(stats)
    yield "the numbers are nanoseconds"
    if stats.gpu.sums:
        yield "GPU time is not in it: collapsed stacks have one number"
