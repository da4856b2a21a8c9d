"""Units: conversion of ticks to nanoseconds; times and sizes as text."""

from __future__ import annotations

NANOSECOND = 1e-9  # in s

MIN_UNIT, MAX_UNIT = 1e-15, 1e6  # of the ticks in a file, in s

AUTO_UNIT = 0.0  # asks for each time in the unit in which it reads best

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (NANOSECOND, "ns"))  # in s

# Units of time as users write them; one of two letters is the Greek mu.
NS_OF_UNIT = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}

_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))  # in bytes

# Units of memory as users write them; a kB has 1,000 bytes, a KiB 1,024.
BYTES_OF_UNIT = {
    "B": 1,
    **dict.fromkeys(("kB", "KB"), 10**3),
    **{name: 1000**power for power, name in enumerate(("MB", "GB", "TB"), 2)},
    **{name: 1024**power for power, name in enumerate(("KiB", "MiB", "GiB"), 1)},
}

_ROUNDS_TO_ONE = 0.99995  # with four digits


class Ticks:
    """Ticks of `unit` seconds; ValueError unless that is above 0 and finite."""

    def __init__(self, unit: float) -> None:
        """Take the length of a tick in seconds."""
        if not 0 < unit < float("inf"):
            raise ValueError(
                f"the unit must be a number of seconds above 0, not {unit!r}"
            )
        self.unit = float(unit)

    def to_ns(self, ticks: float) -> int:
        """Return `ticks` in whole nanoseconds, rounded half to even."""
        if self.unit == NANOSECOND:
            return round(ticks)
        return self._scaled(ticks, to_ns=True)

    def from_ns(self, time: int) -> int:
        """Return `time` (ns) in whole ticks, rounded half to even."""
        return time if self.unit == NANOSECOND else self._scaled(time, to_ns=False)

    def _scaled(self, number: float, *, to_ns: bool) -> int:
        from fractions import Fraction  # noqa: PLC0415  # our own profiles are in ns

        ns_per_tick = Fraction(repr(self.unit)) * 10**9
        return round(Fraction(number) * (ns_per_tick if to_ns else 1 / ns_per_tick))


def format_seconds(seconds: float) -> str:
    """Return a time with four digits and the unit in which it reads best.

    The unit is s, ms, us or ns: ``12.35 ms``. It takes two columns, so that digits
    stand below digits in a table.
    """
    if not seconds:
        return "0 s "
    size = abs(seconds)
    unit, name = next(
        ((unit, name) for unit, name in _UNITS if size / unit >= _ROUNDS_TO_ONE),
        _UNITS[-1],
    )
    return f"{'-' * (seconds < 0)}{_four_digits(size / unit)} {name:<2}"


def format_bytes(size: float) -> str:
    """Return a size (bytes) with four digits and the unit in which it reads best.

    The unit is TB, GB, MB or kB, of 1,000 bytes: ``12.35 MB``. Less is in whole bytes.
    The unit takes two columns, as that of `format_seconds`.
    """
    number = abs(size)
    for unit, name in _SIZES:
        if number / unit >= _ROUNDS_TO_ONE:
            return f"{'-' * (size < 0)}{_four_digits(number / unit)} {name}"
    return f"{size:.0f} B "


def _four_digits(number: float) -> str:
    decimals = sum(number < _ROUNDS_TO_ONE * 10**digits for digits in (1, 2, 3))
    return f"{number:.{decimals}f}"
