"""Reading the GPU data of a profile's file, which anyone may have made or damaged."""

from __future__ import annotations

import json

from lineprof.gpu_records import (
    NO_DEVICE,
    NO_PATH,
    Gpu,
    GpuDevice,
    GpuPath,
    GpuRun,
    GpuSum,
)
from lineprof.records import UNKNOWN_THREAD
from lineprof.store_read_timeline import timelines_of
from lineprof.store_rows import Damaged, known, natural, places_of, rows_of
from lineprof.store_schema import (
    GPU_DEVICES,
    GPU_NAMES,
    GPU_PATH_LINES,
    GPU_PATHS,
    GPU_RUNS,
    GPU_SUMS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping
    from typing import Any

    from lineprof.records import Key
    from lineprof.store_rows import Rows

    Places = Mapping[object, int]


def gpu_of(
    db: sqlite3.Connection,
    keys: Mapping[object, Key],
    processes: Places,
    threads: Places,
) -> Gpu:
    """Return the GPU data in an open and checked database; Damaged if they are.

    `keys`, `processes` and `threads` have the functions, and the indexes of
    the others, by their ids.
    """
    names = {row[0]: row[1] for row in rows_of(db, GPU_NAMES)}
    path_rows = rows_of(db, GPU_PATHS)
    device_rows = rows_of(db, GPU_DEVICES)
    paths, devices = places_of(path_rows), places_of(device_rows)
    made = list(_paths(db, path_rows, keys, threads))
    return Gpu(
        paths=tuple(made),
        sums=tuple(_sums(db, names, paths, devices)),
        devices=tuple(_device(row, processes) for row in device_rows),
        runs=tuple(_run(row, processes) for row in rows_of(db, GPU_RUNS)),
        timelines=tuple(timelines_of(db, names, processes, len(made))),
    )


def _bool(number: int) -> bool:
    if number not in {0, 1}:
        raise Damaged(f"{number} where yes or no is due")
    return number == 1


def _paths(
    db: sqlite3.Connection,
    rows: Rows,
    keys: Mapping[object, Key],
    threads: Places,
) -> Iterator[GpuPath]:
    lines: dict[object, list[tuple[Key, int]]] = {index: [] for index, *_ in rows}
    for path, function, line in rows_of(db, GPU_PATH_LINES):
        key = known(keys, function, "function")
        known(lines, path, "path").append((key, line))
    for index, thread, adopted, payload in rows:
        if not lines[index]:
            raise Damaged(f"path {index} has no lines")
        place = UNKNOWN_THREAD
        if thread is not None:
            place = known(threads, thread, "thread")
        natural([payload], "a path")
        yield GpuPath(
            thread=place,
            adopted=_bool(adopted),
            lines=tuple(lines[index]),
            range=payload,
        )


def _sums(
    db: sqlite3.Connection, names: Mapping[object, str], paths: Places, devices: Places
) -> Iterator[GpuSum]:
    for path, origin, kind, name, device, *numbers in rows_of(db, GPU_SUMS):
        natural(numbers, "a sum")
        count, ns, least, most, size = numbers
        if least > most:
            raise Damaged(f"a sum has a least time of {least} and a greatest of {most}")
        yield GpuSum(
            path=NO_PATH if path is None else known(paths, path, "path"),
            origin=NO_PATH if origin is None else known(paths, origin, "path"),
            kind=kind,
            name=known(names, name, "name"),
            device=NO_DEVICE if device is None else known(devices, device, "device"),
            count=count,
            ns=ns,
            min_ns=least,
            max_ns=most,
            bytes=size,
        )


def _device(row: tuple[Any, ...], processes: Places) -> GpuDevice:
    _, process, device, name, busy_ns, exact, text = row
    natural([device, busy_ns], "a device")
    limits = json.loads(text)
    if not isinstance(limits, dict) or not all(map(_is_limit, limits.values())):
        raise Damaged("the attributes of a device are no numbers by name")
    return GpuDevice(
        process=known(processes, process, "process"),
        device=device,
        name=name,
        busy_ns=busy_ns,
        busy_exact=_bool(exact),
        attributes=tuple(limits.items()),
    )


def _is_limit(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _run(row: tuple[Any, ...], processes: Places) -> GpuRun:
    process, backend, reason, present, *numbers = row
    natural(numbers, "a run")
    version, dropped, invalid, outstanding, left_out = numbers
    return GpuRun(
        process=known(processes, process, "process"),
        backend=backend,
        reason=reason,
        present=_bool(present),
        version=version,
        dropped=dropped,
        invalid=invalid,
        outstanding=outstanding,
        left_out=left_out,
    )
