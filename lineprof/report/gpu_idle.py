"""The view --gpu-idle: the lines that left a GPU idle, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from lineprof.console.output import python_command
from lineprof.errors import printable
from lineprof.model.gpu import BUSY_KINDS, missing_records, of_unknown_clock
from lineprof.model.gpu_idle import device_idle, has_launches
from lineprof.model.names import ShortNames, short_names
from lineprof.report.columns import (
    COUNT,
    DATA,
    NS,
    PLACE,
    SOURCE,
    SOURCE_TITLE,
    Column,
)
from lineprof.report.gpu_summary import why_nothing
from lineprof.report.limits import limited
from lineprof.report.rows import Rows, rows_of
from lineprof.report.text_grid import (
    Context,
    counted,
    in_words,
    more_rows,
    percent,
    table,
)
from lineprof.snapshot.arithmetic import idle_sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lineprof.model.gpu_idle import Causes, DeviceIdle, IdleLine
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.report.columns import Columns, Place
    from lineprof.report.options import Options
    from lineprof.source import Sources

_LEGEND = (
    "Python: the line computed. Wait: it waited for a lock, input, the GIL, another"
    " process or device. Sync: it was in a CUDA call that had nothing left to wait"
    " for. Launch: it had launched the next work, which had not begun."
)

_MIN_UNKNOWN = 0.01  # share of idle time; less is the imprecision of two clocks

_MIN_NOTED_NS = 10_000_000  # a shorter idle time is not worth a note

_ADOPTED_PARTS = 20  # a line is marked if more than one part in 20 is adopted

_EITHER = (
    "Python/Wait: it is not known whether the line ran or waited. A wait may have been"
    " in another part of the line, or in short lines before it."
)


class _Row(NamedTuple):
    """Idle time of one device because of a line, or of no known line."""

    device: DeviceIdle
    model: str  # of the device
    causes: Causes
    line: IdleLine | None = None

    @property
    def place(self) -> Place | None:
        """The line, or the function of lines too short for slices."""
        return (self.line.key, self.line.line) if self.line else None


def _label(row: _Row, names: ShortNames) -> str:
    """Return the name of a row's line."""
    if row.line is None:
        return "unattributed"
    mark = "~" if row.line.adopted_ns * _ADOPTED_PARTS > row.causes.total else ""
    if not row.line.line:
        return f"{mark}{names.function(row.line.key)}, short lines"
    return f"{mark}{names.line(row.line.key[0], row.line.line)}"


def _cause(name: str, title: str) -> Column:
    """Return the column of a cause."""
    return Column(NS, title, value=attrgetter(f"causes.{name}"), optional=True)


GPU_IDLE: Columns = {
    "process": Column(COUNT, value=lambda row: row.device.process),
    "device": Column(COUNT, value=lambda row: row.device.device),
    "name": Column(DATA, value=lambda row: row.model),
    "place": Column(PLACE, "Line", shown=_label),
    "idle_ns": Column(NS, "Idle", value=lambda row: row.causes.total),
    "inclusive_ns": Column(NS, value=lambda row: row.line and row.line.inclusive_ns),
    "computing_ns": _cause("computing", "Python"),
    "waiting_ns": _cause("waiting", "Wait"),
    "syncing_ns": _cause("syncing", "Sync"),
    "launching_ns": _cause("launching", "Launch"),
    "unknown_ns": Column(
        NS,
        "Python/Wait",
        value=lambda row: row.causes.unknown,
        # Of what is unattributed nothing is known but launches.
        shown=lambda row, _: row.causes.unknown if row.line else 0,
        optional=True,
    ),
    "adopted_ns": Column(NS, value=lambda row: row.line and row.line.adopted_ns),
    "source": Column(SOURCE, SOURCE_TITLE, value=lambda row: row.place),
}


def gpu_idle(profile: Profile, sources: Sources, options: Options) -> Iterator[str]:
    """Yield a table for each device."""
    yield from why_nothing(profile.gpu)
    devices = device_idle(profile, idle_sums)
    if profile.gpu.sums and profile.gpu.timelines and not devices:
        yield "No kernel, copy or memset was recorded"
    names = short_names(one.key for device in devices for one in device.lines)
    context = Context(terminal=options.terminal, names=names, sources=sources)
    for number, device in enumerate(devices):
        if number:
            yield ""
        yield _summary(profile, device)
        if device.idle_ns:
            yield ""
            yield from _table(profile, device, context, options)
    if any(device.idle_ns for device in devices):
        yield ""
        yield _LEGEND
        if any(map(_has_unknown, devices)):
            yield _EITHER


def idle_notes(profile: Profile, options: Options) -> Iterator[str]:
    """Yield what the numbers lack."""
    gpu = profile.gpu
    if options.csv:
        yield from why_nothing(gpu)
    if gpu.sums and not gpu.timelines:
        yield "the profile has no timeline of its GPUs, so idle time is not known"
        return
    cut = sum(run.left_out for run in gpu.runs)
    if cut:
        yield (
            f"the timeline was full: idle time is known up to the first of {cut}"
            " records that it lacks; kernprof -l --gpu-events N keeps more"
        )
    if any(one.kind in BUSY_KINDS for one in gpu.sums):
        yield from _causes_lack(profile)
    lacking = missing_records(gpu).work
    lacking += of_unknown_clock(gpu) + sum(run.unfinished for run in gpu.runs)
    if lacking:
        pieces = counted(lacking, "piece")
        yield f"the timeline lacks {pieces} of GPU work: a GPU may have been idle less"


