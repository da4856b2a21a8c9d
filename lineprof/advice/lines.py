"""Findings about single lines: waits, uneven executions, imports, ranks, the kernel."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from lineprof.advice.finding import Evidence, Finding, Line, counted, in_words
from lineprof.advice.source_trees import head_parts
from lineprof.model.collectives import is_collective
from lineprof.model.own_waits import min_waits
from lineprof.model.rank_lines import WHOLE, ranks_of
from lineprof.model.rank_spread import LineSpread, line_spreads
from lineprof.model.records import (
    GIL,
    IO,
    LOCK,
    OTHER,
    RUNNABLE,
    SLEEP,
    called_functions,
)
from lineprof.model.time_split import line_time_splits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.profile import Profile
    from lineprof.model.records import Ranks

WAITING, BUSY_PROCESSORS = "waiting", "busy-processors"
UNEVEN_LINE, IMPORT = "uneven-line", "import"
IMBALANCE, SYSTEM_TIME = "imbalance", "system-time"

# Of the run: what a user would change a program for.
MIN_LINE_SHARE = 0.1

# How often the mean of the others is in the longest execution of an uneven line: data
# of different sizes differ by less.
MIN_TIMES_MEAN = 100

# Of the run, in lost time of all ranks: less is in the spread of their run times.
MIN_LOST_SHARE = 0.05

_OF_SAMPLER = 0.05  # of a run: CPU time of the thread that samples waits, at most

_SAME_PART = 0.5  # of a line's time: then its callee has the finding in its place

_FOR = {
    GIL: "the interpreter's lock, which another thread held",
    LOCK: "a lock",
    SLEEP: "the end of a sleep",
    IO: "input or output",
    OTHER: "something else that the kernel does not tell",
}
_HELPS_WAITS = {
    GIL: (
        "It usually helps to move work of the other threads into processes, or into"
        " calls that release the lock."
    ),
    LOCK: (
        "It usually helps to hold the lock for a shorter time, or to give each thread"
        " its own data; a thread that waits for work costs nothing."
    ),
    SLEEP: "It usually helps to wait for the event itself instead of sleeping.",
    IO: (
        "It usually helps to read or write more at a time, to keep what was read, or to"
        " have several requests under way at once."
    ),
    OTHER: (
        "It usually helps to do other work in the meantime, in another thread or"
        " process."
    ),
}


def _subject(evidence: Evidence, line: Line) -> tuple[tuple[Line, ...], str]:
    """Return the lines of a finding about a line, and how its sentence begins.

    A line of an installed package comes after that of the program that leads to it.
    """
    own = evidence.leading_to(line)
    if own is None or own == line:
        return (line,), "This line itself"
    return (own, line), "The second line, to which the first one leads,"


# Waits.

# Calls by which a line waits for another thread or process of the program.
_JOINS = frozenset(
    (
        *("as_completed", "gather", "get", "imap", "imap_unordered", "join", "map"),
        *("result", "shutdown", "starmap", "wait"),
    )
)
_RUNS_A_CHILD = frozenset(("call", "check_call", "check_output", "communicate", "run"))
_RUNS_A_LOOP = frozenset(("run_forever", "run_until_complete"))


def _called(evidence: Evidence, line: Line) -> set[str]:
    """Return the names of what a line calls, also as ``module.name``."""
    tree = evidence.trees.of(line[0][0])
    found: set[str] = set()
    for node, _ in tree.statements_on(line[1]) if tree else ():
        for part in head_parts(node):
            for one in ast.walk(part):
                if isinstance(one, ast.Call) and isinstance(one.func, ast.Name):
                    found.add(one.func.id)
                elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
                    of = one.func.value
                    module = f"{of.id}." if isinstance(of, ast.Name) else ""
                    found |= {one.func.attr, f"{module}{one.func.attr}"}
    return found


def _works_meanwhile(profile: Profile) -> bool:
    """Return whether other threads or processes of the program have lines."""
    return len(profile.threads) > 1 or len(profile.processes) > 1


def _helps(cause: str, called: set[str]) -> str:
    """Return what usually helps against a wait of a line that calls some functions."""
    if called & {*_RUNS_A_LOOP, "asyncio.run", "anyio.run", "trio.run"}:
        return (
            "No task of the event loop could run meanwhile: it usually helps to start"
            " tasks that do not need one another at the same time."
        )
    if any(f"subprocess.{one}" in called for one in _RUNS_A_CHILD):
        return (
            "The line waits for another program: it usually helps to have several at"
            " work at once, or to do the work in this process."
        )
    return _HELPS_WAITS.get(cause, _HELPS_WAITS[OTHER])


def waiting_lines(evidence: Evidence) -> Iterator[Finding]:
    """Yield the lines that waited for a large part of the run themselves.

    Waits for a processor are not those of a line: see `busy_processors`.
    """
    profile = evidence.profile
    min_ns = MIN_LINE_SHARE * evidence.run_ns
    sums: Counter[Line] = Counter()
    for wait in profile.waits:
        if wait.cause != RUNNABLE:
            sums[wait.function, wait.line] += wait.ns
    hot = [line for line, ns in sums.items() if ns > min_ns]
    for line, every in min_waits(profile, hot, evidence.edges).items():
        causes = {cause: ns for cause, ns in every.items() if cause != RUNNABLE}
        ns = sum(causes.values())
        if ns <= min_ns or line[0] not in evidence.functions:
            continue
        most = max(causes, key=lambda cause: causes[cause])
        called = _called(evidence, line)
        if most in {LOCK, OTHER} and called & _JOINS and _works_meanwhile(profile):
            continue  # for other lines of the program, which have the time
        places, subject = _subject(evidence, line)
        parts = ", ".join(
            f"{in_words(causes[cause])} for {_FOR.get(cause, cause)}"
            for cause in sorted(causes, key=lambda cause: -causes[cause])
        )
        yield Finding(
            kind=WAITING,
            places=places,
            cost_ns=ns,
            share=evidence.share(ns),
            numbers=(
                *(("wait_ns", ns), ("cause", most), ("hits", evidence.hits(line))),
                *((f"{cause}_ns", causes[cause]) for cause in causes),
            ),
            measured=(
                f"{subject} was off the processor for {in_words(ns)} or more,"
                f" {evidence.of_run(ns)}: {parts}."
            ),
            advice=_helps(most, called),
        )


def busy_processors(evidence: Evidence) -> Iterator[Finding]:
    """Yield how long all lines together waited for a processor, if that was long."""
    profile = evidence.profile
    min_ns = MIN_LINE_SHARE * evidence.run_ns
    ready = [one for one in profile.waits if one.cause == RUNNABLE]
    if sum(one.ns for one in ready) <= min_ns:
        return
    lines = dict.fromkeys((one.function, one.line) for one in ready)
    waits = {
        line: causes.get(RUNNABLE, 0)
        for line, causes in min_waits(profile, lines, evidence.edges).items()
        if line[0] in evidence.functions
    }
    ns = sum(waits.values())
    if ns <= min_ns:
        return
    own = [line for line in waits if evidence.is_own(line[0])] or waits
    longest = max(own, key=lambda line: waits[line])
    alone = _has_one_thread(profile, ns)
    yield Finding(
        kind=BUSY_PROCESSORS,
        places=(longest,),
        cost_ns=ns,
        share=evidence.share(ns),
        numbers=(
            *(("ready_ns", ns), ("lines", sum(1 for one in waits.values() if one))),
            ("longest_line_ns", waits[longest]),
        ),
        measured=(
            f"All lines together were ready to run for {in_words(ns)} or more,"
            f" {evidence.of_run(ns)}, while other {'programs' if alone else 'work'} had"
            f" the processors; {in_words(waits[longest])} of it on this line."
        ),
        advice=(
            "No change of the program helps here: measure again when the machine is"
            " less busy, before you compare times of two runs."
            if alone
            else "It usually helps to start fewer threads or processes, or to use"
            " processors that are less busy; times of a busy machine are not those of"
            " another run."
        ),
    )


def _has_one_thread(profile: Profile, ready_ns: int) -> bool:
    """Return whether a program ran in one thread, as far as its profile tells.

    `ready_ns` is how long that was ready to run. CPU time of other threads, such as
    those of C libraries, would not fit beside it into the run.
    """
    if len(profile.processes) != 1 or len(profile.threads) > 1:
        return False
    [process] = profile.processes
    spare_ns = _OF_SAMPLER * process.wall_ns
    return (process.cpu_ns or 0) + ready_ns <= process.wall_ns + spare_ns


# Lines of which one execution took the most time.


class _Uneven(NamedTuple):
    line: Line
    hits: int
    min_ns: int
    max_ns: int
    others_ns: float  # the mean of the others


def uneven_lines(evidence: Evidence) -> Iterator[Finding]:
    """Yield the lines of which one execution took far longer than all others.

    Those that waited are left out: see `waiting_lines`.
    """
    found = [*_uneven(evidence)]
    waits = min_waits(evidence.profile, [one.line for one in found], evidence.edges)
    found = [
        one
        for one in found
        if sum(waits.get(one.line, {}).values()) < _SAME_PART * one.max_ns
    ]
    keys = {one.line[0] for one in found}
    for one in found:
        if not evidence.leads_to([one.line], _SAME_PART * one.max_ns, keys):
            yield _of_uneven(evidence, one)


def _uneven(evidence: Evidence) -> Iterator[_Uneven]:
    min_ns = MIN_LINE_SHARE * evidence.run_ns
    for function in evidence.profile.functions:
        key = function.key
        if evidence.recursed(key) or not any(
            cell.max_ns is not None and cell.max_ns > min_ns
            for cell in function.thread_lines
        ):
            continue
        for row in evidence.lines(key).values():
            if row.max_ns is None or row.min_ns is None or row.hits < 2:  # noqa: PLR2004  # one has no others
                continue
            own_ns = evidence.own_ns.get(key, {}).get(row.line, 0)
            if own_ns < _SAME_PART * row.max_ns:
                continue  # a function that it called did more at one time
            others_ns = max(0, row.time_ns - row.max_ns) / (row.hits - 1)
            if row.max_ns > min_ns and row.max_ns > MIN_TIMES_MEAN * others_ns:
                yield _Uneven(
                    line=(key, row.line),
                    hits=row.hits,
                    min_ns=row.min_ns,
                    max_ns=row.max_ns,
                    others_ns=others_ns,
                )


def _of_uneven(evidence: Evidence, one: _Uneven) -> Finding:
    mean_ns = round(one.others_ns)
    return Finding(
        kind=UNEVEN_LINE,
        places=(one.line,),
        cost_ns=one.max_ns,
        share=evidence.share(one.max_ns),
        numbers=(
            *(("hits", one.hits), ("min_ns", one.min_ns), ("max_ns", one.max_ns)),
            ("mean_of_others_ns", mean_ns),
        ),
        measured=(
            f"One of {one.hits:,} executions of this line took {in_words(one.max_ns)},"
            f" {evidence.of_run(one.max_ns)}; the others took {in_words(mean_ns)} on"
            f" average, the shortest {in_words(one.min_ns)}."
        ),
        advice=(
            "A first execution often imports, compiles or fills a cache: then it helps"
            " to do that once and keep it, or to leave it out of what is compared."
        ),
    )


# Imports.


def imports(evidence: Evidence) -> Iterator[Finding]:
    """Yield the import statements that took a large part of the run."""
    min_ns = MIN_LINE_SHARE * evidence.run_ns
    found: list[Line] = []
    for function in evidence.profile.functions:
        key = function.key
        is_short = function.total_ns <= min_ns
        if is_short or evidence.recursed(key) or not evidence.is_own(key):
            continue
        hot = [line for line, ns in function.line_ns.items() if ns > min_ns]
        for one in evidence.trees.statements(key) if hot else ():
            is_import = isinstance(one.node, (ast.Import, ast.ImportFrom))
            if is_import and one.is_alone and one.node.lineno in hot:
                found.append((key, one.node.lineno))
    keys = {key for key, _ in found}
    for key, line in found:
        ns = evidence.lines(key)[line].time_ns
        if not evidence.leads_to([(key, line)], _SAME_PART * ns, keys):
            yield _of_import(evidence, (key, line), ns)


def _of_import(evidence: Evidence, line: Line, ns: int) -> Finding:
    hits = evidence.hits(line)
    return Finding(
        kind=IMPORT,
        places=(line,),
        cost_ns=ns,
        share=evidence.share(ns),
        numbers=(("hits", hits), ("time_ns", ns)),
        measured=(
            f"This import took {in_words(ns)}, {evidence.of_run(ns)}, in"
            f" {counted(hits, 'execution')}, with all that it imported."
        ),
        advice=(
            "It usually helps to import a module in the function that needs it, if not"
            " every run does; python -X importtime lists what is imported."
        ),
    )


# Ranks.


def has_communication(profile: Profile) -> bool:
    """Return whether calls of MPI or of torch.distributed were recorded."""
    keys = {function.key for function in profile.functions}
    return any(map(is_collective, {*keys, *called_functions(profile.calls)}))


def known_ranks(profile: Profile) -> Ranks | None:
    """Return the ranks of a profile; None if there are no two to compare."""
    known = {one.rank for one in profile.processes} - {None}
    if not profile.ranks.runs and len(known) < 2:  # noqa: PLR2004  # one is alone
        return None
    ranks = ranks_of(profile)
    return ranks if len(ranks.runs) > 1 else None


def imbalances(evidence: Evidence) -> Iterator[Finding]:
    """Yield the lines for which ranks may have waited for the slowest one."""
    profile = evidence.profile
    ranks = known_ranks(profile) if has_communication(profile) else None
    if ranks is None:
        return
    for (key, line), spread in line_spreads(ranks).items():
        if line == WHOLE or key not in evidence.functions:
            continue
        is_long = spread.own.lost > MIN_LOST_SHARE * evidence.run_ns
        if is_long and not is_collective(key):
            yield _of_spread(evidence, spread)


def _of_spread(evidence: Evidence, spread: LineSpread) -> Finding:
    own = spread.own
    return Finding(
        kind=IMBALANCE,
        places=((spread.key, spread.line),),
        cost_ns=own.lost,
        share=evidence.share(own.lost),
        numbers=(
            *(("lost_ns", own.lost), ("max_ns", own.max), ("max_rank", own.max_rank)),
            *(("mean_ns", round(own.mean)), ("min_ns", own.min)),
            *(("ran_on", spread.ran), ("ranks", own.ranks)),
        ),
        measured=(
            f"Rank {own.max_rank} took {in_words(own.max)} on this line, without"
            f" communication and the profiled functions that it called; the mean of"
            f" {counted(own.ranks, 'rank')} is {in_words(own.mean)}, so that all"
            f" together they took {in_words(own.lost)} less than the slowest,"
            f" {evidence.of_run(own.lost)}."
        ),
        advice=(
            "It usually helps to give each rank an equal part of the work, or to let"
            " ranks that are done take more."
        ),
    )


# Time in the kernel.


def system_lines(evidence: Evidence) -> Iterator[Finding]:
    """Yield the lines that ran in the kernel for a large part of the run."""
    min_ns = MIN_LINE_SHARE * evidence.run_ns
    for key, lines in line_time_splits(evidence.profile).items():
        for line, split in lines.items():
            ns = split.system_ns
            if ns <= min_ns or key not in evidence.functions:
                continue
            hits = evidence.lines(key)[line].hits
            places, subject = _subject(evidence, (key, line))
            yield Finding(
                kind=SYSTEM_TIME,
                places=places,
                cost_ns=ns,
                share=evidence.share(ns),
                numbers=(("system_ns", ns), ("hits", hits), ("time_ns", split.time_ns)),
                measured=(
                    f"{subject} ran in the kernel for {in_words(ns)},"
                    f" {evidence.of_run(ns)}, in {counted(hits, 'execution')}."
                ),
                advice=(
                    "It usually helps to make fewer and larger calls of the system, or"
                    " to use memory again instead of allocating more."
                ),
            )
