"""The recorder of calls: cProfile, as kernprof without -l uses it."""

from __future__ import annotations

import marshal
import os

from kernprof.cprofile import ContextualProfile, print_calls
from kernprof.earlier_profile import how_kept
from kernprof.null_profiler import NullProfiler
from kernprof.recorders import Recorder
from kernprof.run_options import NotRunError
from lineprof.errors import LineprofError
from lineprof.files import write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from kernprof.run_options import RunOptions


class CallRecorder(Recorder):
    """Recorder of calls, by cProfile: all calls, or with -b under ``@profile``."""

    suffix = ".prof"
    viewer = "pstats"

    def __init__(
        self, options: RunOptions, _texts: Mapping[str, str], _out: str | None = None
    ) -> None:
        """Set up as `options` say."""
        self._options = options
        self._profiler = ContextualProfile()
        self._records_all = not options.builtin
        self.builtin: object = None if self._records_all else self._profiler
        # If all calls are recorded, decorated functions need no wrappers.
        super().__init__(NullProfiler() if self._records_all else self._profiler)

    def __enter__(self) -> None:
        """Turn cProfile on; NotRunError while another profiler is on."""
        if self._records_all:
            try:
                self._profiler.enable_by_count()
            except ValueError as error:
                raise NotRunError(
                    f"cProfile cannot start: {error}", hint="turn the other one off"
                ) from None

    def __exit__(self, *_exception: object) -> None:
        """Turn it off."""
        if self._records_all:
            self._profiler.disable_by_count()

    def leave(self) -> None:
        """Turn cProfile off if the program left it on; release `lineprof.profile`."""
        self._profiler.end()
        super().leave()

    def dump(self, path: str, exit_reason: str) -> None:  # noqa: ARG002
        """Write a file for `pstats` to `path`; LineprofError if that fails."""
        self._profiler.create_stats()
        self.is_empty = not self._profiler.stats  # which pstats takes away
        self.keeps_earlier = self.is_empty and _has_calls(path)
        if not self.keeps_earlier:
            self._write(path)

    def dump_so_far(self, path: str) -> None:
        """Write the calls that have ended; LineprofError if that fails."""
        self._profiler.snapshot_stats()
        if not self._profiler.stats and _has_calls(path):
            raise LineprofError(how_kept(path))
        self._write(path)

    def _write(self, path: str) -> None:
        data = marshal.dumps(self._profiler.stats)

        def fill(handle: int, _path: str) -> None:
            if handle < 0:
                raise LineprofError(
                    f"cannot write {path!r}: an audit hook of the program refuses it",
                    hint="let the hook allow to open files in that folder",
                )
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]

        try:
            write_atomically(path, fill)
        except OSError as error:
            raise LineprofError(
                f"cannot write {path!r}: {error.strerror}", hint="make room there"
            ) from None

    def show(self, stream: TextIO, path: str) -> None:  # noqa: ARG002
        """Print the table to `stream`."""
        print_calls(self._profiler, stream)

    def summary(self, *, is_partial: bool) -> list[str]:  # noqa: ARG002
        """Return why the profile is empty, if it is: with -b it may be."""
        why = "the profile is empty: nothing under @profile was called"
        return [why] if self.is_empty else []

    def describe(self) -> str:
        """Name cProfile."""
        return "core: cProfile (without -l)"


def _has_calls(path: str) -> bool:
    """Return whether the file at `path` has a profile of cProfile with calls."""
    try:
        with open(path, "rb") as stream:
            return bool(marshal.load(stream))  # noqa: S302  # the user's own
    except (OSError, EOFError, TypeError, ValueError):  # it is something else
        return False
