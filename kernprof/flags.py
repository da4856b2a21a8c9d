"""The flags: what each is called, and which part of a plan it sets."""

from __future__ import annotations

from kernprof.words import (
    boolean,
    count,
    interval,
    megabytes,
    on_or_off,
    one_of,
    seconds,
    slow_down,
    stay,
)
from lineprof.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# How a flag takes a value.
SWITCH = "switch"  # not at all: it sets what it stands for
COUNT = "count"  # not at all: each time it is given counts
BOOLEAN = "boolean"  # the long form, if it likes; --no-NAME is its opposite
OPTIONAL = "optional"  # if it likes
VALUE = "value"  # always
LIST = "list"  # always; each time it is given adds one


class Flag(Value):
    """One flag: what it is called, and which part of the plan it sets."""

    short: str
    long: str
    attribute: str
    text: str
    kind: str = VALUE
    value: str = ""  # what stands for its value in the help
    read: Callable[[str], object] = str  # from the word to the value; UsageError
    bare: str = ""  # of an OPTIONAL: the word that it takes where none is given
    ours: bool = False  # line_profiler has no such flag

    @property
    def spelled(self) -> str:
        """The flag as the help writes it."""
        names = ", ".join(name for name in (self.short, self.long) if name)
        if self.kind == OPTIONAL:
            return f"{names} [{self.value}]"
        return f"{names} {self.value}" if self.value else names

    @property
    def name(self) -> str:
        """The flag without dashes: its name in a file of configuration."""
        return self.long[2:]


def _boolean(
    short: str, long: str, attribute: str, text: str, *, ours: bool = False
) -> Flag:
    return Flag(short, long, attribute, text, BOOLEAN, "", boolean, ours=ours)


def _own(long: str, text: str, value: str, read: Callable[[str], object] = str) -> Flag:
    attribute = long[2:].replace("-", "_")
    return Flag("", long, attribute, text, VALUE, value, read, ours=True)


def _globs(long: str, text: str) -> Flag:
    return Flag("", long, long[2:], text, LIST, "GLOB", ours=True)


_FILE, _TARGET = "FILE", "NAME"
_PROFILING = (
    _boolean("-l", "--line-by-line", "line_by_line", "time every line under @profile"),
    _boolean("-b", "--builtin", "builtin", "without -l: cProfile under @profile alone"),
    Flag("-s", "--setup", "setup", "run this script first, unprofiled", value=_FILE),
    Flag(
        *("-p", "--prof-mod", "prof_mod"),
        "profile all of it, undecorated: a file, module, class or function; may be"
        " repeated; commas between; '' forgets those before",
        LIST,
        _TARGET,
    ),
    _boolean(
        *("", "--preimports", "preimports"),
        "import what -p names first (--no-preimports: leave that to the program)",
    ),
    _boolean(
        *("", "--prof-imports", "prof_imports"),
        "where -p names the script: profile what it imports, too",
    ),
    _boolean(
        *("", "--whole", "whole"),
        "profile all the program's functions, whatever is decorated; unasked where"
        " nothing is and there is no -p (--no-whole: never)",
        ours=True,
    ),
    _globs(
        "--include",
        "of a whole program: these files, modules or functions (GLOB::GLOB), too;"
        " may be repeated; commas between",
    ),
    _globs("--exclude", "and not these, whatever includes them"),
    _boolean(
        *("", "--all", "all"),
        "of a whole program: packages and the standard library, too",
        ours=True,
    ),
    _boolean(
        *("", "--builtins", "builtins"),
        "count calls of C functions, too: built-in ones, and those of extensions",
        ours=True,
    ),
    _boolean(
        *("", "--split", "split"),
        "tell Python, native and system time of lines apart; counts C functions",
        ours=True,
    ),
    _own(
        *("--max-overhead", "stop counting what makes it N times slower", "N"),
        slow_down,
    ),
    _own("--core", "auto, settrace or monitoring", "CORE"),
    Flag(
        *("", "--profile-from-start", "from_start"),
        "off: from cudaProfilerStart or lineprof.start on",
        value="on|off",
        read=on_or_off,
        ours=True,
    ),
)
_OUTPUT = (
    Flag("-o", "--outfile", "outfile", "write the profile there", value=_FILE),
    Flag(
        *("-i", "--output-interval", "output_interval"),
        "write it every N seconds, too (alone: every second)",
        kind=OPTIONAL,
        value="N",
        read=interval,
        bare="1",
    ),
    Flag("-v", "--view", "verbose", "print the table at the end; -vv says more", COUNT),
    Flag("", "--verbose", "verbose", "the same as --view", COUNT),
    Flag("-q", "--quiet", "quiet", "no messages; -qq no output, -qqq no errors", COUNT),
    Flag(
        "-u",
        "--unit",
        "unit",
        "unit of the times in the table, or auto; else 1e-6",
        VALUE,
        "SECONDS",
        seconds,
    ),
    _boolean("-r", "--rich", "rich", "colour the table, if rich is installed"),
    _boolean(
        "-z", "--skip-zero", "skip_zero", "no functions without hits in the table"
    ),
    _boolean("", "--summarize", "summarize", "end the table with a line a function"),
)
_GPU = (
    _own(
        "--gpu",
        "auto, nvtx (ranges alone) or off",
        "MODE",
        one_of("auto", "nvtx", "off"),
    ),
    _own(
        *("--nvtx", "ranges: auto, line, func or off", "MODE"),
        one_of("auto", "line", "func", "off"),
    ),
    _boolean(
        "", "--gpu-api", "gpu_api", "record the calls of the GPU's API, too", ours=True
    ),
    _boolean(
        "",
        "--gpu-memory",
        "gpu_memory",
        "record what is allocated on the GPU",
        ours=True,
    ),
    _own("--gpu-events", "records in the timeline", "N", count),
    _own("--cuda-graph", "record by node or graph", "BY", one_of("node", "graph")),
    _own("--uvm", "migrations of managed memory", "on|off", on_or_off),
)
_TRACE = (
    _boolean(
        *("", "--trace", "trace"),
        "keep each stay in a function, for a timeline",
        ours=True,
    ),
    _own(
        *("--trace-lines", "and on a line, from N microseconds on (10); or off", "N"),
        stay,
    ),
    _own("--trace-memory", "megabytes for all that (128)", "MB", megabytes),
)
_GENERAL = (
    Flag("", "--config", "config", "take defaults from this TOML file", value=_FILE),
    Flag("", "--no-config", "no_config", "take them from no file", SWITCH),
    Flag("-h", "--help", "help", "print this and leave", SWITCH),
    Flag("-V", "--version", "version", "print the version and leave", SWITCH),
)

GROUPS = {
    "profiling": _PROFILING,
    "output": _OUTPUT,
    "GPUs": _GPU,
    "timeline": _TRACE,
    "general": _GENERAL,
}
FLAGS = (*_PROFILING, *_OUTPUT, *_GPU, *_TRACE, *_GENERAL)
