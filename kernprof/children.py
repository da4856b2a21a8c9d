"""Child processes: each new interpreter joins the run, and its counts are collected.

`kernprof.child` is what a child does, `joining_hook` what lets it join.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import suppress

from kernprof.child_hook import is_unmeasured
from kernprof.joining_hook import JoiningHook
from kernprof.run_options import ChildOptions
from lineprof.files import current_folder, real_path
from lineprof.process_info import running_children, start_ticks
from lineprof.processes.member import Member
from lineprof.processes.parts import Live, Run, collect, is_helper
from lineprof.recording.descriptors import with_descriptors
from lineprof.recording.profiler import calibration_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from kernprof.line_recorder import LineRecorder
    from kernprof.run_options import RunOptions
    from kernprof.safe_state import SafeNames
    from lineprof.model.profile import Profile
    from lineprof.processes.parts import Part
    from lineprof.recording.live_file import LiveFile
    from lineprof.recording.profiler import LineProfiler

DOOR = "lineprof_children.pth"  # by which Python starts `kernprof.child`
_OPTIONS = [name for name in vars(ChildOptions) if not name.startswith("_")]


class Children:
    """All processes that a program starts, directly or not, under one recorder."""

    def __init__(self, options: RunOptions, recorder: LineRecorder) -> None:
        """Prepare to profile them as `options` say, and as `recorder` does."""
        self._options = options
        self._recorder = recorder
        self._run = Run.new()
        self._live = place_of(recorder.live)
        self.member = Member(self._run, recorder.live)
        self.member.profilers = self._profilers
        self._pid = os.getpid()
        self.member.exits = self._before_exit
        self.member.execs = self._before_exec
        self._measured: set[int] = set()  # pids
        # A shell may have started some, and have become this process after that.
        self._earlier = frozenset(_running_children())
        self._found: list[Profile] | None = None
        self._parts: list[Part] = []
        self._is_kept = False  # what children left is to be recovered

    def hook(self, safe_names: SafeNames) -> JoiningHook:
        """Return what lets processes join that this one starts."""
        return JoiningHook(self.member, safe_names)

    def _profilers(self) -> Sequence[Any]:
        recorder = self._recorder
        return tuple({id(p): p for p in (recorder.profiler, recorder.builtin)}.values())

    def set_up(self) -> None:
        """Leave for children how they are to be profiled, before the program runs."""
        if os.getpid() != self._pid:
            self.member.note_run()
            return
        self.member.is_whole = self._recorder.is_whole
        if self._recorder.live:
            self._recorder.live.note(folder=self._run.folder)
        with suppress(OSError):  # the disk is full: children are not profiled
            self._run.set_up(settings(self._options, self._recorder, self._live))

    def profiles(self) -> list[Profile]:
        """Return the profiles of the children that have ended."""
        if self._found is None:
            self._found = []
            try:
                for part in collect(self._run, self._live):
                    self._take(part)
            except Exception:  # noqa: BLE001  # an audit hook of the program refuses it
                return self._found
        return self._found

    def _take(self, part: Part) -> None:
        self._parts.append(part)
        self._measured.add(part.pid)
        if part.profile is not None:
            self._found = [*(self._found or ()), part.profile]

    def warnings(self, started: dict[int, tuple[str, ...]]) -> list[str]:
        """Return a line on the children that were not measured, and why.

        `started` has the commands of those that run Python, by pid. One that was
        started in C is known only if it still runs.
        """
        running = {
            pid: words
            for (pid, start), words in _running_children().items()
            if (pid, start) not in self._earlier and is_unmeasured(words)
        }
        others = {**running, **started}.items()
        causes = Counter(
            _cause(words) for pid, words in others if pid not in self._measured
        )
        reasons = why_missing(self._parts)
        for cause, count in causes.items():
            reasons[f"{'it' if count == 1 else 'they'} ran {cause}"] = count
        return not_measured(reasons, "child process")

    def _before_exit(self) -> None:
        if os.getpid() == self._pid:
            with_descriptors(self._recorder.leave_early)
            with_descriptors(self._remove_unless_used)

    def _before_exec(self) -> None:
        if os.getpid() == self._pid:
            with_descriptors(self._recorder.leave_early)

    def _remove_unless_used(self) -> None:
        if not self._run.has_profiles:
            self._run.remove()

    def settle(self, *, written: bool) -> None:
        """Remove what children left, once it is `written` to the run's profile.

        Otherwise it is kept, for a profile that is recovered.
        """
        self._is_kept = not written
        if written:
            with suppress(Exception):  # whatever the program left behind
                for part in self._parts:
                    part.remove()

    def end(self) -> None:
        """Take no more children."""
        self.member.end()
        if os.getpid() == self._pid and not self._is_kept:
            with suppress(Exception):  # whatever the program left behind
                with_descriptors(self._run.remove)


def settings(
    options: RunOptions, recorder: LineRecorder, live: Live | None
) -> dict[str, object]:
    """Return how children of the program of `recorder` are to be profiled.

    These are plain values, by name.
    """
    whole = recorder.whole if recorder.is_whole else None
    return {
        **settings_of(options, recorder.profiler, live),
        "files": whole.files.plain() if whole else None,
        "names": tuple(map(_lasting, options.prof_mod)) if recorder.named else (),
    }


def settings_of(
    options: RunOptions,
    profiler: LineProfiler,
    live: Live | None,
    *,
    is_first: bool = False,
) -> dict[str, object]:
    """Return the settings for children as `options` alone say.

    With `is_first` there is no program yet: each child is one, and chooses what is
    profiled in it as kernprof does. `profiler` has the calibration; `live` says where
    live files go.
    """
    hook, costs, turn = calibration_of(profiler)
    names = options.prof_mod
    is_whole = options.whole if options.whole is not None else not names
    return {
        "options": {name: getattr(options, name) for name in _OPTIONS},
        "calibration": (sys.hexversion, hook, costs, turn),
        "files": None,
        "is_first": is_first and is_whole,
        "folder": current_folder(),
        "live": live and tuple(live),
        "names": tuple(map(_lasting, names)),
    }


def _lasting(name: str) -> str:
    """Return a target of -p as it is named from any folder."""
    path, separator, rest = name.partition(":")
    if os.path.exists(path):
        return f"{os.path.abspath(path)}{separator}{rest}"
    return name


def why_missing(parts: Iterable[Part]) -> dict[str, int]:
    """Return why children left no profile, and how many for each reason."""
    errors = Counter(
        part.error for part in parts if part.profile is None and not part.is_empty
    )
    reasons = {}
    for error, count in errors.items():
        if error is None:
            was = "it was" if count == 1 else "they were"
            why = f"{was} killed, or still ran at the end"
        else:
            whose = (
                "it could not write its" if count == 1 else "they could not write their"
            )
            reason = f" ({os.strerror(error)})" if error else ""
            why = f"{whose} counts{reason}; set TMPDIR to a folder with room for them"
        reasons[why] = count
    return reasons


def not_measured(reasons: Mapping[str, int], kind: str = "process") -> list[str]:
    """Return a line on each reason why processes of a `kind` were not measured."""
    return [
        f"1 {kind} was not measured: {why}"
        if count == 1
        else f"{count} {kind}es were not measured: {why}"
        for why, count in reasons.items()
    ]


def place_of(file: LiveFile | None) -> Live | None:
    """Return where live files of children go, beside `file`; None if there are none."""
    if file is None:
        return None
    return Live(folder=os.path.dirname(file.path), run=file.run, out=file.out)


def _cause(words: tuple[str, ...]) -> str:
    """Return what the Python of a command that was not measured ran, or ran with."""
    from shutil import which  # noqa: PLC0415  # rare, and slow

    flags = [word for word in words[1:] if word.startswith("-")]
    if any(not word.startswith("--") and "S" in word for word in flags[:2]):
        return "with -S, which leaves out installed packages"
    executable = which(words[0]) or words[0]
    is_same = real_path(executable) == real_path(sys.executable)
    if not is_same or os.path.dirname(executable) != os.path.dirname(sys.executable):
        return f"another Python, {executable}"
    if not _has_door():
        return f"{executable}, in which lineprof is not installed"
    return f"{executable}, and ended before measuring began"


def _running_children() -> dict[tuple[int, int | None], tuple[str, ...]]:
    """Return the commands of the children that run now, by pid and start in ticks.

    Left out are those that multiprocessing itself needs.
    """
    return {
        (pid, start_ticks(pid)): words
        for pid, words in running_children().items()
        if not is_helper("resource_tracker", words)
    }


def _has_door() -> bool:
    """Return whether this Python starts lineprof in new processes."""
    return any(os.path.exists(os.path.join(folder, DOOR)) for folder in sys.path)
