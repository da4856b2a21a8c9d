"""The view --brief: the answer in at most N words, for those who read little.

Words are those of `str.split`, of all lines together. The answer is made of pieces in
the order of their importance, and more words only add to it: the line with the most
time, its share of the run, its time and hits, the next command to type, the source of
the line, its callers, why it takes time, then the next lines. Prose and source that do
not fit end in dots; a number, a name or a command is whole or not there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineprof.advice.lines import BUSY_PROCESSORS, IMPORT
from lineprof.console.output import python_command, shell_word
from lineprof.console.terminal import box_characters_of
from lineprof.model.call_graph import edges, function_totals, uncounted
from lineprof.model.names import MODULE, names_of_profile
from lineprof.model.run_parts import run_parts
from lineprof.report.advice import advice_of
from lineprof.report.functions import hottest_lines
from lineprof.report.memory_format import peak_words
from lineprof.report.notes import not_a_flag, target_of
from lineprof.report.overview import summed_threads, wait_of
from lineprof.report.run_bar import shown_parts
from lineprof.report.text_grid import counted, in_words, percent_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof.advice.finding import Finding
    from lineprof.model.call_graph import Edge
    from lineprof.model.names import ShortNames
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.model.run_parts import RunParts
    from lineprof.report.columns import Place
    from lineprof.report.functions import HotLine
    from lineprof.report.options import Options
    from lineprof.source import Sources

_LINES = 20  # at most, after the first one

_MIN_SHARE = 0.1  # % of the run, of these

_LEVELS = 3  # of callers
_SITES = 3  # lines of one caller, by their numbers

_MIN_CUT = 2  # words of a piece that is cut

# Lines of the answer; each of the next lines of the program has one.
_ANSWER, _CALLERS, _WHY, _MEMORY, _RUN, _NEXT, _COMMAND = range(7)


@dataclass(frozen=True)
class _Piece:
    """Words of the answer."""

    place: tuple[int, ...]  # its order in the answer; the first number is the line's
    text: str
    before: str = " "  # between it and the piece before it on its line
    is_prose: bool = False  # it may be cut


def render(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield the answer in at most `options.words` words."""
    dots = box_characters_of(options.terminal).dots
    shown: list[_Piece] = []
    for piece in _pieces(profile, sources, options):
        clean = replace(piece, text=options.terminal.clean(piece.text).strip())
        room = options.words - _count(shown)
        if not clean.text:  # of source that is not known
            continue
        if len(clean.text.split()) > room:
            # If not even the first piece fits, its beginning is better than nothing.
            if (room >= _MIN_CUT and clean.is_prose) or not shown:
                shown.append(replace(clean, text=_cut(clean.text, room, dots)))
            break
        shown.append(clean)
    yield from _lines(shown)


def _count(pieces: Sequence[_Piece]) -> int:
    return sum(len(one.text.split()) for one in pieces)


def _cut(text: str, room: int, dots: str) -> str:
    """Return the first `room` words of a text, with dots behind them."""
    return "".join(re.findall(r"\S+\s*", text)[:room]).rstrip() + dots


def _lines(pieces: Iterable[_Piece]) -> Iterator[str]:
    lines: dict[tuple[int, ...], str] = {}
    for one in sorted(pieces, key=lambda one: one.place):
        line = one.place[:-1]
        text = lines.get(line)
        lines[line] = one.text if text is None else f"{text}{one.before}{one.text}"
    return iter(lines.values())


def _pieces(profile: Profile, sources: Sources, options: Options) -> Iterator[_Piece]:
    """Yield the pieces of the answer, the most important first."""
    if profile.why_empty:
        yield _Piece((_ANSWER, 0), profile.why_empty, is_prose=True)
        yield _command("--functions", options)
        return
    rows, _, totals = hottest_lines(profile, options._replace(lines=1 + _LINES))
    if not rows:
        yield _Piece((_ANSWER, 0), "no line took time", is_prose=True)
        yield _command("--functions", options)
        return
    yield from _Brief(profile, sources, options, totals).pieces(rows)


def _command(flag: str, options: Options) -> _Piece:
    command = f"{python_command()} -m lineprof view {flag} {options.file}"
    return _Piece((_COMMAND, 0), command)


