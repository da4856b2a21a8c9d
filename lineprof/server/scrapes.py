"""pprof of served profiles: all counts of a run, or those of the next seconds.

Memory alone is another file, as of programs in Go.

The second is the difference of two readings. Readings are shared by all who ask, and
each who asks keeps the one with which its window began, so windows may overlap.

A scraper of Pyroscope asks for one second less than the interval between its requests
(`seconds` in grafana/alloy, internal/component/pyroscope/scrape/target.go). So that its
windows follow one another without a gap, a window begins where one of the same length
has just ended, and each end begins one window: scrapers that ask by turns do not take
those of others. The first window begins with the last reading if that is as new. Start
and length of a window tell what it spans.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.difference import difference
from lineprof.model.profile import Profile
from lineprof.server import pages
from lineprof.server.profiles import ReadingError, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lineprof.server.pages import Answer
    from lineprof.server.profiles import FileState, Profiles, ServedProfile

    # Waits so many seconds; returns "", or at once why the wait has ended.
    Wait = Callable[[float], str]

    Query = Mapping[str, Sequence[str]]

PLACE = "/debug/pprof"  # as that of Go's net/http/pprof

_HEAP = "/heap"

_FILES = {"/profile": "profile.pb.gz", _HEAP: "heap.pb.gz"}  # names, by path

_NO_MEMORY = "Memory was not measured: kernprof -l --memory does."

_MAX_SECONDS = 3600
_MAX_DIGITS = 9

_REUSED = 2.0  # s: a window begins with a reading that is at most so old

_MAX_KEPT = 4  # readings that wait for another window

_BAD_REQUEST, _NOT_FOUND, _UNAVAILABLE = 400, 404, 503


class Sources(NamedTuple):
    """Functions that read profiles, and that write them as pprof."""

    # Of the path of a profile: what its run has counted so far, if that goes on; the
    # profile in the file. Both raise LineprofError.
    running: Callable[[str], Profile | None]
    saved: Callable[[str], Profile]
    pprof: Callable[[Profile], bytes]
    heap: Callable[[Profile], bytes]  # its memory alone


class Reading(NamedTuple):
    """A profile as it was at one time."""

    profile: Profile
    at_ns: int  # since the epoch: up to when it counts
    taken: float  # when it was read, by the monotonic clock (s)
    state: FileState | None  # of the file that it was read from; None: of the program


class _End(NamedTuple):
    """The end of a window, with which the next one of its scraper begins."""

    profile_id: str
    seconds: int
    known: float  # when its reading was there, by the monotonic clock (s)
    reading: Reading


class Scrapes:
    """Answers to scrapers."""

    def __init__(self, profiles: Profiles, sources: Sources) -> None:
        """Take the profiles, and how they are read."""
        self._profiles = profiles
        self._sources = sources
        # One is read and one is written at a time, because each may be large.
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._kept: OrderedDict[str, Reading] = OrderedDict()
        self._ends: list[_End] = []  # the oldest first

    def answer(self, path: str, query: Query, wait: Wait | None) -> Answer:
        """Return the answer to a request below `PLACE`.

        `wait` is None if only the headers are asked for.
        """
        if path in {"", "/"}:
            return self._index()
        if path not in _FILES:
            return pages.no_such_page()
        try:
            seconds = _seconds(query.get("seconds", []))
            profile = self._asked(query.get("profile", []))
            if seconds and wait:
                found = self._window(profile, seconds, wait)
            else:
                found = self._read(profile, since=time.monotonic()).profile
            if path == _HEAP and not found.memory.runs and not seconds:
                raise _RefusedError(_NOT_FOUND, _NO_MEMORY)  # noqa: TRY301
        except _RefusedError as error:
            return pages.text(error.status, str(error))
        except ReadingError as error:
            return pages.text(_UNAVAILABLE, str(error))
        write = self._sources.heap if path == _HEAP else self._sources.pprof
        with self._writing:
            return pages.download(_FILES[path], write(found))

    def _asked(self, names: Sequence[str]) -> ServedProfile:
        """Return the profile that a request names, or the newest one."""
        if len(names) > 1:
            raise _RefusedError(_BAD_REQUEST, "A request gets one profile.")
        found = self._profiles.named(names[0]) if names else self._profiles.newest()
        if found is None:
            raise _RefusedError(_NOT_FOUND, "There is no such profile.")
        return found

    def _index(self) -> Answer:
        """Return what there is, for people."""
        lines = [
            f"{PLACE}/profile is the profile so far, for go tool pprof and scrapers;",
            "?seconds=N gives what is counted in the next N seconds.",
            f"{PLACE}{_HEAP} is the memory of the program, if that is measured.",
        ]
        if self._profiles.only is None:
            lines.append("?profile=ID, or a name, chooses one; default: the newest.")
            lines += [
                f"{row.profile.id}  {row.profile.name}"
                for row in self._profiles.listing().rows
            ]
        return pages.text(200, "\n".join(lines))

    def _window(self, profile: ServedProfile, seconds: int, wait: Wait) -> Profile:
        """Return what is counted from now on, for so many seconds."""
        now = time.monotonic()
        before = self._last_end(profile.id, seconds, since=now - _REUSED)
        before = before or self._read(profile, since=now - _REUSED)
        if why := wait(seconds):
            raise _RefusedError(_UNAVAILABLE, why)
        after = self._read(profile, since=now + seconds)
        # A program was read as it wrote the profile, which ends before that.
        after = after._replace(at_ns=max(before.at_ns, after.at_ns))
        with self._lock:
            self._ends.append(_End(profile.id, seconds, time.monotonic(), after))
        return _counted(before, after)

    def _last_end(self, profile_id: str, seconds: int, since: float) -> Reading | None:
        """Take the first end since then of a window of that profile and length."""
        with self._lock:
            self._ends = [one for one in self._ends if one.known >= since]
            for index, one in enumerate(self._ends):
                if (one.profile_id, one.seconds) == (profile_id, seconds):
                    return self._ends.pop(index).reading
        return None

    def _read(self, profile: ServedProfile, since: float) -> Reading:
        """Return a reading from `since` on (s, by the monotonic clock)."""
        with self._lock, reading(profile):
            kept = self._kept.get(profile.id)
            if kept is None or kept.taken < since:
                kept = self._new(profile, kept)
            self._kept[profile.id] = kept
            self._kept.move_to_end(profile.id)
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
            return kept

    def _new(self, profile: ServedProfile, kept: Reading | None) -> Reading:
        """Read a profile; a file that is unchanged since `kept` is not read again."""
        taken = time.monotonic()
        state = profile.state()
        if state is None and not profile.follows_links:
            raise FileNotFoundError
        at_ns = time.time_ns()  # a large profile takes seconds from here on
        running = self._sources.running(profile.path)
        if running is not None:
            return Reading(running, at_ns, taken, None)
        if kept and state is not None and state == kept.state:
            return kept._replace(taken=taken)
        saved = self._sources.saved(profile.path)
        ends = [one.start_unix_ns + one.wall_ns for one in saved.processes]
        at_ns = max(ends, default=state.written_ns if state else at_ns)
        return Reading(saved, at_ns, taken, state)


class _RefusedError(Exception):
    """A request that is not answered with a profile."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _seconds(words: Sequence[str]) -> int:
    """Return the seconds that a request names, 0 if it names none.

    The first ones count, as in Go: Alloy adds the same again for each target if its
    `params` are set.
    """
    if not words:
        return 0
    word = words[0]
    is_number = word.isascii() and word.isdigit() and len(word) <= _MAX_DIGITS
    if not is_number or not 1 <= int(word) <= _MAX_SECONDS:
        message = f"seconds is a whole number from 1 to {_MAX_SECONDS}."
        raise _RefusedError(_BAD_REQUEST, message)
    return int(word)


def _counted(before: Reading, after: Reading) -> Profile:
    """Return what was counted between two readings, as a profile of that time.

    If the second is of a later run, that is all of it. One of an earlier run, which
    goes on, or of which the file was put back, was counted before.
    """
    if before.profile is after.profile and not after.profile.processes:
        return Profile.from_functions(())  # the same file, of no known run
    counted = difference(before.profile, after.profile)
    if counted is None:
        is_earlier = _start_ns(after.profile) < _start_ns(before.profile)
        return Profile.from_functions(()) if is_earlier else after.profile
    wall_ns = max(0, after.at_ns - before.at_ns)
    return counted.with_processes(
        one._replace(start_unix_ns=before.at_ns, wall_ns=wall_ns)
        for one in counted.processes
    )


def _start_ns(profile: Profile) -> int:
    """Return when a run began (ns since the epoch), 0 if that is unknown."""
    return min((one.start_unix_ns for one in profile.processes), default=0)
