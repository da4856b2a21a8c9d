"""GPU work from the moment on that a profiler begins."""

from __future__ import annotations

from lineprof.gpu import open_gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from lineprof.gpu import GpuOptions
    from lineprof.gpu_snapshot import Baseline, Taken


class GpuWork:
    """What of the process' GPU work is one profiler's."""

    def __init__(self, core: ModuleType, options: GpuOptions | str | None) -> None:
        """Begin now; `core` is the C module, `options` are those of `open_gpu`."""
        self._core = core
        self._baseline: Baseline | None = None
        before = core.gpu_is_open()
        self.status = open_gpu(core, options)
        if before:
            self.restart()

    def restart(self) -> None:
        """Begin anew: what was recorded so far is not this profiler's."""
        if not self._core.gpu_is_open():
            return
        from lineprof.gpu_snapshot import baseline_of  # noqa: PLC0415  # with a GPU

        self._core.gpu_flush()
        self._baseline = baseline_of(self._core.gpu_snapshot())

    def take(self) -> Taken | None:
        """Return all since the beginning, once the device is done with it.

        None where there is no GPU, or nobody asked for one.
        """
        status = self.status
        if self._core.gpu_forked():
            status = open_gpu(self._core, "auto")
        if status.backend == "none" and not status.present:
            return None
        from lineprof.gpu_records import GpuRun  # noqa: PLC0415  # only with a GPU
        from lineprof.gpu_snapshot import Taken  # noqa: PLC0415

        self._core.gpu_flush()
        run = GpuRun(
            process=0,
            backend=status.backend,
            reason=status.reason,
            present=status.present,
        )
        return Taken(run, self._core.gpu_snapshot(), self._baseline)