class _Brief:
    """The answer about a profile in which lines took time."""

    def __init__(
        self,
        profile: Profile,
        sources: Sources,
        options: Options,
        totals: Mapping[str, int],
    ) -> None:
        self._profile = profile
        self._sources = sources
        self._options = options
        self._gpu_ns = totals["gpu_self_ns"]
        self._names: ShortNames = names_of_profile(profile)
        self._parts: RunParts = run_parts(profile, sources.line)
        self._whole, self._whole_ns = "the run", self._parts.run_ns
        self._threads = summed_threads(profile, self._parts)
        if self._threads:
            self._whole = "the time of all threads"
        # Without calls, lines have the time of their callees, which may recurse; and
        # without processes, nothing is known of the run.
        is_more = totals["self_ns"] > self._whole_ns or not profile.processes
        self._is_run = bool(profile.calls.nodes) or not is_more
        if not self._is_run:
            self._whole, self._whole_ns = "all lines", totals["self_ns"]
            self._threads = ""
        self._findings: Sequence[Finding] | None = None

    def pieces(self, rows: Sequence[HotLine]) -> Iterator[_Piece]:
        """Yield all pieces, for the hottest lines."""
        first, *others = rows
        place, is_gpu, wait = first.place, self._is_gpu(first), ""
        finding = self._import()
        if finding is not None:
            place, is_gpu = finding.places[0], False
            others = [row for row in rows if row.place != place]
            yield from self._of_import(finding)
        else:
            wait = wait_of(first, self._parts.run_ns)
            yield from self._line(first, (_ANSWER,))
        target = f"--drill {shell_word(self._target(place[0]))}"
        yield _command(target, self._options)
        yield self._source(place, (_ANSWER,))
        if not is_gpu:
            yield _Piece((_ANSWER, 2), f"of {self._whole}")
        yield from self._callers(place[0])
        if wait:
            yield _Piece((_WHY, 0), f"waits: {wait}")
        if memory := peak_words(self._profile):
            yield _Piece((_MEMORY, 0), f"memory: {memory}")
        yield from self._why(place)
        for number, row in enumerate(others):
            if self._is_gpu(row) or self._share(row.self_ns) >= _MIN_SHARE:
                yield from self._line(row, (_NEXT, number))
                yield self._source(row.place, (_NEXT, number))
            if not number:
                yield from self._run()
        if not others:
            yield from self._run()

    def _target(self, key: Key) -> str:
        """Return the function as --drill takes it, for all functions of the file."""
        file, line, name = key
        if self._options.named:  # functions that were not named may have its name
            return not_a_flag(f"{file}:{line}({name})")
        return target_of(self._profile, key)

    # The line with the most time.

    def _line(self, row: HotLine, at: tuple[int, ...]) -> Iterator[_Piece]:
        """Yield the place, the share, the time and the hits of a line."""
        ns, share = row.self_ns, f"{self._share(row.self_ns):.1f}%"
        if self._is_gpu(row):
            ns = row.gpu_self_ns or 0
            share = f"{percent_of(ns, self._gpu_ns):.1f}% of GPU time"
        place = self._names.line(row.place[0][0], row.place[1])
        if at[0] == _NEXT:  # whose place alone says nothing
            yield _Piece((*at, 0), f"{place} {share}")
        else:
            yield _Piece((*at, 0), place)
            yield _Piece((*at, 1), share)
        callees = " with callees"
        if self._is_gpu(row) or self._profile.calls.nodes:
            callees = ""
        yield _Piece((*at, 3), f"{in_words(ns)}{callees}", ", ")
        if row.hits:
            yield _Piece((*at, 4), counted(row.hits, "hit"), ", ")
        if row.mark:
            yield _Piece((*at, 5), row.mark)

    def _source(self, place: Place, at: tuple[int, ...]) -> _Piece:
        text = self._sources.line(place[0][0], place[1]) or ""
        return _Piece((*at, 6), text, ": ", is_prose=True)

    def _is_gpu(self, row: HotLine) -> bool:
        return (row.gpu_self_ns or 0) > row.self_ns

    def _share(self, ns: int) -> float:
        return percent_of(ns, self._whole_ns)

    # Imports: their time is in lines of modules that nobody looks for.

    def _import(self) -> Finding | None:
        """Return the most expensive import if imports take most of the run."""
        if 2 * self._parts.imports_ns <= self._parts.run_ns:
            return None
        return next((one for one in self._advice if one.kind == IMPORT), None)

    def _of_import(self, one: Finding) -> Iterator[_Piece]:
        (key, line), *_ = one.places
        yield _Piece((_ANSWER, 0), self._names.line(key[0], line))
        yield _Piece((_ANSWER, 1), f"{self._share(one.cost_ns):.1f}%")
        yield _Piece((_ANSWER, 3), f"{in_words(one.cost_ns)} of imports", ", ")

    # Its callers.

    def _callers(self, key: Key) -> Iterator[_Piece]:
        """Yield the function of a line, and from where it was called."""
        yield _Piece((_CALLERS, 0), f"in {self._names.name(key)}")
        calls = 0
        if key not in uncounted(self._profile) and key[2] != MODULE:
            calls = function_totals(self._profile)[key].calls
        into: dict[Key, list[Edge]] = {}
        inner = 0
        for edge in edges(self._profile.calls):
            if edge.caller != edge.callee:
                into.setdefault(edge.callee, []).append(edge)
            elif edge.callee == key:
                inner += edge.calls
        if calls and self._profile.calls.nodes:
            text = f"called {counted(calls, 'time')}"
            text += f" ({inner:,} by itself)" if inner else ""
            yield _Piece((_CALLERS, 1), text, ", ")
        yield from self._call_path(key, into, is_first=not calls)

    def _call_path(
        self, key: Key, into: Mapping[Key, Sequence[Edge]], *, is_first: bool
    ) -> Iterator[_Piece]:
        """Yield the callers of a function, and theirs while there is one alone.

        `into` has the calls of each function, but for those by itself. The first
        caller follows the number of calls, unless it `is_first`.
        """
        for level in range(_LEVELS):
            callers: dict[Key | None, list[Edge]] = {}
            for edge in into.get(key, ()):
                callers.setdefault(edge.caller, []).append(edge)
            is_outside = bool(callers.pop(None, ()))
            sites = [one for found in callers.values() for one in found]
            # Without the time of inner calls, as --callers has it.
            longest = max(sites, key=lambda one: one.total_ns, default=None)
            if longest is None or longest.caller is None:
                return
            key = longest.caller
            is_one = len(callers) == 1 and not is_outside
            if level and not is_one:  # a part of these calls may lead elsewhere
                return
            if len(callers) > 1:
                text = f"from {len(callers)} functions"
                text += f", longest from {self._site(key, [longest])}"
            else:
                text = f"from {self._site(key, sites)}"
            if is_outside:
                text += " and from code not profiled"
            if level or is_first:
                yield _Piece((_CALLERS, 2 + level), f"called {text}", ", ")
            else:
                yield _Piece((_CALLERS, 2 + level), text)
            if not is_one:
                return

    def _site(self, key: Key, sites: Sequence[Edge]) -> str:
        """Return the lines of a function that call another, and its name."""
        if not key[0]:
            return self._names.function(key)
        first, *lines = sorted({one.line for one in sites})
        name = self._names.line(key[0], first)
        if len(lines) >= _SITES:
            name, lines = f"{1 + len(lines)} lines of {self._names.file(key[0])}", []
        more = "".join(f", {line}" for line in lines)
        return f"{name}{more} ({self._names.name(key)})"

    # Why it takes time.

    @property
    def _advice(self) -> Sequence[Finding]:
        """The findings about the program."""
        if self._findings is None:
            found = advice_of(self._profile, self._sources).findings
            self._findings = [one for one in found if one.kind != BUSY_PROCESSORS]
        return self._findings

    def _why(self, place: Place) -> Iterator[_Piece]:
        """Yield the first finding about a line; if there is none, about another."""
        about = [one for one in self._advice if place in one.places]
        for one in (about or self._advice)[:1]:
            text = f"{one.kind}: {one.advice}"
            if not about:
                (key, line), *_ = one.places
                names = self._names
                name = names.line(key[0], line) if line else names.function(key)
                text = f"at {name} {text}"
            yield _Piece((_WHY, 1), text, "; ", is_prose=True)

    def _run(self) -> Iterator[_Piece]:
        """Yield the time that is 100 %, and its parts."""
        text = f"100% is {in_words(self._whole_ns)}"
        processes = len(self._profile.processes)
        if self._threads:
            text += f", the time of {self._threads}"
        elif processes > 1:
            text += f" of {processes} processes"
        yield _Piece((_RUN, 0), text)
        # Functions that were not named may import, or call those that were.
        if self._options.named or not self._is_run:
            return
        parts = shown_parts(self._parts)
        for number, (name, words, ns) in enumerate(parts, 1):
            share = f"{self._share(ns):.1f}%"
            if name == "measuring_ns":
                share = f"{in_words(ns)} on top"
            before = ": " if number == 1 else ", "
            yield _Piece((_RUN, number), f"{words} {share}", before)
