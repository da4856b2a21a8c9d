"""Words that are no command, flag or function, and the commands that were meant.

Users bring words from other profilers, and misspell ours.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from lineprof.cli.command import is_profile
from lineprof.cli.completions import command_lines
from lineprof.cli.main import COMMANDS, parsers_of
from lineprof.cli.run import NAME as RUN
from lineprof.console.output import shell_path
from lineprof.errors import LineprofError
from lineprof.export import EXPORTS
from lineprof.files import SOURCE
from lineprof.flags import near_flags
from lineprof.patterns import did_you_mean, listed, near
from lineprof.report import TEXT, VIEWS
from lineprof.report.line_table import EXTRA_COLUMNS
from lineprof.report.lookup import UnknownNameError
from lineprof.report.options import FUNCTION_ORDERS, SORT, parse_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lineprof.cli.command import Parser

_MEANINGS = {
    "kernprof -l script.py profiles a program": (
        "profile record exec script launch start kernprof"
    ),
    "lineprof view FILE shows the profile": (
        "show report print summary stats stat table text annotate source"
    ),
    "lineprof view --hot N FILE shows the hottest lines": "top lines hotspots hottest",
    "lineprof view --brief N FILE answers in at most N words": "answer short tldr",
    "lineprof view --tree FILE shows the calls": (
        "graph callgraph call-graph calls calltree"
    ),
    "lineprof view --drill NAME FILE shows what a function calls": "callees children",
    "lineprof view --advice FILE names what can be faster": (
        "analyze analyse advise tips hints suggest"
    ),
    "lineprof view --sort ORDER FILE sorts functions": "order sorted",
    "lineprof view NAME FILE shows the functions of a file, a class or a name": (
        "filter only module function file match focus"
    ),
    "lineprof view --by process FILE shows each process": "processes subprocesses",
    "the timeline of kernprof -l --trace has each thread": "thread threads",
    "lineprof export -f svg FILE draws a flame graph": (
        "flamegraph flame flame-graph svg icicle"
    ),
    "lineprof export -f FORMAT FILE writes a file for other programs": (
        "format type convert transform save"
    ),
    "lineprof view --markdown FILE prints it for a comment": "markdown md github",
    "lineprof diff BEFORE AFTER compares profiles": "compare cmp comparison",
    "lineprof serve FILE shows the profile in a browser": (
        "open browse browser web gui ui dashboard"
    ),
    "lineprof serve FOLDER lists the profiles of a folder": "list ls",
    "lineprof merge FILE... -o OUT adds profiles up": "join combine add sum",
    "lineprof top PID shows a program that runs": "live watch monitor",
    "lineprof dump PID prints the stack of each thread": "stack stacks backtrace",
    "lineprof ctl PID stop|start|reset|write|status is for a program that runs": (
        "stop pause resume reset snapshot detach status"
    ),
    "NO_COLOR=1 turns colour off": "no-color no-colour",
    "lineprof --version prints the version": "version",
    "every line is timed: there is no rate of samples": "rate interval frequency",
}

# Words of other profilers and of users, and what they stand for.
_WORDS = {
    **{name: f"lineprof export -f {name} FILE writes one" for name in EXPORTS},
    **{
        name: f"for the view of this name: lineprof view --{name} FILE"
        for name in VIEWS
        if name != TEXT.name
    },
    **{
        word: is_meant
        for is_meant, words in _MEANINGS.items()
        for word in words.split()
    },
}

# The same for flags, without their dashes.
_FLAGS = {
    **{
        name: f"lineprof view --functions --sort {order} FILE sorts functions by it"
        for name, order in FUNCTION_ORDERS.items()
    },
    **{name: f"lineprof view --columns {name} FILE adds it" for name in EXTRA_COLUMNS},
    **_WORDS,
}

_SHORT = ("-l", "-f")  # short flags that mean the same to most

_LETTERS = {"n": "top", "s": "order", "v": "version"}  # of short flags of others

_OUTPUTS = ("--output", "--outfile", "--out", "--log-file", "--save")


def no_command(typed: Sequence[str]) -> str:
    """Return why the first of these words is no command, and what was meant.

    "" if it may be a file, or the name of a function in a profile among the words.
    """
    return "" if any(map(is_profile, typed[1:])) else _refusal(typed[0])


def _refusal(word: str) -> str:
    """Return which command was meant by a word; "" if it is a file, or unknown."""
    if not _is_bare(word) or any(map(os.path.lexists, (word, f"{word}.lprof"))):
        return ""
    meaning = _WORDS.get(word) or did_you_mean(_near_commands(word))
    return f"there is no command {word!r}; {meaning}" if meaning else ""


def explained(
    error: LineprofError, arguments: Sequence[str], *, begins: bool
) -> LineprofError:
    """Return an error, with the command that was meant by a name that is unknown.

    `arguments` are those of a command; if none `begins` the command line, the first of
    them may have been meant for one.
    """
    if not isinstance(error, UnknownNameError):
        return error
    name, near_names = error.name, list(error.near)
    place = arguments.index(name) if name in arguments else 0
    before = arguments[place - 1] if place else ""
    if before.startswith("--html="):
        return LineprofError(f"{name} is no page", hint=f"--html {name}.html names one")
    if before in SORT.names and not near_names:
        try:
            parse_order(name)
        except LineprofError as no_order:
            return no_order
    meaning = "" if before.startswith("--") else _WORDS.get(name, "")
    message = error.message
    if not (place or begins) and _is_bare(name):
        message = f"there is no command {name!r}, and {message}"
        near_names += _near_commands(name)
    if meaning:
        near_names = [one for one in near_names if name in one]
    hint = " ".join(filter(None, (did_you_mean(near_names), meaning)))
    return LineprofError(message, hint=hint or error.hint)


def _is_bare(word: str) -> bool:
    """Return whether a word is written as commands are."""
    return re.fullmatch(r"[a-z][a-z-]*", word) is not None


def _near_commands(word: str) -> list[str]:
    """Return the command, or else the view, that looks most like a word, if any."""
    commands = near(word, [*COMMANDS, RUN])[:1]
    views = near(word, [name for name in VIEWS if name != TEXT.name])[:1]
    return [f"lineprof {one}" for one in commands] or [
        f"lineprof view --{one}" for one in views
    ]


def unrecognized(flags: Sequence[str], parser: Parser, typed: Sequence[str]) -> str:
    """Return a message on flags that a command does not have.

    `typed` is the command line if it does not begin with a command, else it is empty.
    """
    if typed and (refusal := _refusal(typed[0])):
        return refusal
    scripts = [word for word in typed if word.endswith(SOURCE) and os.path.isfile(word)]
    if scripts and not any(map(is_profile, typed)):
        script = scripts[0]
        return f"{script} is no profile; kernprof -l {shell_path(script)} makes one"
    message = f"unrecognized arguments: {' '.join(flags)}"
    return "; ".join(filter(None, (message, _meaning_of_flag(flags[0], parser))))


def _meaning_of_flag(flag: str, parser: Parser) -> str:
    """Return what was meant by a flag that a command does not have, "" if unknown."""
    name = flag.partition("=")[0]
    word = name.lstrip("-")
    if word in {"p", "pid"} and "PID" in parser.format_usage():
        return "give the PID without a flag"
    if name in _OUTPUTS and "-o" in parser.flags:
        return "-o names the file to write"
    meaning = _FLAGS.get(_LETTERS.get(word, word), "")
    if meaning and not meaning.startswith(f"{parser.prog} FILE"):
        return meaning
    takers = _takers(name)
    if takers:
        return f"{name} is a flag of {listed(takers, ' and ')}"
    return did_you_mean(near_flags(name, parser.flags))


def _takers(flag: str) -> list[str]:
    """Return the commands that have a long flag, or a short one of `_SHORT`."""
    if flag[:2] != "--" and flag not in _SHORT:
        return []
    lines = command_lines(*parsers_of(COMMANDS), COMMANDS).commands
    return [
        "kernprof" if command == RUN else f"lineprof {command}"
        for command, line in lines.items()
        if any(flag in one.names for one in line.flags)
    ]