def _causes_lack(profile: Profile) -> Iterator[str]:
    """Yield why idle time has no line although lines ran."""
    timelines = profile.gpu.timelines
    if not all(map(has_launches, timelines)):
        yield (
            "it is not known when work was launched, as in profiles of older versions:"
            " idle time has no causes"
        )
    known = {one.process for one in (*profile.traces, *profile.gpu.slices)}
    if any(one.process not in known for one in timelines):
        yield (
            "there are no slices of lines: no line took 30 us, or --no-trace was given;"
            " idle time before launches is unattributed"
        )
    left_out = sum(one.left_out for one in profile.gpu.slices)
    if left_out:
        yield (
            f"the memory of slices was full, {left_out} are missing: later idle time is"
            " unattributed; kernprof -l --trace --trace-memory MB keeps more"
        )


def idle_of_lines(profile: Profile, *, alone: bool) -> Mapping[Key, Counter[int]]:
    """Return the idle time (ns) of all devices that each line caused.

    It includes that of callees unless `alone`.
    """
    found: defaultdict[Key, Counter[int]] = defaultdict(Counter)
    for device in device_idle(profile, idle_sums):
        for one in device.lines:
            ns = one.causes.total if alone else one.inclusive_ns
            if one.line and ns:
                found[one.key][one.line] += ns
    return found


def idle_note(profile: Profile, options: Options, min_share: float) -> Iterator[str]:
    """Yield which line caused most of the idle time of a device.

    The device is the one that was idle for longest of those that were idle for a
    greater share of their time than `min_share`, 0 to 1.
    """
    devices = [
        one
        for one in device_idle(profile, idle_sums)
        if one.idle_ns > max(min_share * one.span_ns, _MIN_NOTED_NS)
    ]
    if not devices:
        return
    device = max(devices, key=lambda one: one.idle_ns)
    text = (
        f"Idle: {_name(profile, device)} for {percent(device.idle_ns, device.span_ns)}"
        " of the time between its first and last work"
    )
    worst = next(iter(device.lines), None)
    if worst is not None and worst.causes.total > device.unattributed.total:
        place = _label(_rows(profile, device, [worst])[0], short_names([worst.key]))
        text += f", {in_words(worst.causes.total)} of it because of {place}"
    yield f"{text}: {python_command()} -m lineprof view --gpu-idle {options.file}"


def _model(profile: Profile, device: DeviceIdle) -> str:
    """Return the name of the device's model; "" if it is not known."""
    at = (device.process, device.device)
    models = (
        one.name for one in profile.gpu.devices if (one.process, one.device) == at
    )
    return next(models, "")


def _name(profile: Profile, device: DeviceIdle) -> str:
    model = printable(_model(profile, device))
    name = f"GPU {device.device}" + (f" ({model})" if model else "")
    if len({one.process for one in profile.gpu.timelines}) > 1:
        name += f" of process {profile.processes[device.process].pid}"
    return name


def _summary(profile: Profile, device: DeviceIdle) -> str:
    """Return a sentence on the whole idle time of a device."""
    name = _name(profile, device)
    if not device.span_ns:
        return f"{name}: no work"
    return (
        f"{name}: idle for {in_words(device.idle_ns)} of {in_words(device.span_ns)}"
        f" ({percent(device.idle_ns, device.span_ns)}) between its first and last work,"
        f" in {counted(device.gaps, 'gap')}"
    )


def _table(
    profile: Profile, device: DeviceIdle, context: Context, options: Options
) -> Iterator[str]:
    own = [one for one in device.lines if one.causes.total]
    shown = limited(own, options, lambda one: one.causes.total, device.idle_ns)
    hidden = [] if _has_unknown(device) else ["unknown_ns"]
    yield from table(GPU_IDLE, _rows(profile, device, shown), context, hidden=hidden)
    yield from more_rows(len(own) - len(shown))


def _has_unknown(device: DeviceIdle) -> bool:
    """Return whether enough of the lines' time is of either cause for a column."""
    unknown = sum(one.causes.unknown for one in device.lines)
    return unknown > _MIN_UNKNOWN * device.idle_ns


def _rows(
    profile: Profile, device: DeviceIdle, lines: Iterable[IdleLine]
) -> list[_Row]:
    """Return a row for each of the lines, and one for what is unattributed."""
    row = _Row(device=device, model=_model(profile, device), causes=device.unattributed)
    rows = [row._replace(causes=one.causes, line=one) for one in lines]
    return [*rows, row] if row.causes.total else rows


def rows(profile: Profile, sources: Sources, options: Options) -> Rows:
    """Return the rows of --gpu-idle for other programs."""
    devices = device_idle(profile, idle_sums)
    every: list[_Row] = []
    more = 0
    for device in devices:
        shown = limited(
            device.lines, options, lambda one: one.causes.total, device.idle_ns
        )
        more += len(device.lines) - len(shown)
        every += _rows(profile, device, shown)
    totals = [
        {
            "process": device.process,
            "device": device.device,
            "span_ns": device.span_ns,
            "idle_ns": device.idle_ns,
            "gaps": device.gaps,
            "is_cut": device.is_cut,
            "unattributed_ns": device.unattributed.total,
        }
        for device in devices
    ]
    return rows_of(GPU_IDLE, every, sources, more=more, totals={"devices": totals})
