"""Files of configuration: which one holds, and what is in it.

A program under a profiler waits for this: a few questions to the file system,
one file read, and no TOML parsed unless the file has something for us.
"""

from __future__ import annotations

import os
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLE = "LINE_PROFILER_RC"  # names the file that holds
_NAMES_OF_OURS = ("lineprof.toml", "line_profiler.toml")
NAMES = (*_NAMES_OF_OURS, "pyproject.toml")
_OURS = (b"line_profiler", b"lineprof")


class Found(NamedTuple):
    """A file of configuration, and what was noticed on the way to it."""

    path: str  # in full; "": there is none
    content: Mapping[str, object]
    remarks: tuple[str, ...] = ()
    fault: str = ""  # of a file that is there for us alone, and of no use


class UnreadableError(Exception):
    """A file that is no TOML; ``str()`` of it says why."""


def find(variable: str | None = VARIABLE) -> Found:
    """Return the file that holds: the one that `variable` names, or the nearest.

    A file that cannot be read counts as none; remarked upon where its reader
    may have counted on it. The first that has our name and is no TOML is a fault.
    """
    named = os.environ.get(variable) if variable else None
    remarks: list[str] = []
    fault = ""
    for path in [os.path.abspath(named)] if named else _nearest():
        try:
            return Found(path, read(path), tuple(remarks), fault)
        except OSError as error:
            if named:  # another's may be barred to us, and never meant for us
                remarks.append(f"ignoring {path}: {error.strerror}")
        except UnreadableError as error:
            remarks.append(f"ignoring {path}: {error}")
            if not named and _is_ours(path):
                fault = fault or f"{path}: {error}"
    return Found("", {}, tuple(remarks), fault)


def _nearest() -> Iterator[str]:
    """Yield the files that may hold, those of the current folder first."""
    try:
        folder = os.getcwd()
    except OSError:  # it is gone
        return
    above = None
    while folder != above:
        for name in NAMES:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                yield path
        folder, above = os.path.dirname(folder), folder


def read(path: str, *, whole: bool = False) -> Mapping[str, object]:
    """Return what a file of TOML holds; nothing, where it has nothing for us.

    Raises OSError, or UnreadableError where it is no TOML; with `whole`, or by a
    name of ours, also where it has nothing for us.
    """
    with open(path, "rb") as stream:
        data = stream.read()
    whole = whole or _is_ours(path)
    if not whole and not any(name in data for name in _OURS):
        return {}
    from tomllib import loads  # noqa: PLC0415  # few files get here

    try:
        return loads(data.decode())
    except (ValueError, RecursionError) as error:  # no TOML; no UTF-8
        raise UnreadableError(f"it is no TOML: {error}") from None


def _is_ours(path: str) -> bool:
    """Tell whether a file can be there for nobody but us, by its name."""
    return os.path.basename(path) in _NAMES_OF_OURS
