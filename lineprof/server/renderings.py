"""Reports of served profiles, rendered once for each change of their files."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import LineprofError
from lineprof.files import encoded
from lineprof.server.profiles import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lineprof.server.profiles import FileState, ServedProfile

    # Returns the lines of the report of the profile at a path, or raises LineprofError.
    Render = Callable[[str], Iterable[str]]

_NS_PER_MS = 1_000_000

_MAX_KEPT = 1 << 28  # bytes of reports in memory; the last one used always stays


class Status(NamedTuple):
    """What the script of a page has to know of its profile."""

    revision: str = ""  # of the last good report; "" if there was none
    written: int = 0  # when its profile was written: ms since the epoch
    problem: str = ""  # why the file as it is now cannot be shown
    busy: bool = False  # another request is reading the file


class _Rendering:
    """The last good report of one profile."""

    def __init__(self, profile: ServedProfile) -> None:
        self.profile = profile
        self.lock = threading.Lock()  # held while the file is read
        self.seen: FileState | None = None  # the state that was read last
        self.status = Status()
        self.body = b""  # b"" if there is none, or if memory was short


class Renderings:
    """Reports by the id of their profile.

    One profile is read at a time, because each may need much memory.
    """

    def __init__(self, render: Render) -> None:
        """Take the function that renders a report."""
        self._render = render
        self._reading = threading.Lock()
        self._guard = threading.Lock()  # of the mapping
        self._all: OrderedDict[str, _Rendering] = OrderedDict()

    def status(self, profile: ServedProfile) -> Status:
        """Return the status of a profile, whose file is read if it has changed.

        While another request reads the file, the status is the one before.
        """
        one = self._of(profile)
        if not one.lock.acquire(blocking=False):
            return one.status._replace(busy=True)
        try:
            self._update(one)
            return one.status
        finally:
            one.lock.release()

    def report(self, profile: ServedProfile) -> bytes:
        """Return the last good report of a profile; b"" if there is none."""
        one = self._of(profile)
        with one.lock:
            if not one.body:
                one.seen = None  # also read again what has not changed
                self._update(one)
            return one.body

    def _of(self, profile: ServedProfile) -> _Rendering:
        with self._guard:
            one = self._all.setdefault(profile.id, _Rendering(profile))
            self._all.move_to_end(profile.id)
            return one

    def _update(self, one: _Rendering) -> None:
        """Render the report of a file if that has changed; its lock is held."""
        state = one.profile.state()  # before it is read: a later change is seen as one
        name = one.profile.name
        if state is None:
            one.seen = None
            one.status = one.status._replace(problem=f"{name} is not there any more")
            return
        if state == one.seen:
            return
        try:
            with self._reading:
                body = b"".join(encoded(self._render(one.profile.path)))
        except LineprofError as error:
            problem = shown(str(error)).replace(shown(one.profile.path), name)
        except Exception as error:  # noqa: BLE001  # the server goes on in any case
            problem = f"{name} cannot be shown: {type(error).__name__}"
        else:
            one.body, problem = body, ""
            one.status = Status(state.revision, state.written_ns // _NS_PER_MS)
            self._make_room(one)
        one.seen = state
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
