"""`lineprof recover`: profiles of processes that ended before they wrote them."""

from __future__ import annotations

import os
import pwd
import sys
from functools import partial
from typing import TYPE_CHECKING

from kernprof.environment import import_all
from lineprof.cli.command import Command, add_argument
from lineprof.console.output import print_error, print_errors, print_lines
from lineprof.errors import LineprofError
from lineprof.processes import recovery
from lineprof.processes.recovery import folders_of_users, recover, state_of
from lineprof.snapshot.live_file import read_notes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lineprof.processes.recovery import DeadRun


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = partial(add_argument, parser)
    add(
        "PLACE",
        "live files, or folders of them (default: those of LINEPROF_LIVE and of"
        " the folders for temporary files)",
        nargs="*",
    )
    add(
        "-o, --outfile FILE",
        "write to this file (default: the one that the program would have"
        " written); there must be one profile to recover",
    )
    add("--list", "say what there is to recover, and change nothing", dest="only_list")
    add(
        "--force",
        "also take programs of another machine or container, which may still run",
    )
    add(
        "--all-users",
        "as root: also take the programs of other users, each with that user's"
        " rights (default: root's own)",
    )


def _recover(_parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Recover all that is there; LineprofError if any of it cannot be."""
    if not parsed.all_users:
        found = _recover_from(parsed.files, parsed)
    elif parsed.files or parsed.outfile:
        raise LineprofError(
            "--all-users writes each profile where its run would have written it",
            hint="leave out the places and -o",
        )
    elif os.geteuid() != 0:
        raise LineprofError(
            "--all-users takes the runs of other users, which only root may",
            hint="run it as root, or leave the flag out",
        )
    else:
        found = _recover_all_users(parsed)
    if not found:
        print_lines(["there is nothing to recover"])


def _recover_from(places: Sequence[str], parsed: argparse.Namespace) -> bool:
    """Recover what is in the places, by default what this user's programs left.

    Returns whether there was anything.
    """
    files = list(recovery.live_files(places))
    runs = recovery.dead_runs(files, force=parsed.force, clean=not parsed.only_list)
    taken = {process.path for run in runs for process in run.processes}
    others = (path for path in files if path not in taken)
    left = _left_alone(others, force=parsed.force)
    last = left.pop() if left and parsed.files and not runs else ""
    print_errors(left)
    if last:
        raise LineprofError(last)
    if not runs:
        return False
    if parsed.only_list:
        print_lines(_described(runs))
        return True
    if parsed.outfile and len(runs) > 1:
        raise LineprofError(
            f"there are {len(runs)} profiles to recover, and -o names one file",
            hint="also name the live file: see --list",
        )
    _write_all(runs, parsed.outfile)
    return True


def _recover_all_users(parsed: argparse.Namespace) -> bool:
    """Recover the runs of root, and those of each other user as that user.

    A live file names the file to write, so what is another user's is read and written
    with no more than that user's rights. Returns whether there was anything.
    """
    others = folders_of_users()
    if others:
        import_all()  # others may not read the folder of this Python
    failed: LineprofError | None = None
    statuses = set()
    try:
        statuses.add(_FOUND if _recover_from((), parsed) else _NOTHING)
    except LineprofError as error:
        failed = error
    for user, folders in others.items():
        status = _as_user(user, lambda: _recover_from(folders, parsed))  # noqa: B023  # it is called at once
        statuses.add(status)
        if status not in {_FOUND, _NOTHING}:
            if failed:
                print_error(str(failed))
            failed = LineprofError(
                f"not all runs of user {user} could be recovered",
                hint=f"run it as that user on {folders[0]}",
            )
    if failed:
        raise failed
    return statuses != {_NOTHING}


_FOUND, _FAILED, _NOTHING = 0, 1, 3  # exit statuses of a process of a user


def _as_user(user: int, act: Callable[[], bool]) -> int:
    """Call `act` in a process that has the rights of a user, and no others.

    Returns its exit status: whether it found anything. An error is printed there.
    """
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = _FAILED
    try:
        _become(user)
        found = act()
        sys.stdout.flush()
        status = _FOUND if found else _NOTHING
    except LineprofError as error:
        print_error(str(error))
    except BaseException as error:  # noqa: BLE001  # the child goes no further
        print_error(f"{type(error).__name__}: {error}")
    finally:
        os._exit(status)


def _become(user: int) -> None:
    """Give this process, which is root's, the rights of a user for good."""
    try:
        known = pwd.getpwuid(user)
    except KeyError:  # without an entry there is no group either
        os.setgroups([])
        os.setgid(user)
    else:
        os.initgroups(known.pw_name, known.pw_gid)
        os.setgid(known.pw_gid)
    os.setuid(user)


def _write_all(runs: list[DeadRun], out: str | None) -> None:
    """Write the profiles of the runs; LineprofError if that fails for any.

    Those that fail for the same reason get one line.
    """
    failed: dict[str, list[LineprofError]] = {}
    for run in runs:
        try:
            done = recover(run, out)
        except LineprofError as error:
            reason = getattr(error, "strerror", None) or str(error)
            failed.setdefault(reason, []).append(error)
        else:
            if done:
                pid = run.processes[0].pid
                print_lines([f"Recovered {done.path} (process {pid}: {done.reason})"])
    lines = [
        f"{first}; {len(more)} more fail for the same reason: see --list"
        if more
        else str(first)
        for first, *more in failed.values()
    ]
    print_errors(lines[:-1])
    if lines:
        raise LineprofError(lines[-1])


def _left_alone(paths: Iterable[str], *, force: bool) -> list[str]:
    """Return the lines on live files that are not recovered.

    There is one for each run, and one for all files of a folder that cannot be read for
    the same reason, such as those of an earlier version.
    """
    lines: dict[str, None] = {}
    unread: dict[tuple[str, str, str], list[str]] = {}
    known: dict[str, str] = {}
    for path in paths:
        try:
            notes = read_notes(path)
        except LineprofError as error:
            if os.path.lexists(path):  # others are needless, and gone
                before, _, reason = str(error).partition(path)
                folder, name = os.path.split(path)
                unread.setdefault((before, folder, reason), []).append(name)
        else:
            if why := state_of(path, notes, known, force=force):
                lines[f"{notes.out or path} is left alone: {why}"] = None
    for (before, folder, reason), names in unread.items():
        many = f"{len(names)} files in {folder}, such as "
        what = many + names[0] if names[1:] else os.path.join(folder, names[0])
        lines[f"{before}{what}{reason}"] = None
    return list(lines)


def _described(runs: list[DeadRun]) -> Iterator[str]:
    for run in runs:
        for process in run.processes:
            command = " ".join(map(str, process.notes.process.get("argv", ())))
            yield f"{run.out}: process {process.pid}, {command} (in {process.path})"


COMMAND = Command(add_flags=_add_flags, run=_recover)
