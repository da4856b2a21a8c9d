"""The profile of a run so far, from the live files of its processes.

Nothing is asked of the program, and it is not stopped: see `lineprof.live.reading`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError
from lineprof.files import real_path
from lineprof.model.profile import Profile
from lineprof.processes.last_snapshot import completed, identities
from lineprof.processes.recovery import (
    DeadProcess,
    DeadRun,
    is_running,
    live_files,
    profile_of_child,
    profile_of_running,
    runs_of_children,
)
from lineprof.snapshot.live_file import read_notes
from lineprof.storage import load
from lineprof.storage.reader import load_processes

if TYPE_CHECKING:
    from collections.abc import Iterator


def profile_so_far(path: str) -> Profile | None:
    """Return what the run that will write the profile at `path` has counted by now.

    It has the processes that the run has started, GPU work up to the moment when the
    run last wrote its profile, and no texts of source files. None if no such run goes
    on, or if this system does not show it. Raises LineprofError if the live file of
    its first process is damaged.
    """
    first = _first_process(real_path(path))
    if first is None:
        return None
    profiles = []
    if first.has_counts:  # a run of any command has those of its children alone
        snapshot = _snapshot(first, path)  # earlier than the counts: these do not fall
        try:
            profile = profile_of_running(first.path)
        except LineprofError:
            if os.path.lexists(first.path):
                raise
            return None  # it has just ended, and written its profile
        if snapshot and identities(snapshot) == identities(profile):
            profile = completed(profile, snapshot).profile
        profiles.append(profile)
    # Children that end in the meantime leave a part, so parts are read last.
    children = [*_children(first)]
    parts = [
        part for run in runs_of_children(DeadRun((first,))) for part in run.parts()
    ]
    told = {part.pid for part in parts if part.profile}
    profiles += [
        found
        for child, found in children
        if not (child.notes.more.get("part") and child.pid in told)
    ]
    profiles += [part.profile for part in parts if part.profile]
    if not os.path.lexists(first.path):
        return None  # as above; what its children left went before that
    if not profiles:
        return Profile.from_functions(())
    whole = profiles[0] if len(profiles) == 1 else Profile.from_stats_objects(*profiles)
    return whole.with_warnings(())  # they are those of a recovered profile


def _first_process(out: str) -> DeadProcess | None:
    """Return the first process of the run that will write `out`, if that goes on.

    Of several runs, that of the one which began last.
    """
    found = []
    for path in live_files():
        with suppress(LineprofError):
            one = DeadProcess(path, read_notes(path))
            is_first = not one.is_child and one.notes.out
            is_wanted = is_first and real_path(one.notes.out) == out
            if is_wanted and is_running(path, one.notes):
                found.append(one)
    return max(found, key=lambda one: one.start_ns, default=None)


def _children(first: DeadProcess) -> Iterator[tuple[DeadProcess, Profile]]:
    """Yield the other processes of a run that have live files, and their counts."""
    for path in live_files([os.path.dirname(first.path)]):
        with suppress(Exception):  # it is damaged, or has just been removed
            one = DeadProcess(path, read_notes(path))
            if not one.is_child or one.notes.run != first.notes.run:
                continue
            is_alive = one.has_counts and is_running(path, one.notes)
            yield one, profile_of_running(path) if is_alive else profile_of_child(one)


def _snapshot(first: DeadProcess, path: str) -> Profile | None:
    """Return the profile that a run has written on its way; None if there is none."""
    with suppress(LineprofError):
        if any(one.start_unix_ns == first.start_ns for one in load_processes(path)):
            return load(path)
    return None
