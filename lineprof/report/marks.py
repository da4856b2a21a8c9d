"""Marks of functions that were counted for a part of the run.

`kernprof --max-overhead` counts only calls of some functions while the program runs,
switches functions off, and begins to count some later than at their first call. Each
view marks these functions, so that nobody takes their numbers for those of the whole
run: ``main  (counted until 0.03 s of 4.10 s)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.units import NANOSECOND
from lineprof.report.text_grid import MARK, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import Cut, Key

_MIN_SECONDS = 0.01  # below that, seconds get more than two digits after the point


class Part(NamedTuple):
    """The part of a run in which a function was counted."""

    from_ns: int
    until_ns: int | None  # None: to the end
    lines_until_ns: int | None  # of its lines; None: as long as the function
    of_ns: int  # length of the whole run; 0: unknown

    @property
    def share(self) -> float:
        """The part with lines as a share of the run, 0 to 1."""
        ends = [end for end in (self.until_ns, self.lines_until_ns) if end is not None]
        until_ns = min(ends, default=self.of_ns)
        return (until_ns - self.from_ns) / self.of_ns if self.of_ns else 0.0

    def __str__(self) -> str:
        """Return the part in words."""
        ends = {
            "from": self.from_ns or None,
            "until": self.until_ns,
            "by line until": self.lines_until_ns,
            "of": self.of_ns or None,
        }
        return " ".join(
            f"{word} {_seconds(ns)}" for word, ns in ends.items() if ns is not None
        )


PART_FIELDS = Part._fields


class Marks:
    """The marks of a profile's functions."""

    def __init__(self, profile: Profile) -> None:
        """Take the cuts of `profile`."""
        self._processes = profile.processes
        self._cuts: dict[Key | None, list[Cut]] = {}
        for cut in profile.cuts:
            self._cuts.setdefault(cut.function, []).append(cut)

    def is_whole(self, key: Key | None) -> bool:
        """Tell whether a function's calls and total are of the whole run."""
        return all(map(_is_whole, self._cuts.get(key, ())))

    def after(self, key: Key | None) -> str:
        """Return the mark as it follows a function's name; "" if it has none."""
        span = self.span(key)
        return f"{MARK}{span})" if span else ""

    def span(self, key: Key | None) -> str:
        """Return the part of the run in which a function was counted; "" for all of it.

        If it was cut in several processes, the time is that of the process in which it
        was counted for the smallest part of the run.
        """
        first = self.part(key)
        if first is None:
            return ""
        text = str(first)
        if len(self._processes) > 1:
            text += f", in {len(self._cuts[key])} of {len(self._processes)} processes"
        return text

    def fields(self, key: Key) -> list[dict[str, int | None]]:
        """Return the cuts of a function for JSON."""
        return [
            {"process": cut.process, **self._part(cut)._asdict()}
            for cut in self._cuts.get(key, ())
        ]

    def part(self, key: Key | None) -> Part | None:
        """Return the smallest part of a run that a function was cut to, if any."""
        parts = [self._part(cut) for cut in self._cuts.get(key, ())]
        return min(parts, key=lambda part: part.share, default=None)

    def note(self) -> Iterator[str]:
        """Yield a sentence for each kind of marks that there is."""
        whole = [key for key in self._cuts if self.is_whole(key)]
        others = len(self._cuts) - len(whole)
        if others:
            were, them = ("was", "it") if others == 1 else ("were", "them")
            yield (
                f"{counted(others, 'function')}, marked (counted ...), {were}"
                " counted for that part of the run, because of --max-overhead: other"
                f" time is in the lines that call {them}, and percentages are of what"
                " was counted"
            )
        if whole:
            were = "was" if len(whole) == 1 else "were"
            yield (
                f"{counted(len(whole), 'function')}, marked (counted by line until"
                f" ...), {were} counted without lines after that moment, because of"
                " --max-overhead: calls and total are of the whole run, and later time"
                " is on the function's first line"
            )

    def sentences(self) -> Iterator[str]:
        """Yield the note, and a line for each function, for files without marks."""
        yield from self.note()
        for key in self._cuts:
            if key is not None:
                yield f"{key[2]} ({key[0]}:{key[1]}): counted {self.span(key)}"

    def _part(self, cut: Cut) -> Part:
        known = 0 <= cut.process < len(self._processes)
        return Part(
            from_ns=cut.from_ns,
            until_ns=cut.until_ns,
            lines_until_ns=cut.lines_until_ns,
            of_ns=self._processes[cut.process].wall_ns if known else 0,
        )


def cut_lines(marks: Marks, key: Key) -> Sequence[str]:
    """Return lines below the table of a function that has a mark."""
    span = marks.span(key)
    if not span:
        return ()
    rest = "hits, times and % Time are of that part of the run"
    if marks.is_whole(key):
        rest = "hits are of that part of the run, later time is on the first line"
    return (f"Counted {span}: {rest}",)


def _is_whole(cut: Cut) -> bool:
    """Tell whether the calls and the total of a function are of the whole run."""
    return not cut.from_ns and cut.until_ns is None


def _seconds(ns: int) -> str:
    seconds = ns * NANOSECOND
    digits = 2 if seconds >= _MIN_SECONDS or not ns else 6
    return f"{seconds:.{digits}f} s"
