"""Reports of served profiles, rendered once for each change of their files.

A report is of one profile, or compares two.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from lineprof.files import encoded
from lineprof.server.profiles import ReadingError, problem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lineprof.server.profiles import FileState, ServedProfile

    Subject = tuple[ServedProfile, ...]  # one profile, or those before and after

    # Returns the lines of the report of a subject, or raises ReadingError.
    Render = Callable[[Subject], Iterable[str]]

_NS_PER_MS = 1_000_000

_MAX_KEPT = 1 << 28  # bytes of reports in memory; the last one used always stays
_MAX_KNOWN = 10_000  # subjects


class Status(NamedTuple):
    """What the script of a page has to know of its profile."""

    revision: str = ""  # of the last good report; "" if there was none
    written: int = 0  # when its (later) profile was written: ms since the epoch
    problem: str = ""  # why the file as it is now cannot be shown
    busy: bool = False  # another request is reading the file


class _Rendering:
    """The last good report of one subject."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.lock = threading.Lock()  # held while the files are read
        self.seen: list[FileState] = []  # the states that were read last
        self.status = Status()
        self.body = b""  # b"" if there is none, or if memory was short


class Renderings:
    """Reports by the ids of their profiles.

    One report is made at a time, because each may need much memory.
    """

    def __init__(self, render: Render) -> None:
        """Take the function that renders a report."""
        self._render = render
        self._reading = threading.Lock()
        self._guard = threading.Lock()  # of the mapping
        self._all: OrderedDict[Subject, _Rendering] = OrderedDict()

    def status(self, subject: Subject) -> Status:
        """Return the status of a subject, whose files are read if one has changed.

        While another request reads the files, the status is the one before.
        """
        one = self._of(subject)
        if not one.lock.acquire(blocking=False):
            return one.status._replace(busy=True)
        try:
            self._update(one)
            return one.status
        finally:
            one.lock.release()

    def report(self, subject: Subject) -> bytes:
        """Return the last good report of a subject; b"" if there is none."""
        one = self._of(subject)
        with one.lock:
            if not one.body:
                one.seen = []  # also read again what has not changed
                self._update(one)
            return one.body

    def _of(self, subject: Subject) -> _Rendering:
        with self._guard:
            one = self._all.setdefault(subject, _Rendering(subject))
            self._all.move_to_end(subject)
            if len(self._all) > _MAX_KNOWN:
                self._all.popitem(last=False)
            return one

    def _update(self, one: _Rendering) -> None:
        """Render the report of a subject if a file has changed; its lock is held."""
        # Before the files are read: a later change is seen as one.
        states = [profile.state() for profile in one.subject]
        found = [state for state in states if state is not None]
        if len(found) < len(states):
            gone = one.subject[states.index(None)]
            one.seen = []
            when = "any more" if one.status.revision else "yet"
            problem = f"{gone.name} is not there {when}"
            one.status = one.status._replace(problem=problem)
            return
        if found == one.seen:
            return
        try:
            with self._reading:
                body = b"".join(encoded(self._render(one.subject)))
        except ReadingError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001  # the server goes on in any case
            problem = problem_of(one.subject[-1], error)
        else:
            one.body, problem = body, ""
            written_ns = max(state.written_ns for state in found)
            revision = "-".join(state.revision for state in found)
            one.status = Status(revision, written_ns // _NS_PER_MS)
            self._make_room(one)
        one.seen = found
        one.status = one.status._replace(problem=problem)

    def _make_room(self, newest: _Rendering) -> None:
        """Drop the bodies of reports that were not asked for the longest."""
        with self._guard:
            size = sum(len(one.body) for one in self._all.values())
            for one in self._all.values():
                if size <= _MAX_KEPT:
                    return
                if one is not newest:
                    size -= len(one.body)
                    one.body = b""
