"""What -vv tells of a run: what is run, by which means, and why by these."""

from __future__ import annotations

import os
import shlex
import sys
import time
from typing import TYPE_CHECKING

from kernprof.options import COMMAND, MODULE, SCRIPT
from lineprof.console.output import StdoutBuffer, print_message, python_command
from lineprof.console.output import print_stderr as _complain

if TYPE_CHECKING:
    from typing import TextIO

    from kernprof.options import Plan
    from kernprof.recorders import Recorder


# What kernprof has to say of an exception that is its own flags' doing.


_NO_PROFILE = "name 'profile' is not defined"


def advice(error: BaseException, plan: Plan) -> str:
    """Return a line on `error`, which the program did not catch; mostly ""."""
    if plan.line_by_line or plan.builtin or not isinstance(error, NameError):
        return ""
    if not str(error).startswith(_NO_PROFILE):
        return ""
    return (
        "'profile' is a builtin with -l (every line) or -b (every call) alone;"
        f" try: kernprof -l {plan.target}"
    )


# What kernprof says at the end: the table, or how to see it. Imported then.


def table(recorder: Recorder) -> str:
    """Return the table, as standard output is to show it."""
    stream = StdoutBuffer()
    recorder.show(stream)
    return stream.getvalue()


def how_to_view(viewer: str, path: str) -> str:
    """Return two lines that tell which command shows the profile at `path`."""
    command = f"{python_command()} -m {viewer} {shlex.quote(path)}"
    return f"Inspect results with:\n{command}"


_VARIABLE = "LINE_PROFILER_DEBUG"  # line_profiler's: as -vv, but for the table
_ON = frozenset(("1", "on", "true", "yes"))


class Log:
    """Lines on standard output, in the form that line_profiler gives them."""

    def __init__(self, plan: Plan) -> None:
        """Log what `plan` asks for, if it asks for a log."""
        asked = os.environ.get(_VARIABLE, "").lower() in _ON
        self._plan = plan
        self._on = plan.verbosity > 1 or asked

    def begin(self, means: str, outfile: str) -> None:
        """Tell what is about to run, recorded by these `means` into `outfile`."""
        if not self._on:
            return
        plan = self._plan
        kinds = {SCRIPT: "script", MODULE: "module", COMMAND: "code"}
        lines = [
            f"Loaded configs from {plan.config!r}" if plan.config else "No config file",
            f"Profiling {kinds.get(plan.kind, 'standard input')}: {plan.target!r}",
            means,
            f"Output destination: {outfile!r}",
        ]
        if plan.setup:
            lines.append(f"Executing file {plan.setup!r} as pre-profiling setup")
        if plan.prof_mod:
            lines.append(f"Profiling targets: {', '.join(plan.prof_mod)}")
        if plan.output_interval:
            lines.append(f"Writing the profile every {plan.output_interval} s")
        for line in lines:
            print_message(_stamped(line, "DEBUG"))

    def informed(self, text: str) -> str:
        """Return `text` as it is printed: with the time, where there is a log."""
        return _stamped(text, "INFO") if self._on else f"{text}\n"


def _stamped(text: str, level: str) -> str:
    now = time.time()
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    return f"[kernprof {stamp},{int(now * 1000) % 1000:03d} {level}] {text}\n"


# What kernprof itself says, on streams that are the program's, too.


_name = "kernprof"


def set_program_name(name: str) -> None:
    """Have `complain` begin its lines with the name of the command that was given."""
    global _name  # noqa: PLW0603  # a process has one command
    _name = name


def print_error(what: object) -> None:
    """Print one line on standard error, if there is one."""
    _complain(f"{_name}: {what}")


def flush() -> None:
    """Empty the buffers of the standard streams."""
    _flush(sys.stdout)
    _flush(sys.stderr)


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except Exception:  # noqa: BLE001  # the program may have put anything there
        return
