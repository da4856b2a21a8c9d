"""The view --advice: what a profile proves about its lines, and what usually helps."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from lineprof.advice.advise import Advice, Finding, advise
from lineprof.advice.advise import first_findings as first_of
from lineprof.advice.finding import Line, in_words, percent
from lineprof.advice.lines import BUSY_PROCESSORS
from lineprof.later import Later
from lineprof.model.names import ShortNames, names_of_profile
from lineprof.report import markdown
from lineprof.report.columns import (
    DATA,
    NS,
    PLACE,
    SHARE,
    SOURCE,
    SOURCE_TITLE,
    WORDS,
    Column,
)
from lineprof.report.limits import limited
from lineprof.report.marks import Marks
from lineprof.report.rows import Rows, rows_of
from lineprof.report.text_grid import counted, grid, in_bytes, more_rows
from lineprof.snapshot.arithmetic import idle_sums

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.console.terminal import Terminal
    from lineprof.model.profile import Profile
    from lineprof.report import advice_sarif
    from lineprof.report.columns import Columns
    from lineprof.report.options import Options
    from lineprof.source import Sources
else:
    advice_sarif = Later("lineprof.report.advice_sarif")

_INDENT = "   "

_MIN_WIDTH = 30  # columns of a terminal; on less, sentences are not wrapped


def advice_of(profile: Profile, sources: Sources) -> Advice:
    """Return the findings of a profile, most costly first, and what is not known."""
    return advise(profile, sources, idle_sums)


def first_findings(profile: Profile, sources: Sources) -> list[Finding]:
    """Return the most costly findings about the program: of time, and of memory.

    Busy processors are about the machine. It takes 0.2 s for 3,230 functions on 113,000
    call paths, and up to 2 s more to parse the files of hot lines.
    """
    return first_of(profile, sources, idle_sums)


def brief(one: Finding, profile: Profile, terminal: Terminal) -> Iterator[str]:
    """Yield a finding as two sentences, without the text of its lines."""
    key, line = one.places[0]
    names = names_of_profile(profile)
    name = names.line(key[0], line) if line else names.function(key)
    yield from _wrapped(f"{one.kind} at {name}: {one.measured}", terminal)
    yield from _wrapped(one.advice, terminal, _INDENT)


def advice(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield each finding with its lines, and which kinds were not looked for."""
    found = advice_of(profile, sources)
    shown = _shown(found, options)
    if options.sarif:
        yield from advice_sarif.log_of(found, shown, profile, sources)
        return
    if found.findings:
        last = [one for one in found.findings if one.kind == BUSY_PROCESSORS]
        head = (
            f"{counted(len(found.findings), 'finding')}, the most time first"
            f"{', the machine last' if last else ''}; shares are of the run,"
            f" {in_words(found.run_ns)}, and overlap"
        )
        if len(found.findings) == 1:
            whole = f"the run, {in_words(found.run_ns)}"
            if found.findings[0].cost_bytes:
                whole = "the peak of the memory"
            head = f"1 finding; its share is of {whole}"
        elif any(one.cost_bytes for one in found.findings):
            head += "; those of memory are of its peak"
    else:
        head = _nothing(found)
    yield from _wrapped(head, options.terminal)
    names = names_of_profile(profile)
    marks = Marks(profile)
    for number, one in enumerate(shown, 1):
        yield ""
        head = f"{number}. {one.kind}: {_cost(one)}"
        yield options.terminal.emphasized(options.terminal.clipped(head, 0))
        yield from _places(one, names, marks, sources, options.terminal)
        yield from _wrapped(one.measured, options.terminal, _INDENT)
        yield from _wrapped(one.advice, options.terminal, _INDENT)
    yield from more_rows(len(found.findings) - len(shown))
    if found.findings and found.unchecked:
        yield ""
        yield from _wrapped(f"Not looked for: {unchecked_of(found)}", options.terminal)
    if found.missing:
        yield ""
        for text in found.missing:
            yield from _wrapped(f"{text[:1].upper()}{text[1:]}", options.terminal)


def _cost(one: Finding) -> str:
    """Return the time, or the bytes, that a finding is about, and its share."""
    cost = in_bytes(one.cost_bytes) if one.cost_bytes else in_words(one.cost_ns)
    return f"{cost}, {percent(one.share)}"


def advice_notes(profile: Profile, _: Options) -> Iterator[str]:
    """Yield what the marks of functions mean."""
    yield from Marks(profile).note()


def rows(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the findings for other programs."""
    found = advice_of(profile, sources)
    shown = _shown(found, options)
    totals = {
        "run_ns": found.run_ns,
        "unchecked": [
            {"kind": kind, "reason": reason} for kind, reason in found.unchecked
        ],
        "missing": [*found.missing],
    }
    more = len(found.findings) - len(shown)
    return rows_of(_FINDINGS, shown, sources, more=more, totals=totals)


def _place(place: Line) -> dict[str, object]:
    (file, first_line, function), line = place
    return {
        "file": file,
        "function": function,
        "function_line": first_line,
        "line": line or None,
    }


_FINDINGS: Columns = {
    "kind": Column(WORDS),
    "place": Column(PLACE, value=lambda one: one.places[0]),
    "cost_ns": Column(NS),
    "share": Column(SHARE),
    "measured": Column(WORDS),
    "advice": Column(WORDS),
    "numbers": Column(DATA, value=lambda one: dict(one.numbers)),
    "places": Column(DATA, value=lambda one: [*map(_place, one.places)]),
    "source": Column(SOURCE, value=lambda one: one.places[0]),
}


def _shown(found: Advice, options: Options) -> list[Finding]:
    return limited(found.findings, options, lambda one: one.share, 1.0)


def _nothing(found: Advice) -> str:
    """Return what was looked for, and why the rest was not."""
    text = f"No finding: looked for {', '.join(found.checked) or 'nothing'}"
    return f"{text}; not for {unchecked_of(found)}" if found.unchecked else text


def unchecked_of(found: Advice) -> str:
    """Return the kinds that were not looked for, by reason."""
    by_reason: dict[str, list[str]] = {}
    for kind, reason in found.unchecked:
        by_reason.setdefault(reason, []).append(kind)
    return "; ".join(
        f"{', '.join(kinds)} ({reason})" for reason, kinds in by_reason.items()
    )


def _places(
    one: Finding, names: ShortNames, marks: Marks, sources: Sources, terminal: Terminal
) -> Iterator[str]:
    """Yield the lines that a finding is about, with their text."""
    cells = []
    for key, line in one.places:
        name = names.line(key[0], line) if line else names.function(key)
        text = sources.line(key[0], line) if line else None
        mark = marks.after(key)
        cells.append((terminal.clean(name + mark), (text or "").rstrip()))
    if isinstance(terminal, markdown.Document):
        yield from grid(["Line", SOURCE_TITLE], cells, terminal, words=2)
        return
    width = max(len(name) for name, _ in cells)
    for name, text in cells:
        yield terminal.clipped(f"{_INDENT}{name.ljust(width)}  {text}".rstrip(), 0)


def _wrapped(text: str, terminal: Terminal, indent: str = "") -> list[str]:
    """Return a sentence as lines that fit the terminal."""
    text = f"{indent}{terminal.clean(text)}"
    if terminal.width is None or terminal.width < _MIN_WIDTH:
        return [text]
    return wrap(
        text,
        terminal.width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
