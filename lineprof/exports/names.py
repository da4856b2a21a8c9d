"""What files for other programs call functions: short, and each by one name."""

from __future__ import annotations

import os

from lineprof.errors import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lineprof.records import Key
    from lineprof.stats import Profile


class Names:
    """The names of all functions of a profile, without control characters."""

    def __init__(self, stats: Profile) -> None:
        keys = dict.fromkeys(_keys(stats))
        files = dict.fromkeys(file for file, _, _ in keys if file)
        self._short = _short(files)
        self._count: dict[str, int] = {}
        for _, _, name in keys:
            self._count[name] = self._count.get(name, 0) + 1
        self._full: dict[Key, str] = {}

    def file(self, file: str) -> str:
        """Return the end of a file's path that no other file has: ``model.py``."""
        return printable(self._short.get(file, file))

    def alone(self, key: Key) -> str:
        """Return a function's name; with its place where others have that, too."""
        if self._count.get(key[2], 0) < 2:  # noqa: PLR2004  # itself
            return printable(key[2])
        return self.full(key)

    def full(self, key: Key) -> str:
        """Return a function's name and place: ``fit (model.py:15)``.

        Those of C and others without a file are known by their names.
        """
        name = self._full.get(key)
        if name is None:
            file, line, short = key
            place = f" ({self.file(file)}:{line})" if file else ""
            name = self._full[key] = f"{printable(short)}{place}"
        return name


def _keys(stats: Profile) -> Iterator[Key]:
    """Yield each function that is known of, some more than once."""
    for function in stats.functions:
        yield function.key
    for node in stats.calls.nodes:
        yield node.function
    for path in stats.gpu.paths:
        for key, _ in path.lines:
            yield key


def _short(files: Iterable[str]) -> dict[str, str]:
    """Return of each path so many of its last parts that no two are equal."""
    short: dict[str, str] = {}
    count, left = 1, list(files)
    while left:
        tails: dict[str, list[str]] = {}
        for file in left:
            tails.setdefault(_tail(file, count), []).append(file)
        for tail, same in tails.items():
            short.update((file, tail) for file in same)
        left = [
            file
            for tail, same in tails.items()
            for file in same
            if len(same) > 1 and tail != file
        ]
        count += 1
    return short


def _tail(file: str, count: int) -> str:
    """Return the last `count` parts of a path; all of it where it has no more."""
    parts = file.split(os.sep)
    return file if len(parts) <= count + 1 else os.sep.join(parts[-count:])
