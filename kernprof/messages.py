"""Messages of kernprof: errors, hints, the log of -vv, and the end of a run.

They go to streams that the program uses too, and may have closed or replaced.
"""

from __future__ import annotations

import os
import sys
import time
from fnmatch import fnmatchcase

from kernprof.run_options import COMMAND, MODULE, SCRIPT
from lineprof.console.output import (
    StdoutBuffer,
    print_message,
    print_stderr,
    python_command,
    shell_path,
    shell_word,
)
from lineprof.errors import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from kernprof.output_file import Output
    from kernprof.recorders import Recorder
    from kernprof.run_options import RunOptions
    from lineprof.ranks import Rank

_program_name = "kernprof"


def set_program_name(name: str) -> None:
    """Begin error messages with `name`, the command that the user typed."""
    global _program_name  # noqa: PLW0603  # a process has one command
    _program_name = name


def print_error(message: object) -> None:
    """Print one line on standard error, if there is one."""
    print_stderr(f"{_program_name}: {message}")


def flush() -> None:
    """Flush the standard streams."""
    flush_stream(sys.stdout)
    flush_stream(sys.stderr)


def flush_stream(stream: TextIO) -> None:
    """Flush one standard stream, whatever the program has put there."""
    try:
        stream.flush()
    except Exception:  # noqa: BLE001  # of the program's object, or there is none
        return


_NO_PROFILE = "name 'profile' is not defined"


def hint_for(error: BaseException, options: RunOptions) -> str:
    """Return a hint on an exception that other flags would avoid, mostly ""."""
    if options.line_by_line or options.builtin or not isinstance(error, NameError):
        return ""
    if not str(error).startswith(_NO_PROFILE):
        return ""
    return (
        "'profile' is a builtin with -l (every line) or -b (every call) alone;"
        f" try: {_for_lines(options, options.arguments)}"
    )


def _for_lines(options: RunOptions, arguments: Iterable[str] = ()) -> str:
    """Return the command that times the lines of a program with these arguments."""
    kind = {MODULE: "-m ", COMMAND: "-c "}.get(options.kind, "")
    as_word = shell_path if options.kind == SCRIPT else shell_word
    program = [f"{kind}{as_word(options.target)}", *map(shell_word, arguments)]
    return " ".join([options.called, "-l", *program])


def table(recorder: Recorder, path: str) -> str:
    """Return what -v shows of the profile at `path`, for standard output."""
    stream = StdoutBuffer()
    recorder.show(stream, path)
    return stream.getvalue()


def how_to_time_lines(options: RunOptions, exit_reason: str) -> list[str]:
    """Return a line on how to time lines, after a run that timed every call.

    kernprof prints what line_profiler's kernprof prints, and the line for a user at a
    terminal alone. A program that failed has a message of its own, and no such line,
    unless it was given our -l.
    """
    if options.line_by_line or options.builtin:
        return []
    if options.called == "kernprof" and not _has_terminal():
        return []
    how = "; to time lines, give -l before the program"
    if options.misplaced:
        ours = " ".join(options.misplaced)
        how = f": flags after the program are its own ({ours}); to time lines"
    elif exit_reason:
        return []
    return [f"functions alone were timed{how}: {_for_lines(options)}"]


def _has_terminal() -> bool:
    """Return whether standard error is a terminal."""
    try:
        return sys.stderr.isatty()
    except Exception:  # noqa: BLE001  # the program may have put anything there
        return False


def how_to_view(viewer: str, path: str) -> str:
    """Return two lines with the command that shows the profile at `path`."""
    command = f"{python_command()} -m {viewer} {shell_path(path)}"
    return f"Inspect results with:\n{command}"


def whose(place: Rank | None, asked: str) -> str:
    """Return whose profile a rank has written, "" for a program that runs alone.

    `asked` is the name that was asked for, if the rank was added to it.
    """
    if place is None:
        return ""
    text = f"rank {place.rank}" + (f" of {place.ranks}" if place.ranks else "")
    return f" ({text}; {asked!r} has no %r)" if asked else f" ({text})"


def how_to_merge(pattern: Iterable[str], merged: str) -> str:
    """Return two lines with the command that merges the profiles of all ranks.

    `pattern` has the parts of their names around each ``*``. If it matches `merged` as
    well, it is in quotes: `merge`, unlike the shell, leaves its own output out.
    """
    import glob  # noqa: PLC0415  # after the program's last line

    first, *rest = pattern
    after = "".join(f"*{shell_word(part) if part else ''}" for part in rest)
    files = (shell_path(first) if first else "") + after
    every = "*".join(map(glob.escape, pattern))
    if fnmatchcase(merged, every):
        files = shell_path(every)
    command = f"{python_command()} -m lineprof merge {files} -o {shell_path(merged)}"
    return f"Merge the profiles of all ranks with:\n{command}"


_DEBUG_VARIABLE = "LINE_PROFILER_DEBUG"  # of line_profiler: as -vv, without the table
_ON = frozenset(("1", "on", "true", "yes"))


class Log:
    """Log lines on standard output, in the format of line_profiler."""

    def __init__(self, options: RunOptions) -> None:
        """Log if `options` or the environment ask for it."""
        wanted = os.environ.get(_DEBUG_VARIABLE, "").lower() in _ON
        self._options = options
        self._is_on = options.speaks and (options.verbosity > 1 or wanted)

    def begin(self, means: str, outfile: str) -> None:
        """Log what is about to run; `means` says how it is recorded."""
        if not self._is_on:
            return
        options = self._options
        kinds = {SCRIPT: "script", MODULE: "module", COMMAND: "code"}
        kind = kinds.get(options.kind, "standard input")
        config = options.config
        lines = [
            f"Loaded configs from {config!r}" if config else "No config file",
            f"Profiling {kind}: {options.target!r}",
            means,
            f"Output destination: {outfile!r}",
        ]
        if options.setup:
            lines.append(f"Executing file {options.setup!r} as pre-profiling setup")
        if options.prof_mod:
            lines.append(f"Profiling targets: {', '.join(options.prof_mod)}")
        if options.output_interval:
            lines.append(f"Writing the profile every {options.output_interval} s")
        for line in lines:
            print_message(_stamped(line, "DEBUG"))

    def wrote(self, out: Output, of: str = "") -> str:
        """Return lines on the files that were written.

        `of` is the text after "results", such as " of 3 processes".
        """
        theirs = whose(self._options.place, out.name.asked)
        text = self.info(f"Wrote profile results{of} to {out.file.shown!r}{theirs}")
        return text + (
            self.info(f"Wrote report to {out.page.shown!r}") if out.page else ""
        )

    def commands(
        self,
        out: Output,
        viewer: str,
        more: Iterable[str] = (),
        *,
        is_merged: bool = True,
    ) -> str:
        """Return lines with the commands to try next: `viewer`'s, `more`, the merge."""
        lines = [how_to_view(viewer, out.file.shown), *more]
        if is_merged and out.name.merged:
            first, *rest = out.name.pattern
            parts = [out.file.from_here(first), *rest]
            lines.append(how_to_merge(parts, out.file.from_here(out.name.merged)))
        return "".join(map(self.info, lines))

    def info(self, text: str) -> str:
        """Return `text` as it is printed: with the time if the log is on."""
        text = printable(text, keep="\n")
        return _stamped(text, "INFO") if self._is_on else f"{text}\n"


def _stamped(text: str, level: str) -> str:
    now = time.time()
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    return f"[kernprof {stamp},{int(now * 1000) % 1000:03d} {level}] {text}\n"
