"""The view of a running program: its last two samples, and the devices."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lineprof.live.devices import Devices
from lineprof.live.gpu_work import GpuWork
from lineprof.live.layout import View
from lineprof.live.rates import never_less
from lineprof.live.reading import Program

if TYPE_CHECKING:
    from lineprof.live.reading import Sample

_REST = 3  # times that reading takes, to the next time


class Monitor:
    """A program that is read again and again, up to `close`."""

    def __init__(self, path: str) -> None:
        """Open the live file at `path`; LineprofError if it cannot be read."""
        self._program = Program(path)
        self._devices = Devices()
        self._gpu = GpuWork(self._program.pid)
        self._sample: Sample | None = None
        self._took = 0.0

    def close(self) -> None:
        """Close the file and the devices."""
        self._program.close()
        self._gpu.close()
        self._devices.close()

    @property
    def has_ended(self) -> bool:
        """Whether the program does not run any more."""
        return self._program.is_running is False

    def due(self, interval: float) -> float:
        """Return when to refresh next (s, on the monotonic clock).

        That is after an interval (s), or after a longer time if reading takes long: the
        program may need the processor.
        """
        return time.monotonic() + max(interval, _REST * self._took)

    def refresh(self) -> View:
        """Read the program and the devices; LineprofError if its file is damaged."""
        before, start = self._sample, time.monotonic()
        sample = self._gpu.added_to(self._program.sample())
        sample = self._sample = never_less(sample, before)
        devices = self._devices.read()
        self._took = time.monotonic() - start
        return View(
            command=self._program.command,
            pid=self._program.pid,
            cwd=self._program.cwd,
            sample=sample,
            before=before,
            line=self._program.line,
            devices=devices,
        )
