"""`lineprof attach`: the lines of a program that runs already."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

from lineprof.cli.command import Command, add_pid, argument_type
from lineprof.console.output import (
    print_error,
    print_lines,
    python_command,
    shell_word,
)
from lineprof.errors import LineprofError
from lineprof.patterns import check as check_pattern

if TYPE_CHECKING:
    import argparse
    from typing import BinaryIO, Self

    from lineprof.control.client import Connection
    from lineprof.control.place import Place

_HELP = "profile a program that runs already, for a time"
_CORES = ("auto", "monitoring", "monitoring-line", "monitoring-instruction", "settrace")
_CHUNK = 1 << 20  # bytes
_MAX_END = 5.0  # s that a killed process may take to go
_POLL = 0.02  # s


def _positive(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise LineprofError(f"bad number {word!r}", hint="give one above 0")
    return value


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add_pid(parser, "the number of the process")
    parser.add_argument(
        "-d",
        "--duration",
        type=argument_type(_positive),
        metavar="SECONDS",
        help="detach after so many seconds (default: at Ctrl-C, or when it ends)",
    )
    parser.add_argument(
        "-o",
        "--outfile",
        metavar="FILE",
        help="write the profile to this file (default: PID.lprof)",
    )
    parser.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="PATTERN",
        help="profile these files, modules or functions as well, as with kernprof",
    )
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="do not profile these",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="profile the standard library and installed packages as well",
    )
    parser.add_argument(
        "--max-overhead",
        type=argument_type(_positive),
        metavar="FACTOR",
        help="let the program take so many times as long at most; functions that cost"
        " too much are switched off",
    )
    parser.add_argument(
        "--core",
        choices=_CORES,
        help="the source of events (default: auto)",
    )


def _attach(_parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Attach, wait, detach and write the profile; LineprofError."""
    from lineprof.attach.joining import start  # noqa: PLC0415  # not for --help
    from lineprof.control.client import GoneError  # noqa: PLC0415
    from lineprof.files import absolute_path  # noqa: PLC0415

    pid: int = parsed.pid
    out = absolute_path(parsed.outfile or f"{pid}.lprof")
    _check_folder(out)
    for word in (*parsed.include, *parsed.exclude):
        check_pattern(word)
    options = {
        "include": parsed.include,
        "exclude": parsed.exclude,
        "all": parsed.all,
        "max_overhead": parsed.max_overhead,
        "core": parsed.core,
    }
    with _Interruptible() as interruptible:
        connection, place, reply = start(pid, options, print_error)
        interruptible.hold()
        with connection:
            wait = f"for {parsed.duration:g} s" if parsed.duration else "until Ctrl-C"
            print_lines([f"Attached to process {pid} {wait}: {reply['text']}"])
            try:
                done = interruptible.wait(connection, parsed.duration)
                if done is None:
                    done = connection.ask("detach")
            except GoneError:
                _recover(pid, str(reply.get("live") or ""), out)
                return
    _take(place, str(done["file"]), out)
    for line in done.get("summary") or ():
        print_error(str(line))
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


def _take(place: Place, file: str, out: str) -> None:
    """Make the profile of what the process has written, at `out`; LineprofError."""
    from lineprof.files import write_chunks  # noqa: PLC0415
    from lineprof.snapshot.counts import SUFFIX  # noqa: PLC0415

    path = os.path.join(place.outside, os.path.basename(file))
    try:
        with open(path, "rb") as stream:
            if path.endswith(SUFFIX):
                _write_profile(stream, path, out)
            else:
                write_chunks(iter(lambda: stream.read(_CHUNK), b""), out)
        os.unlink(path)
    except OSError as error:
        raise LineprofError(
            f"cannot read {path}: {error.strerror}", hint="see whether it is there"
        ) from None


def _write_profile(stream: BinaryIO, path: str, out: str) -> None:
    """Write the profile of counts at `path` to `out`, or beside them; LineprofError."""
    from lineprof.line_stats import LineStats  # noqa: PLC0415
    from lineprof.snapshot.counts import SUFFIX, read_profile  # noqa: PLC0415

    stats = LineStats.of(read_profile(stream, path))
    try:
        stats.to_file(out)
    except LineprofError as error:
        beside = f"{path.removesuffix(SUFFIX)}.lprof"
        stats.to_file(beside)
        os.unlink(path)
        raise LineprofError(
            error.message, hint=f"the profile is in {beside!r}"
        ) from None


def _recover(pid: int, live: str, out: str) -> None:
    """Write the profile of a process that was killed; LineprofError."""
    from lineprof.processes.recovery import dead_runs, recover  # noqa: PLC0415

    done = None
    deadline = time.monotonic() + _MAX_END
    while live and done is None and time.monotonic() < deadline:
        for run in dead_runs([live]):
            done = recover(run, out)
        time.sleep(_POLL)  # the process may not be quite dead yet
    if done is None:
        raise LineprofError(
            f"process {pid} has ended, and its counts are lost", hint="see how it ended"
        )
    _say_written(done.path, f" (process {pid}: {done.reason})")


def _say_written(out: str, how: str) -> None:
    command = f"{python_command()} -m lineprof view {shell_word(out)}"
    print_lines(
        [f"Wrote profile results to {out!r}{how}", "Inspect results with:", command]
    )


COMMAND = Command(name="attach", help=_HELP, add_flags=_add_flags, run=_attach)
