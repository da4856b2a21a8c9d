"""A trace as events in time order, for speedscope."""

from __future__ import annotations

from lineprof.exports.speedscope_frames import BY_FUNCTION, BY_LINE, SpeedscopeProfile
from lineprof.exports.timeline_clock import Clock
from lineprof.exports.timeline_slices import MOST_DEEP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from lineprof.exports.pieces import Pieces
    from lineprof.exports.speedscope_frames import Frames
    from lineprof.stats import Profile


def events(
    stats: Profile, frames: Frames, pieces: Pieces
) -> Iterator[SpeedscopeProfile]:
    """Yield each thread's profiles, once all their events are in `pieces`."""
    clock = Clock(stats)
    cut = frames.named("...")
    found: dict[tuple[int, str], _Open] = {}
    for trace in stats.traces:
        zero = clock.zero_of(trace)
        for one in trace:
            start, line, key = zero + one.start_ns, one.line, one.function
            frame = frames.lines(key)[line]
            for what in (BY_LINE,) if line else (BY_FUNCTION, BY_LINE):
                place = (one.thread, what)
                if place not in found:
                    found[place] = _Open((place, "events"), pieces, start, cut)
                found[place].open(start, start + one.ns, frame)
    for what in (BY_FUNCTION, BY_LINE):
        for place in sorted(one for one in found if one[1] == what):
            track = found[place]
            track.close()
            yield SpeedscopeProfile(
                place, what, track.first, track.last, is_evented=True, thread=place[0]
            )


class _Open:
    """What is open on one thread; what opens and closes goes to `pieces`."""

    def __init__(self, key: Hashable, pieces: Pieces, first: int, cut: int) -> None:
        self.first = self.last = first  # ns
        self._key = key
        self._pieces = pieces
        self._cut = cut
        self._open: list[tuple[int, int]] = []  # end, frame

    def open(self, start: int, end: int, frame: int) -> None:
        """Open a frame at `start`, and close before what has ended by then."""
        self._close_until(start)
        now = self._open
        if now and end > now[-1][0]:
            end = now[-1][0]
        if len(now) > MOST_DEEP:
            return
        if len(now) == MOST_DEEP:
            frame = self._cut
        now.append((end, frame))
        self._say("O", start, frame)

    def close(self) -> None:
        """Close all."""
        self._close_until(self._open[0][0] if self._open else 0)

    def _close_until(self, at: int) -> None:
        now = self._open
        while now and now[-1][0] <= at:
            end, frame = now.pop()
            self._say("C", end, frame)
            self.last = end

    def _say(self, kind: str, at: int, frame: int) -> None:
        self._pieces.add(self._key, f',{{"type":"{kind}","at":{at},"frame":{frame}}}')
