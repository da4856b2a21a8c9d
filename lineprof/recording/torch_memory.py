"""Blocks of PyTorch's caching allocator, by PyTorch's own history of them.

PyTorch is never imported here. Its history begins when PyTorch initialises CUDA, as
part of that: to ask for it earlier would initialise CUDA.
"""

from __future__ import annotations

import os
import sys
import time

from lineprof.import_hook import ImportHook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lineprof.snapshot.torch_memory import TorchBlocks

_EVENTS = 200_000  # that PyTorch keeps of each device, about 1 kB each

_CUDA, _MEMORY = "torch.cuda", "torch.cuda.memory"


class TorchHistory:
    """PyTorch's history of blocks in this process, begun once."""

    def __init__(self) -> None:
        """Wait until the program's PyTorch initialises CUDA."""
        self.problem = ""  # a sentence: why it is not there, or not whole
        self._is_on = False
        self._traces: Any = None  # as PyTorch had them last
        self._pid = os.getpid()  # a forked child has another, and no devices
        self._hook = ImportHook(self._imported)
        self._hook.expect(_CUDA)

    def _imported(self, name: str) -> None:
        try:
            sys.modules[name]._lazy_call(self._begin)  # noqa: SLF001
        except Exception as error:  # noqa: BLE001  # a stub, or another version
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        from lineprof.snapshot.torch_memory import unusable  # noqa: PLC0415  # with PyTorch

        self.problem = unusable(error)

    def _begin(self) -> None:
        if self._is_on or os.getpid() != self._pid:
            return
        try:
            if self._is_recorded():
                self.problem = (
                    "PyTorch's memory history is on already, for the program or another"
                    " tool: blocks of PyTorch are not in GPU memory"
                )
                return
            self._module()._record_memory_history(  # noqa: SLF001
                "all", context="all", stacks="python", max_entries=_EVENTS
            )
            self._is_on = True
        except Exception as error:  # noqa: BLE001  # whatever PyTorch raises
            self._fail(error)

    @staticmethod
    def _module() -> Any:  # noqa: ANN401  # PyTorch has no stubs here
        return sys.modules[_MEMORY]

    @staticmethod
    def _is_recorded() -> bool:
        torch: Any = sys.modules["torch"]
        return bool(torch._C._cuda_isHistoryEnabled())  # noqa: SLF001

    def take(self, start_ns: int) -> TorchBlocks | None:
        """Return the history since `start_ns` (Unix time); None if there is none."""
        if os.getpid() != self._pid or not (self._is_on or self._traces):
            return None
        from lineprof.snapshot.torch_memory import TorchBlocks  # noqa: PLC0415  # with PyTorch

        try:
            if self._is_on:
                self._read()
            traces = self._traces
            names = [self._name(n) if events else "" for n, events in enumerate(traces)]
        except Exception as error:  # noqa: BLE001  # whatever PyTorch raises
            self._fail(error)
            return None
        return TorchBlocks(
            traces=traces,
            names=names,
            start_ns=start_ns,
            ahead_ns=time.time_ns() - time.monotonic_ns(),
            max_events=_EVENTS,
        )

    def _read(self) -> None:
        self._traces = self._module()._snapshot()["device_traces"]  # noqa: SLF001
        if not self._is_recorded():
            self.problem = (
                "PyTorch's memory history was switched off by the program: GPU memory"
                " ends there"
            )

    @staticmethod
    def _name(device: int) -> str:
        torch: Any = sys.modules["torch"]
        return str(torch.cuda.get_device_name(device))

    def end(self) -> None:
        """Switch the history off, at the end of the program."""
        self._hook.stop()
        if not self._is_on or os.getpid() != self._pid:
            return
        self._is_on = False
        try:
            self._module()._record_memory_history(None)  # noqa: SLF001
        except Exception as error:  # noqa: BLE001  # whatever PyTorch raises
            self._fail(error)
