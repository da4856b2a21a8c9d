"""From a command line to an exit status: in a process of its own, or within one."""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING

from kernprof import messages
from kernprof.environment import hide_our_frames
from kernprof.options import NotRunError, check, fill, help_text, parse
from kernprof.session import Session
from lineprof.console.output import print_message
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def run_within(argv: Sequence[str] | None, *, exit_on_error: bool) -> None:
    """Do what `kernprof.main` promises."""
    fail = _exit if exit_on_error else _raise
    try:
        session = _session(sys.argv[1:] if argv is None else argv)
    except LineprofError as error:
        fail(error)
    if session is None:
        return
    trouble: LineprofError | None = None
    try:
        session.begin(sys.path, own_process=False)
        session.run()
    except BaseException as error:
        trouble = _not_run(error, session)
        lost = session.end(_how(error))
        if not trouble:
            for what in (lost, session.advice(error)):
                if what:
                    messages.print_error(what)
            raise
    else:
        trouble = session.end()
    if trouble:
        fail(trouble)


def run_alone(words: Sequence[str], path: list[str], called: str) -> None:
    """Run the command line in a process that is the program's own.

    `called` is the name of the command and `words` is what follows it; `path` is
    `sys.path` without the entry that python made for kernprof. The profile is
    written when python leaves the process: after the program's threads and exit
    handlers.
    """
    messages.set_program_name(called)
    try:
        session = _session(words, called)
    except LineprofError as error:
        _exit(error)
    if session is None:
        return
    last = _Last(session)
    atexit.register(last.rites)
    try:
        session.begin(path, own_process=True)
        session.run()
    except BaseException as error:
        not_run = _not_run(error, session)
        if not_run:
            _exit(not_run)
        last.error = error
        if not isinstance(error, SystemExit):
            session.refuse(error)
            advice = session.advice(error)
            hide_our_frames(error, then=lambda: _leave(session, advice))
        raise
    session.program.leave()


def _leave(session: Session, advice: str) -> None:
    """Do what is left to do when python has shown what ended the program."""
    if advice:
        messages.print_error(advice)
    session.program.leave()


class _Last:
    """What is left to do in a process that is about to end."""

    def __init__(self, session: Session) -> None:
        """Expect the program to succeed."""
        self.error: BaseException | None = None
        self._session: Session | None = session

    def rites(self) -> None:
        """Write the profile; if that fails, success becomes failure."""
        session, self._session = self._session, None
        error, self.error = self.error, None
        if session is None:
            return
        trouble = session.end(_how(error))
        if trouble:
            messages.print_error(trouble)
            if _succeeded(error):  # python has settled on 0 by now
                messages.flush()
                os._exit(1)
        if type(error) is KeyboardInterrupt:
            _remember_interrupt()


def _not_run(error: BaseException, session: Session) -> NotRunError | None:
    """Return `error` if it says that there is no such program, else None."""
    if isinstance(error, NotRunError) and not session.program.started:
        return error
    return None


def _how(error: BaseException | None) -> str:
    """Say how a program ended that `error` ended, "" for normally."""
    if error is None or isinstance(error, SystemExit):
        return ""
    return "KeyboardInterrupt" if type(error) is KeyboardInterrupt else "exception"


def _succeeded(error: BaseException | None) -> bool:
    if isinstance(error, SystemExit):
        code: object = error.code
        return code is None or (isinstance(code, int) and code == 0)
    return error is None


def _remember_interrupt() -> None:
    """Have python end the process by SIGINT, as it does after KeyboardInterrupt.

    It notes that the last code it ran by itself was interrupted; any ``exec``
    of a text since then, be it for a namedtuple, has made it forget.
    """
    try:
        exec("raise KeyboardInterrupt")  # noqa: S102  # a text of ours
    except KeyboardInterrupt:
        return


def _session(words: Sequence[str], called: str = "kernprof") -> Session | None:
    """Return the session that `words` ask for, None if they only asked a question.

    Raises LineprofError where there cannot be one.
    """
    plan = parse(words, called)
    if plan.help:
        print_message(help_text(called) + "\n")
    elif plan.version:
        from lineprof.version import VERSION  # noqa: PLC0415  # only here

        print_message(f"{VERSION}\n")
    else:
        fill(plan)
        check(plan)
        for remark in plan.remarks:
            messages.print_error(remark)
        return Session(plan)
    return None


def _exit(error: LineprofError) -> NoReturn:
    messages.print_error(error)
    raise SystemExit(getattr(error, "status", 1))


def _raise(error: LineprofError) -> NoReturn:
    raise error
