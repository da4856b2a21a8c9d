"""What ``kernprof --help`` prints."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_OPENING = """
Run a Python program as `python` would, and record where its time goes: with -l
line by line in every function under @profile, or where nothing is, in all of
the program's own; otherwise call by call with cProfile. The program needs no
import for @profile."""

_CLOSING = """
A long flag without a value may be followed by =yes or =no, or begin with --no-;
short ones stand together: -lvz. What follows the program's name is the
program's, but for a first -- (with one before the name, that is its, too).

Defaults come from the table [tool.line_profiler.kernprof], and on top of it
[tool.lineprof.kernprof], of the file that LINE_PROFILER_RC names, else of
lineprof.toml, line_profiler.toml or pyproject.toml in this folder or the
nearest above. Their keys are the flags without dashes: prof-mod = ["package"].

The profile's name (-o, else outfile there, else the variable LINEPROF_OUTFILE,
else %s.lprof; for cProfile %s.prof) may hold:
  %s  script's name without its ending,    %f  script's file name
      or module's dotted name              %p  process id
  %h  host's name                          %t  time of the start
  %q{VAR}  variable of the environment     %%  per cent sign

Exit status: the program's own; 1 if it succeeded but its profile could not be
written; 2 if the command line is at fault."""

_PROGRAMS = (
    ("-m NAME", "run a module, as python -m does"),
    ("-c CODE", "run the code given, as python -c does"),
    ("-", "run the program on standard input"),
)
_COLUMN, _WIDTH = 30, 80


def usage(called: str) -> str:
    """Return the one line that says how to call the command `called`."""
    program = "{script.py | -m module | -c code | -}"
    return f"usage: {called} [flags] {program} [arguments...]"


def help_text(called: str = "kernprof") -> str:
    """Return the whole help of the command `called`."""
    from kernprof.flags import GROUPS  # noqa: PLC0415  # usage() needs none

    lines = [usage(called), _OPENING]
    for title, flags in GROUPS.items():
        lines += ["", f"{title}:"]
        for flag in flags:
            lines += _row(flag.spelled, flag.text)
    lines += ["", "the program:"]
    for spelled, text in _PROGRAMS:
        lines += _row(spelled, text)
    return "\n".join([*lines, _CLOSING])


def _row(spelled: str, text: str) -> Iterator[str]:
    """Yield one flag and what it does, in two columns."""
    line = f"  {spelled}".ljust(_COLUMN)
    for word in text.split():
        if len(line) + len(word) >= _WIDTH:
            yield line
            line = " " * _COLUMN
        line += f" {word}"
    yield line
