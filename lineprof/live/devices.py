"""Load and memory of NVIDIA devices, by the optional package nvidia-ml-py.

A failing library never ends the command: then there are no devices.
"""

from __future__ import annotations

import importlib
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from lineprof.errors import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

# The package, or a double of it, may raise errors of classes of its own.
_FAILED = Exception


class Device(NamedTuple):
    """One device at one time."""

    number: int
    name: str
    busy: int | None  # % of the last sample period with a kernel; None: unknown
    used_bytes: int
    total_bytes: int


class Devices:
    """The devices of this machine; none without the package, a driver or a device."""

    def __init__(self) -> None:
        """Open the library."""
        self._library: Any = None
        self._handles: list[Any] = []
        with suppress(_FAILED):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a package that was renamed
                library = importlib.import_module("pynvml")
            library.nvmlInit()
            self._library = library
            count = int(library.nvmlDeviceGetCount())
            self._handles = [*map(library.nvmlDeviceGetHandleByIndex, range(count))]

    def read(self) -> Sequence[Device]:
        """Return the present state of each device that can be read."""
        found = []
        for number, handle in enumerate(self._handles):
            with suppress(_FAILED):
                found.append(self._read(number, handle))
        return found

    def _read(self, number: int, handle: object) -> Device:
        name = self._library.nvmlDeviceGetName(handle)
        memory = self._library.nvmlDeviceGetMemoryInfo(handle)
        return Device(
            number=number,
            # (Older versions of the package give bytes.)
            name=printable(name.decode() if isinstance(name, bytes) else str(name)),
            busy=self._busy(handle),
            used_bytes=int(memory.used),
            total_bytes=int(memory.total),
        )

    def _busy(self, handle: object) -> int | None:
        try:
            return int(self._library.nvmlDeviceGetUtilizationRates(handle).gpu)
        except _FAILED:  # a slice of a device (MIG) does not tell
            return None

    def close(self) -> None:
        """Close the library."""
        if self._library is not None:
            with suppress(_FAILED):
                self._library.nvmlShutdown()
