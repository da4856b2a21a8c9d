"""`lineprof attach`: the lines of a program that runs already."""

from __future__ import annotations

import io
import os
import signal
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from lineprof.attach.joining import new_patience, start
from lineprof.cli.command import Command, add_argument, add_pid, add_timeout, positive
from lineprof.console.output import (
    print_error,
    print_errors,
    print_lines,
    python_command,
    shell_path,
)
from lineprof.control.client import GoneError, check_size, other_version
from lineprof.control.watch import LateError
from lineprof.errors import LineprofError
from lineprof.files import absolute_path
from lineprof.flags import size
from lineprof.line_stats import LineStats
from lineprof.patterns import check as check_pattern
from lineprof.private_folder import PrivateFolder, own_folder
from lineprof.processes.recovery import profile_of_file
from lineprof.recording.core import CORES
from lineprof.snapshot.counts import COUNTS
from lineprof.snapshot.counts_reader import read_profile
from lineprof.snapshot.live_file import LiveFileReader
from lineprof.storage import load, save

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Self

    from lineprof.control.client import Connection
    from lineprof.control.place import Place

# Flags that the process gets.
_PASSED_ON = (
    *("include", "exclude", "all", "max_overhead", "core"),
    *("memory", "memory_sample"),
)


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = partial(add_argument, parser)
    add_pid(parser, "the number of the process")
    add(
        "-d, --duration SECONDS",
        "detach after this time (default: at Ctrl-C, or when the program ends)",
        positive,
    )
    add("-o, --outfile FILE", "write the profile to this file (default: PID.lprof)")
    add(
        "--include PATTERN",
        "profile these files, modules or functions as well, as with kernprof",
        action="append",
        default=[],
    )
    add("--exclude PATTERN", "do not profile these", action="append", default=[])
    add("--all", "profile the standard library and installed packages as well")
    add(
        "--max-overhead FACTOR",
        "let the program take at most this many times as long: functions that cost"
        " too much are counted without their lines, or no longer counted",
        positive,
    )
    add("--memory", "also record the memory that each line allocates")
    add(
        "--memory-sample SIZE",
        "count a block about every so many bytes, as in 512KB (default: each block);"
        " implies --memory",
        size,
    )
    add_timeout(parser)
    add("--core", "how Python tells of lines (default: auto)", choices=CORES)


