"""Sums as weighted stacks, for speedscope."""

from __future__ import annotations

from lineprof.exports.speedscope_frames import BY_FUNCTION, BY_LINE, SpeedscopeProfile
from lineprof.exports.stacks import gpu_stacks as stacks_of_gpu
from lineprof.exports.stacks import ways
from lineprof.gpu_records import NO_DEVICE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lineprof.exports.pieces import Pieces
    from lineprof.exports.speedscope_frames import Frames
    from lineprof.exports.stacks import Frame
    from lineprof.stats import Profile


class _Numbers(dict["Frame", str]):
    """The number of each frame and a comma, as text: made when first asked for."""

    def __init__(self, number: Callable[[Frame], int]) -> None:
        super().__init__()
        self._number = number

    def __missing__(self, frame: Frame) -> str:
        text = self[frame] = f"{self._number(frame)},"
        return text


def stacks(
    stats: Profile, frames: Frames, pieces: Pieces
) -> Iterator[SpeedscopeProfile]:
    """Yield each thread's profiles, once all their stacks are in `pieces`."""
    totals: dict[int, int] = {}  # ns, by thread
    functions = _Numbers(lambda frame: frames.lines(frame[0])[0])
    lines = _Numbers(lambda frame: frames.lines(frame[0])[frame[1]])
    for way in ways(stats):
        key, thread, callers = way.function, way.thread, way.callers
        timed = [(line, ns) for line, ns, _ in way.lines if ns]
        if not timed:
            continue
        total = sum([ns for _, ns in timed])
        totals[thread] = totals.get(thread, 0) + total
        own = frames.lines(key)
        place = (thread, BY_FUNCTION)
        before = "".join(map(functions.__getitem__, callers))
        pieces.add((place, "samples"), f",[{before}{own[0]}]")
        pieces.add((place, "weights"), f",{total}")
        place = (thread, BY_LINE)
        before = "".join(map(lines.__getitem__, callers))
        samples = [f",[{before}{own[number]}]" for number, _ in timed]
        pieces.add((place, "samples"), "".join(samples))
        pieces.add((place, "weights"), "".join([f",{ns}" for _, ns in timed]))
    for what in (BY_FUNCTION, BY_LINE):
        for thread, total in sorted(totals.items()):
            place = (thread, what)
            yield SpeedscopeProfile(
                place, what, 0, total, is_evented=False, thread=thread
            )


def gpu_stacks(
    stats: Profile, frames: Frames, pieces: Pieces
) -> Iterator[SpeedscopeProfile]:
    """Yield the profiles of devices, by the lines that launched their work."""
    totals: dict[tuple[int, str], int] = {}
    for stack in stacks_of_gpu(stats):
        for what, ns in (("GPU time", stack.gpu_ns), ("copies", stack.copy_ns)):
            if ns:
                place = (stack.device, what)
                totals[place] = totals.get(place, 0) + ns
                lines = [frames.lines(key)[line] for key, line in stack.frames]
                numbers = [*lines, frames.named(stack.work)]
                text = ",".join(map(str, numbers))
                pieces.add((("gpu", place), "samples"), f",[{text}]")
                pieces.add((("gpu", place), "weights"), f",{ns}")
    for place, total in sorted(totals.items()):
        index, what = place
        name = "Device"
        if index != NO_DEVICE:
            device = stats.gpu.devices[index]
            name = f"{device.name} ({device.device})"
            if len(stats.processes) > 1:
                name += f" of process {stats.processes[device.process].pid}"
        what = f"{what} {BY_LINE}"
        yield SpeedscopeProfile(
            ("gpu", place), what, 0, total, is_evented=False, name=name
        )
