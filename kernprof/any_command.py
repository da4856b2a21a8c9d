"""Runs of any command: every Python process that it starts, at any depth, is profiled.

``lineprof run --children -- COMMAND`` is for shell scripts, launchers and build tools.
Each Python in it joins the run as a child does; none of them is the first.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from kernprof import messages
from kernprof.children import not_measured, place_of, settings_of, why_missing
from kernprof.earlier_profile import has_profile, how_kept, no_hits
from kernprof.line_results import write_page
from kernprof.options import check, fill, parse
from kernprof.output_file import Names, output_of
from kernprof.profilers import new_profiler
from kernprof.signals import die_of
from lineprof.console.output import print_message
from lineprof.errors import LineprofError
from lineprof.line_stats import LineStats
from lineprof.process_info import unix_ns
from lineprof.processes.parts import VARIABLE, Live, Run, collect
from lineprof.recording.core import new_live_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernprof.output_file import Output, OutputFile
    from kernprof.run_options import RunOptions
    from lineprof.processes.parts import Part
    from lineprof.recording.live_file import LiveFile

_FLAG, _DASHES = "--children", "--"
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126  # exit statuses of a shell
_PASSED_ON = (
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_OF_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_FROM_KERNEL = 0x80  # si_code of a signal that a terminal sends to all
_STRIPPING = ("sudo", "su", "doas", "runuser")  # commands that clear the environment
_SHELL = "/bin/sh"


def is_any_command(words: Sequence[str]) -> bool:
    """Return whether the flags in `words` are followed by ``--`` and a command."""
    flags = list(words[: words.index(_DASHES)]) if _DASHES in words else []
    return _FLAG in flags


def run_any_command(words: Sequence[str], name: str) -> int:
    """Run the command after ``--`` in `words`; return its exit status.

    `name` is the name of our own command, for messages.
    """
    messages.set_program_name(name)
    place = words.index(_DASHES)
    command = list(words[place + 1 :])
    try:
        options = _options([*words[:place], "-l"], command, name)
        program = os.path.basename(command[0])
        stem = os.path.splitext(program)[0]
        names = Names(stem=stem, file_name=program, place=options.place)
        out = output_of(options.outfile, names, html=options.html)
        # This live file has no counts. While it is there, `lineprof recover` leaves
        # the counts of the processes to this run.
        file = new_live_file(out.file.path)
        try:
            status, failure = _run_and_write(command, out, options, file)
        finally:
            if file:
                file.close(remove=True)
    except LineprofError as error:
        messages.print_error(error)
        return getattr(error, "status", 1)
    if status < 0:
        messages.flush()
        die_of(-status)
    return status or int(failure)


def _run_and_write(
    command: list[str], out: Output, options: RunOptions, file: LiveFile | None
) -> tuple[int, bool]:
    """Run `command`, and write the profile to `out`.

    `file` is the live file of this process, beside which are those of the others.
    Returns the exit status, below 0 for a signal, and whether the run failed: the
    profile could not be written, or lacks the hits that are required. Raises
    LineprofError if the run cannot begin.
    """
    live = place_of(file)
    run = _new_run(options, live)
    if file:  # for the recovery of this run, if this process is killed
        rank = options.place and options.place.rank
        file.note(folder=run.folder, start_unix_ns=unix_ns(), rank=rank)
    try:
        status, is_started = _run(command, run)
        parts = list(collect(run, live))
        failure = _write(parts, out, options, command) if is_started else None
        is_missing = is_started and options.require_hits and not _has_hits(parts)
    except BaseException:
        run.remove()
        raise
    if failure:
        messages.print_error(f"{failure}; {_what_is_kept(parts, run)}")
    else:
        for part in parts:
            part.remove()
        run.remove()
        if is_missing:
            messages.print_error(no_hits())
    return status, failure is not None or is_missing


def _has_hits(parts: Iterable[Part]) -> bool:
    return any(part.profile and not part.profile.is_empty for part in parts)


def _what_is_kept(parts: Iterable[Part], run: Run) -> str:
    """Return where the counts are that could not be written, in half a sentence."""
    kept = []
    if run.has_profiles:
        kept.append(f"the profiles in {run.folder} are kept for `lineprof merge`")
    others = (one.file for one in parts if os.path.dirname(one.file) != run.folder)
    if any(map(os.path.exists, others)):
        kept.append("the counts are kept for `lineprof recover`")
    return ", and ".join(kept) or "nothing was counted"


def _options(flags: list[str], command: list[str], name: str) -> RunOptions:
    """Return the options in `flags`; LineprofError if they are wrong."""
    if not command:
        raise LineprofError(f"no command follows {_DASHES}", hint="name a program")
    options = parse([*flags, _DASHES, *command], name)
    fill(options)
    check(options)
    for warning in options.warnings if options.speaks else ():
        messages.print_error(warning)
    return options


def _new_run(options: RunOptions, live: Live | None) -> Run:
    """Return a run that is set up for `options`; LineprofError if that fails."""
    calibrated = new_profiler(options)
    try:
        run = Run.new()
        run.set_up(settings_of(options, calibrated, live, is_first=True))
    except OSError as error:
        raise LineprofError(
            f"cannot make a folder for what processes count: {error.strerror}",
            hint="set TMPDIR to a folder that you can write to",
        ) from None
    return run


def _run(command: list[str], run: Run) -> tuple[int, bool]:
    """Run `command`; return its exit status, and whether it could be started.

    A status below 0 is the signal that ended it.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # it may be ignored, as by a shell
    old = signal.pthread_sigmask(signal.SIG_BLOCK, (*_PASSED_ON, signal.SIGCHLD))
    environment = {**os.environ, VARIABLE: run.place}
    try:
        pid = _start(command, environment, old)
    except OSError as error:
        messages.print_error(f"cannot run {command[0]!r}: {error.strerror}")
        is_missing = isinstance(error, FileNotFoundError)
        return (_NOT_FOUND if is_missing else _NOT_EXECUTABLE), False
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            break
        number, is_from_terminal = _next_signal()
        if number != signal.SIGCHLD and not is_from_terminal:
            with suppress(OSError):  # it has ended, or is of another user
                os.kill(pid, number)
    for number in _PASSED_ON:  # those that have come since have no effect
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, old)
    return os.waitstatus_to_exitcode(status), True