def _attach(_parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Attach, wait, detach and write the profile; LineprofError."""
    pid: int = parsed.pid
    out = absolute_path(parsed.outfile or f"{pid}.lprof")
    _check_folder(out)
    for word in (*parsed.include, *parsed.exclude):
        check_pattern(word)
    options = {name: getattr(parsed, name) for name in _PASSED_ON}
    patience = new_patience(pid, parsed.timeout, print_error)
    with _Interruptible() as interruptible:
        connection, place, reply = start(pid, options, patience)
        interruptible.hold()
        with connection:
            live = connection.take_file()
            wait = f"for {parsed.duration:g} s" if parsed.duration else "until Ctrl-C"
            print_lines([f"Attached to process {pid} {wait}: {reply.get('text')}"])
            try:
                done = interruptible.wait(connection, parsed.duration)
                if done is None:
                    done = connection.ask("detach", patience)
                file = connection.take_file()
            except (GoneError, LateError) as error:
                has_ended = isinstance(error, GoneError)
                _recover(pid, place, live, out, has_ended=has_ended)
                return
    if file is None:
        raise other_version(f"process {pid} gave no profile")
    _take(pid, file, str(done.get("file")), out)
    summary = done.get("summary")
    print_errors(map(str, summary if isinstance(summary, list) else ()))
    ended = f" (process {pid} has ended)" if done.get("ended") else ""
    _say_written(out, ended)


def _check_folder(out: str) -> None:
    """Raise LineprofError if no file can be written there, before anything is done."""
    folder = os.path.dirname(out)
    if not os.path.isdir(folder):
        raise LineprofError(
            f"there is no folder {folder!r}", hint="make it, or name another with -o"
        )
    is_other = os.path.exists(out) and not os.path.isfile(out)
    if is_other or not os.access(folder, os.W_OK):
        raise LineprofError(f"cannot write to {out!r}", hint="name another with -o")


class _Interruptible:
    """A ``with`` block in which SIGINT and SIGTERM end the wait for a process.

    Before the wait they interrupt as ever; a signal that comes between is not lost.
    """

    _signals = (signal.SIGINT, signal.SIGTERM)

    def __enter__(self) -> Self:
        """Handle the signals."""
        self._is_held = self._has_come = False
        self._before = [signal.signal(one, self._handle) for one in self._signals]
        return self

    def __exit__(self, *_exception: object) -> None:
        """Restore their handlers."""
        for one, handler in zip(self._signals, self._before, strict=True):
            signal.signal(one, handler)

    def _handle(self, _number: int, _frame: object) -> None:
        if not self._is_held or self._has_come:
            raise KeyboardInterrupt
        self._has_come = True

    def hold(self) -> None:
        """Let a signal wait for `wait`; a second one interrupts."""
        self._is_held = True

    def wait(
        self, connection: Connection, seconds: float | None
    ) -> dict[str, Any] | None:
        """Return what the process sends when it ends; None if it has not in that time.

        A signal ends the wait. Raises GoneError if the process was killed.
        """
        try:
            self._is_held = False
            return None if self._has_come else connection.receive(seconds)
        except KeyboardInterrupt:
            return None
        finally:
            self._is_held = True


def _take(pid: int, file: int, kind: str, out: str) -> None:
    """Make the profile of the open `file` of a process, at `out`; LineprofError."""
    what = f"process {pid}"
    with open(file, "rb") as stream:
        # The process may go on writing: no more is read than there is now.
        data = stream.read(os.fstat(file).st_size)
    if kind != COUNTS:
        _write(pid, out, _loaded(pid, data).to_file)
        return
    stats = LineStats.of(read_profile(io.BytesIO(data), what))
    try:
        _write(pid, out, stats.to_file)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise other_version(f"the counts in {what} are damaged: {error}") from None


def _loaded(pid: int, data: bytes) -> LineStats:
    """Return the profile in the `data` of a process; LineprofError if it is none."""
    with PrivateFolder.open(own_folder(), make=True) as folder:
        name = f"{pid}-{os.urandom(6).hex()}.new"
        folder.create(name, data)
        try:
            return LineStats.of(load(os.path.join(folder.path, name)))
        except LineprofError as error:
            message = f"process {pid} gave no profile: {error.message}"
            raise other_version(message) from None
        finally:
            folder.remove(name)


def _write(pid: int, out: str, save: Callable[[str], None]) -> None:
    """Let `save` write a profile to `out`, or to this user's folder; LineprofError."""
    try:
        save(out)
    except LineprofError as error:
        with PrivateFolder.open(own_folder(), make=True) as folder:
            beside = os.path.join(folder.path, f"{pid}-{os.urandom(6).hex()}.lprof")
            save(beside)
        raise LineprofError(
            error.message, hint=f"the profile is in {beside!r}"
        ) from None


def _recover(
    pid: int, place: Place, live: int | None, out: str, *, has_ended: bool
) -> None:
    """Write the profile of the counts of a process that does not answer.

    `live` is a descriptor of the file of its counts. Raises LineprofError. The source
    files that the process names are read only if it is this user's.
    """
    if live is None:
        end = "has ended" if has_ended else "does not answer"
        raise LineprofError(
            f"process {pid} {end}, and its counts are lost",
            hint="let it have a live file: unset LINEPROF_LIVE",
        )
    name = f"the live file of process {pid}"
    check_size(live, name)
    is_ours = not place.root and place.rights.user == os.getuid()
    with closing(LiveFileReader(name, live)) as file:
        done = profile_of_file(file, has_ended=has_ended, has_sources=is_ours)
        _write(pid, out, lambda path: save(done.profile, path))
        if has_ended and not place.root:
            with place.rights:
                _remove_linked(live)
    _say_written(out, f" (process {pid}: {done.reason})")


def _remove_linked(handle: int) -> None:
    """Remove an open file by its name, if that is still the name of the file."""
    with suppress(OSError):
        path, status = os.readlink(f"/proc/self/fd/{handle}"), os.fstat(handle)
        if os.path.samestat(os.lstat(path), status):
            os.unlink(path)


def _say_written(out: str, how: str) -> None:
    command = f"{python_command()} -m lineprof view {shell_path(out)}"
    print_lines(
        [f"Wrote profile results to {out!r}{how}", "Inspect results with:", command]
    )


COMMAND = Command(add_flags=_add_flags, run=_attach)
