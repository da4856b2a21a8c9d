"""Entry points of kernprof: a command line in, an exit status out.

`run_alone` has the process to itself; `run_within` leaves its process as it was.
"""

from __future__ import annotations

import atexit
import os
import sys

from kernprof.messages import flush, print_error, set_program_name
from kernprof.options import check, fill, help_text, parse
from kernprof.run_options import NotRunError
from kernprof.session import Session
from kernprof.signals import die_of
from kernprof.tracebacks import hide_our_frames
from lineprof.console.output import print_message
from lineprof.errors import LineprofError
from lineprof.held_signals import pause_timers, resume_timers
from lineprof.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from signal import SIGHUP, SIGTERM
    from typing import NoReturn
else:
    from _signal import SIGHUP, SIGTERM  # `signal` wraps it in enums, which takes 4 ms

_TEARDOWN = 1.0  # s that python may take more than without kernprof to leave a process


def run_within(argv: Sequence[str] | None, *, exit_on_error: bool) -> None:
    """Run the command line `argv` in a process that goes on: `kernprof.main`."""
    fail = _exit if exit_on_error else _raise
    try:
        session = _session(sys.argv[1:] if argv is None else argv)
    except LineprofError as error:
        fail(error)
    if session is None:
        return
    failure: LineprofError | None = None
    try:
        session.begin(sys.path)
        session.run()
    except BaseException as error:
        failure = _not_run(error, session)
        write_error = session.end(_exit_reason(error))
        if not failure:
            for message in (write_error, session.hint(error)):
                if message:
                    print_error(message)
            raise
    else:
        failure = session.end()
    if failure:
        fail(failure)


def run_alone(argv: Sequence[str], path: list[str], name: str) -> None:
    """Run the command line `argv` in a process that is the program's own.

    `name` is the name of the command, and `path` is `sys.path` without the entry
    that python made for kernprof. The profile is written when python leaves the
    process: after the program's threads and exit handlers.
    """
    set_program_name(name)
    try:
        session = _session(argv, name, own_process=True)
    except LineprofError as error:
        _exit(error)
    if session is None:
        return
    at_exit = _AtExit(session)
    for _ in range(2):  # a signal's handler may raise at the first one's start
        atexit.register(at_exit.finish)
    try:
        try:
            session.begin(path)
            session.run()
        except BaseException as last_error:
            program = session.program
            if not program.has_ended:  # or else a signal's handler raised
                ended_by = program.error or last_error
                program.error = None
                not_run = _not_run(ended_by, session)
                if not_run:
                    _exit(not_run)
                if not isinstance(ended_by, SystemExit):
                    _show_uncaught(ended_by, session)
                if ended_by is not last_error:
                    raise ended_by from None
                raise
        at_exit.remain()
        session.program.leave()
    except BaseException as error:
        # It may be another one than `ended_by`: a second Ctrl-C.
        at_exit.error = error
        at_exit.remain()
        raise


def _show_uncaught(error: BaseException, session: Session) -> None:
    """Prepare for python to show `error`, which the program did not catch."""
    session.refuse(error)
    hint = session.hint(error)

    def after_traceback() -> None:
        if hint:
            print_error(hint)
        session.program.leave()

    hide_our_frames(error, then=after_traceback)


class _AtExit:
    """The end of a process of the program's own: the profile, and the exit status."""

    def __init__(self, session: Session) -> None:
        self.error: BaseException | None = None  # that python is about to show
        self._session: Session | None = session

    def remain(self) -> None:
        """Finish even if the program has removed all exit functions."""
        if not atexit._ncallbacks():  # noqa: SLF001  # there is no public one
            atexit.register(self.finish)

    def finish(self) -> None:
        """Write the profile; if all counts are lost, success becomes failure.

        The program has ended: its timers stop, and signals have no effect any more.
        """
        if self._session is not None:
            with self._session.names:
                self._finish(self._session)

    def _finish(self, session: Session) -> None:
        session.hold_signals()
        timers = pause_timers()
        self._session = None
        error, self.error = self.error, None
        write_error = session.end(_exit_reason(error))
        if write_error:
            print_error(write_error)
        if session.signals.fatal in {SIGTERM, SIGHUP}:
            die_of(session.signals.fatal)
        is_lost = write_error and not session.is_kept
        if is_lost and _is_success(error):  # python has settled on status 0 by now
            flush()
            os._exit(1)
        if type(error) is KeyboardInterrupt:
            _remember_interrupt()
            session.signals.ignore({SIGTERM, SIGHUP})
        resume_timers(timers, later=_TEARDOWN)


def _not_run(error: BaseException, session: Session) -> NotRunError | None:
    """Return `error` if it says that there is no such program, else None."""
    if isinstance(error, NotRunError) and not session.program.started:
        return error
    return None


def _exit_reason(error: BaseException | None) -> str:
    """Return how a program ended that `error` ended, "" for normally."""
    if error is None or isinstance(error, SystemExit):
        return ""
    return "KeyboardInterrupt" if type(error) is KeyboardInterrupt else "exception"


def _is_success(error: BaseException | None) -> bool:
    if isinstance(error, SystemExit):
        code: object = error.code
        return code is None or (isinstance(code, int) and code == 0)
    return error is None


def _remember_interrupt() -> None:
    """Make python end the process by SIGINT, as it does after KeyboardInterrupt.

    Python notes whether the last code that it ran by itself was interrupted; any
    ``exec`` of a string since then, of a namedtuple for example, clears the note.
    """
    try:
        exec("raise KeyboardInterrupt")  # noqa: S102  # constant code
    except KeyboardInterrupt:
        return


def _session(
    argv: Sequence[str], name: str = "kernprof", *, own_process: bool = False
) -> Session | None:
    """Return the session for `argv`; None if it only asks for help or the version.

    With `own_process`, the process is the program's own.

    Raises LineprofError if the command line is wrong, or nothing can be recorded.
    """
    options = parse(argv, name)
    if options.help:
        print_message(help_text(name) + "\n")
    elif options.version:
        print_message(f"{VERSION}\n")
    else:
        fill(options)
        check(options)
        for warning in options.warnings if options.speaks else ():
            print_error(warning)
        return Session(options, own_process=own_process)
    return None


def _exit(error: LineprofError) -> NoReturn:
    print_error(error)
    raise SystemExit(getattr(error, "status", 1))


def _raise(error: LineprofError) -> NoReturn:
    raise error