def _start(command: list[str], environment: dict[str, str], mask: Iterable[int]) -> int:
    """Start `command` with that mask of signals; return its pid. OSError."""
    try:
        return os.posix_spawnp(
            command[0], command, environment, setsigmask=mask, setsigdef=_OF_PYTHON
        )
    except OSError as error:
        script = shutil.which(command[0])
        if error.errno != errno.ENOEXEC or not script:
            raise
    words = [_SHELL, script, *command[1:]]  # as execvp(3) does
    return os.posix_spawn(
        _SHELL, words, environment, setsigmask=mask, setsigdef=_OF_PYTHON
    )


def _next_signal() -> tuple[int, bool]:
    """Wait for a signal; return it, and whether the command has received it too."""
    wanted = (*_PASSED_ON, signal.SIGCHLD)
    if sys.platform == "linux":
        found = signal.sigwaitinfo(wanted)
        return found.si_signo, found.si_code == _FROM_KERNEL
    number = signal.sigwait(wanted)
    return number, number in {signal.SIGINT, signal.SIGQUIT}


def _write(
    parts: Iterable[Part], out: Output, options: RunOptions, command: list[str]
) -> LineprofError | None:
    """Write the profile of all processes; return why that failed, or None."""
    found = [part.profile for part in parts if part.profile is not None]
    missing = why_missing(parts)
    is_quiet = options.verbosity < 0 or not options.speaks
    for line in not_measured(missing) if not is_quiet else ():
        messages.print_error(line)
    if not found:
        if not missing and options.speaks:
            messages.print_error(_why_nothing(command))
        return None
    first, *others = found
    stats = LineStats.from_stats_objects(first, *others)
    if stats.is_empty and has_profile(out.file.path):
        messages.print_error(how_kept(out.file.shown))
        return None
    try:
        stats.to_file(out.file.path)
    except LineprofError as error:
        return error
    page = _written_page(stats, out.page)
    if not is_quiet:
        _print_summary(stats, out._replace(page=page), options)
    return None


def _written_page(stats: LineStats, page: OutputFile | None) -> OutputFile | None:
    """Write the page, if it is asked for; return its file, None if there is none."""
    try:
        if page:
            write_page(stats, page)
    except LineprofError as error:
        messages.print_error(error)
        return None
    return page


def _print_summary(stats: LineStats, out: Output, options: RunOptions) -> None:
    log = messages.Log(options)
    count = len(stats.processes)
    processes = "1 process" if count == 1 else f"{count} processes"
    print_message(log.wrote(out, f" of {processes}"))
    if options.verbosity > 0:
        stats.print(output_unit=options.unit, config=options.settings)
    else:
        print_message(log.commands(out, "lineprof view"))
    if stats.why_empty:
        messages.print_error(stats.why_empty)


def _why_nothing(command: list[str]) -> str:
    """Return why no Python has joined the run."""
    names = [os.path.basename(word) for word in command]
    for name in _STRIPPING:
        if name in names:
            return (
                f"nothing was profiled: {name} clears the environment, so that no"
                f" Python saw {VARIABLE}; put {name} first: {name} lineprof run ..."
            )
    return (
        f"nothing was profiled: no Python with lineprof saw the variable {VARIABLE};"
        " perhaps the command starts none, or another Python, or clears the environment"
    )
