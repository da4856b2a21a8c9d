"""Marks of functions that were counted for a part of the run.

`kernprof --max-overhead` switches functions off while the program runs, and begins to
count some later than at their first call. Each view marks these functions, so that
nobody takes their numbers for those of the whole run:
``main  (counted until 0.03 s of 4.10 s)``.
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


class _Span(NamedTuple):
    """The part of a run in which a function was counted."""

    from_ns: int
    until_ns: int | None  # None: to the end
    of_ns: int  # length of the whole run; 0: unknown

    @property
    def share(self) -> float:
        """The part as a share of the run, 0 to 1."""
        until_ns = self.of_ns if self.until_ns is None else self.until_ns
        return (until_ns - self.from_ns) / self.of_ns if self.of_ns else 0.0

    def __str__(self) -> str:
        """Return the part in words."""
        words = []
        if self.from_ns:
            words.append(f"from {_seconds(self.from_ns)}")
        if self.until_ns is not None:
            words.append(f"until {_seconds(self.until_ns)}")
        if self.of_ns:
            words.append(f"of {_seconds(self.of_ns)}")
        return " ".join(words)


class Marks:
    """The marks of a profile's functions."""

    def __init__(self, profile: Profile) -> None:
        """Take the cuts of `profile`."""
        self._processes = profile.processes
        self._cuts: dict[Key, list[Cut]] = {}
        for cut in profile.cuts:
            self._cuts.setdefault(cut.function, []).append(cut)

    def __contains__(self, key: object) -> bool:
        """Tell whether a function was cut in any process."""
        return key in self._cuts

    def after(self, key: Key | None) -> str:
        """Return the mark as it follows a function's name; "" if it has none."""
        span = self.span(key)
        return f"{MARK}{span})" if span else ""

    def span(self, key: Key | None) -> str:
        """Return the part of the run in which a function was counted; "" for all of it.

        If it was cut in several processes, the time is that of the process in which it
        was counted for the smallest part of the run.
        """
        cuts = self._cuts.get(key, []) if key else []
        if not cuts:
            return ""
        first = min(map(self._span, cuts), key=lambda span: span.share)
        text = str(first)
        if len(self._processes) > 1:
            text += f", in {len(cuts)} of {len(self._processes)} processes"
        return text

    def fields(self, key: Key) -> list[dict[str, int | None]]:
        """Return the cuts of a function for JSON."""
        return [
            {"process": cut.process, **self._span(cut)._asdict()}
            for cut in self._cuts.get(key, ())
        ]

    def note(self) -> Iterator[str]:
        """Yield one sentence on all marks, if there are any."""
        if self._cuts:
            were, their = ("was", "its") if len(self._cuts) == 1 else ("were", "their")
            yield (
                f"{counted(len(self._cuts), 'function')}, marked (counted ...), {were}"
                f" counted for that part of the run, because of --max-overhead: {their}"
                " other time counts for the callers, and percentages are of what was"
                " counted"
            )

    def sentences(self) -> Iterator[str]:
        """Yield the note, and a line for each function, for files without marks."""
        yield from self.note()
        for file, line, name in self._cuts:
            yield f"{name} ({file}:{line}): counted {self.span((file, line, name))}"

    def _span(self, cut: Cut) -> _Span:
        known = 0 <= cut.process < len(self._processes)
        of_ns = self._processes[cut.process].wall_ns if known else 0
        return _Span(from_ns=cut.from_ns, until_ns=cut.until_ns, of_ns=of_ns)


def cut_line(span: str) -> Sequence[str]:
    """Return a line below the table of a function that was counted for a `span`."""
    if not span:
        return ()
    return (f"Counted {span}: hits, times and % Time are of that part alone",)


def _seconds(ns: int) -> str:
    seconds = ns * NANOSECOND
    digits = 2 if seconds >= _MIN_SECONDS or not ns else 6
    return f"{seconds:.{digits}f} s"
