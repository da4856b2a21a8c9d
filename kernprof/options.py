"""Options of kernprof: its command line, and defaults from a configuration file.

`parse` makes `RunOptions` of a command line, `fill` adds the defaults of the file, and
`check` refuses flags that contradict each other. Flags end where the program begins, as
they do for `python`: at the first word that is not a flag, and after ``-m NAME`` or
``-c CODE``.
"""

from __future__ import annotations

import os

from kernprof.run_options import COMMAND, MODULE, SCRIPT, STDIN, RunOptions, UsageError
from lineprof.config import (
    column_widths,
    configuration,
    import_folder,
    matching,
    parse_bool,
)
from lineprof.errors import LineprofError, printable
from lineprof.files import SOURCE
from lineprof.flags import (
    BOOLEAN,
    COUNT,
    LIST,
    OPTIONAL,
    PROGRAM,
    SWITCH,
    Flag,
    boolean_or,
    is_page,
    near_flags,
    number,
    on_or_off,
    one_of,
    size,
    switch,
    unit,
    valued,
    whole,
)
from lineprof.patterns import FORMS, did_you_mean
from lineprof.patterns import check as check_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lineprof.config import ConfigSource
    from lineprof.report.options import View


# Values of flags: functions from a word to a value, which raise LineprofError.


AUTO = "auto"  # the name of a page if none is given

_MAX_DIGITS = 10


def is_whole(word: str) -> bool:
    """Return whether `word` is a whole number, of either sign."""
    digits = word[1:] if word[:1] in {"-", "+"} else word
    return digits.isascii() and digits.isdigit() and len(digits) < _MAX_DIGITS


def is_number(word: str) -> bool:
    """Return whether `word` is a number in digits, such as 0.5 or 1e3."""
    try:
        float(word)
    except ValueError:
        return False
    return word.lstrip("+-.")[:1].isdigit()


def page_name(word: str) -> str:
    """Return the name of a page; "auto" for the default name, "" for no page (0)."""
    if word == "0":
        return ""
    if word != AUTO and not is_page(word):
        raise LineprofError(f"bad page {word!r}", hint="give a name that ends in .html")
    return word


def interval(word: str) -> int:
    """Return a number of seconds: 0, or at least 1."""
    if not is_whole(word):
        raise LineprofError(
            f"bad interval {word!r}", hint="give whole seconds, as in -i 10"
        )
    number = int(word)
    return number if number == 0 else max(1, number)


def min_duration(word: str) -> float:
    """Return a time in µs from 0 on, or infinity for "off"."""
    from lineprof.recording.trace import microseconds  # noqa: PLC0415  # seldom asked for

    time = microseconds(word)
    if time is None:
        raise LineprofError(f"bad time {word!r}", hint="give microseconds, or off")
    return time


def targets(chunks: Iterable[str]) -> tuple[str, ...]:
    """Return the targets to profile, each once; an empty chunk removes those before.

    A chunk is several targets separated by commas, unless a file has that name.
    """
    found: dict[str, None] = {}
    for chunk in chunks:
        if not chunk:
            found.clear()
        parts = [chunk] if os.path.isfile(chunk) else chunk.split(",")
        found.update(dict.fromkeys(filter(None, parts)))
    return tuple(found)


# Flags: the table that the parser, the help and the configuration file share.


def _choice(
    long: str,
    text: str,
    value: str,
    words: str,
    read: Callable[[str], str] | None = None,
) -> Flag:
    """Return a flag whose value is one of `words`, or what `read` accepts."""
    choices = tuple(words.split())
    return valued(long, text, value, read or one_of(*choices), words=choices)


_PROFILING = (
    switch(
        "--line-by-line",
        "time every line of the functions under @profile, or, if there are none, of"
        " all functions of the program",
        "-l",
    ),
    switch(
        "--builtin", "without -l: run cProfile only in functions under @profile", "-b"
    ),
    valued(
        "--setup", "run this script first, without profiling it", "FILE", short="-s"
    ),
    valued(
        "--prof-mod",
        "profile the functions of this name, without @profile:"
        f" {FORMS}; separate several by commas, or repeat -p; '' forgets the earlier"
        " ones",
        "NAME",
        short="-p",
        kind=LIST,
    ),
    switch(
        "--preimports",
        "import what -p names before the program begins (the default;"
        " --no-preimports: leave the imports to the program)",
    ),
    switch(
        "--prof-imports",
        "if -p names the script, also profile the modules that it imports",
    ),
    switch(
        "--whole",
        "profile all functions of the program, decorated or not (the default if"
        " it uses no @profile and there is no -p; --no-whole: never)",
    ),
    valued(
        "--include",
        f"if the whole program is profiled, also profile these: {FORMS}; separate"
        " several by commas, or repeat the flag",
        "NAME",
        kind=LIST,
    ),
    valued(
        "--exclude",
        "if the whole program is profiled, do not profile these, even if --include"
        " names them",
        "NAME",
        kind=LIST,
    ),
    switch(
        "--all",
        "if the whole program is profiled, also profile installed packages and the"
        " standard library",
    ),
    switch(
        "--builtins",
        "also count calls of C functions: built-in ones and those of extensions",
    ),
    switch(
        "--split",
        "split the time of each line into Python, native and system time;"
        " implies --builtins",
    ),
    valued(
        "--max-overhead",
        "let the program take at most N times as long: functions that cost too much"
        " are counted without their lines, or no longer counted",
        "N",
        number("overhead", "give times from 1 on, as in --max-overhead 1.2", least=1),
    ),
    switch(
        "--children",
        "with -l, also profile the Python processes that the program starts (the"
        " default; --no-children: only the program itself)",
    ),
    _choice(
        "--core",
        "how Python tells of lines: auto, settrace, monitoring, or monitoring-line or"
        " monitoring-instruction to choose the event",
        "CORE",
        "auto settrace monitoring monitoring-line monitoring-instruction",
        read=str,
    ),
    valued(
        "--profile-from-start",
        "off: count nothing until the program calls cudaProfilerStart or"
        " lineprof.start",
        "on|off",
        on_or_off,
        attribute="from_start",
    ),
)
_OUTPUT = (
    valued("--outfile", "write the profile to this file", "FILE", short="-o"),
    Flag(
        *("", "--require-hits", "require_hits"),
        "fail, with status 1, if the program succeeds and nothing was counted",
        SWITCH,
    ),
    valued(
        "--html",
        "also write a page for browsers (without OUT.html: the profile's name and"
        " .html)",
        "OUT.html",
        page_name,
        kind=OPTIONAL,
        bare=AUTO,
    ),
    valued(
        "--output-interval",
        "also write the profile so far every N seconds (without N: every second)",
        "N",
        interval,
        "-i",
        kind=OPTIONAL,
        bare="1",
    ),
    Flag(
        *("", "--listen", "listen"),
        "let lineprof ctl start and stop counting, and write the profile, while the"
        " program runs",
        SWITCH,
    ),
    Flag(
        *("-v", "--view", "verbose"),
        "print the table at the end; -vv adds details of the run",
        COUNT,
    ),
    Flag("", "--verbose", "verbose", "the same as --view", COUNT),
    Flag(
        *("-q", "--quiet", "quiet"),
        "print no messages; -qq also hides the program's output, -qqq its errors",
        COUNT,
    ),
    valued(
        "--unit",
        "unit of the times in the table, or auto (default: 1e-6)",
        "SECONDS",
        unit,
        short="-u",
    ),
    switch("--rich", "colour the table, if rich is installed", "-r"),
    switch("--skip-zero", "leave functions without hits out of the table", "-z"),
    switch("--summarize", "end the table with one line for each function"),
)
_GPU = (
    _choice(
        "--gpu",
        "GPU work: auto (record it if there is a GPU), nvtx (only name lines for other"
        " tools) or off",
        "MODE",
        "auto nvtx off",
    ),
    _choice(
        "--nvtx",
        "NVTX ranges, which name lines and functions for tools such as Nsight Systems:"
        " auto, line, func or off",
        "MODE",
        "auto line func off",
    ),
    switch("--gpu-api", "also record the calls of CUDA's API"),
    Flag(
        *("", "--gpu-memory", "gpu_memory"),
        "record allocations of GPU memory; torch: also those of PyTorch's allocator",
        BOOLEAN,
        value="torch",
        read=boolean_or("torch"),
        bare="yes",
        words=("torch",),
    ),
    valued(
        "--gpu-events",
        "number of GPU records to keep for the timeline",
        "N",
        whole("number", "give a whole number from 0 on"),
    ),
    _choice(
        "--cuda-graph", "record CUDA graphs by node or by graph", "BY", "node graph"
    ),
    _choice(
        "--gpu-clock",
        "time stamps of GPU work by software or hardware (Blackwell and later devices)",
        "BY",
        "software hardware",
    ),
    valued("--uvm", "record migrations of managed memory", "on|off", on_or_off),
)
_TRACE = (
    switch("--trace", "record a timeline: every call of a function"),
    valued(
        "--trace-lines",
        "in the timeline, also record lines that take N microseconds or more"
        " (default: 10), or off",
        "N",
        min_duration,
    ),
    valued(
        "--trace-memory",
        "memory for the timeline in megabytes (default: 128)",
        "MB",
        whole("size", "give megabytes from 1 on", least=1),
    ),
)
_MEMORY = (
    switch(
        "--memory",
        "with -l, also record the memory that each line allocates, by Python and by"
        " extension modules: live, freed, and at the peak",
    ),
    valued(
        "--memory-sample",
        "count a block about every SIZE bytes, as in 512KB, for programs that allocate"
        " without end (default: each block); implies --memory",
        "SIZE",
        size,
    ),
)
_GENERAL = (
    valued("--config", "take defaults from this TOML file", "FILE"),
    Flag("", "--no-config", "no_config", "ignore configuration files", SWITCH),
    Flag("-h", "--help", "help", "print this help and exit", SWITCH),
    Flag("-V", "--version", "version", "print the version and exit", SWITCH),
)

GROUPS = {
    "profiling": _PROFILING,
    "output": _OUTPUT,
    "GPUs": _GPU,
    "timeline": _TRACE,
    "memory": _MEMORY,
    "general": _GENERAL,
}
PROGRAMS = (
    Flag("-m", "", MODULE, "run a module, as python -m does", PROGRAM, "NAME"),
    Flag("-c", "", COMMAND, "run the code given, as python -c does", PROGRAM, "CODE"),
)
FLAGS = (*_PROFILING, *_OUTPUT, *_GPU, *_TRACE, *_MEMORY, *_GENERAL)
# Line_profiler has these flags, and the general ones.
_THEIRS = (
    "line_by_line builtin setup prof_mod preimports prof_imports outfile verbose quiet"
    " output_interval unit rich skip_zero summarize"
)
_SHORT = {flag.short: flag for flag in (*FLAGS, *PROGRAMS) if flag.short}
_LONG = {
    **{flag.long: flag for flag in FLAGS},
    **{flag.opposite: flag for flag in FLAGS if flag.kind == BOOLEAN},
}


def _is_theirs(flag: Flag) -> bool:
    return flag in _GENERAL or flag.attribute in _THEIRS.split()


# The parser.


_DESCRIPTION = """\
Run a Python program as `python` would, and record where its time goes. With -l
every line is timed in the functions under @profile, or in all functions of the
program if it uses no @profile; without -l, cProfile times every call. The
program needs no import for @profile.

examples:
  kernprof -l -v script.py          time every line, and print the result
  kernprof -l -m pytest tests       run a module, with its own arguments
  lineprof view --hot script.lprof  show the hottest lines of the profile"""

_EPILOG = """
lineprof run --children -- COMMAND [arguments...] profiles each Python program
that any command starts: a shell script, make, mpirun.

A long flag without a value also accepts =yes and =no, and --no-NAME is its
opposite. Short flags can be joined: -lvz. All words after the program's name,
flags and -- among them, are the program's own.

Defaults are read from the tables [tool.line_profiler.kernprof] and
[tool.lineprof.kernprof] (the second wins) of the file that LINE_PROFILER_RC
names, or else of the nearest lineprof.toml, line_profiler.toml or
pyproject.toml in this folder or one above. A file that another user could have
written is ignored, unless you name it. The keys are the flags without dashes:
prof-mod = ["package"].

The name of the profile is taken from -o, the key outfile, or the variable
LINEPROF_OUTFILE; the default is %s.lprof, with cProfile %s.prof, and in a
parallel program (MPI, srun, torchrun) %s.r%r.lprof. A folder gets a file of
that name. It may hold:
  %s  script's name without its ending,    %f  script's file name
      or module's dotted name              %p  process id
  %h  host's name                          %t  time of the start
  %r  rank in the parallel program         %n  number of ranks
  %q{VAR}  variable of the environment     %%  per cent sign

Exit status: that of the program, also if counts are kept for `lineprof
recover`; 1 if the program succeeded but its profile could not be written, nor
its counts be kept; 2 for an error in the command line."""

ANY_COMMAND = "lineprof run --children -- COMMAND [arguments...]"

_CONFIG = {"config", "no_config"}
_NO_WHOLE = "--no-whole"
_THE_PROGRAM = "program (or the name of a script, or - for standard input)"
_COLUMN, _WIDTH = 31, 80


def usage(called: str) -> str:
    """Return the usage line of the command `called`."""
    program = "{script.py | -m module | -c code | -}"
    return f"usage: {called} [flags] {program} [arguments...]"


def help_text(called: str = "kernprof") -> str:
    """Return the help of the command `called`."""
    lines = [usage(called), "", _DESCRIPTION]
    for title, flags in {**GROUPS, _THE_PROGRAM: PROGRAMS}.items():
        lines += ["", f"{title}:"]
        for flag in flags:
            lines += _described(flag)
    return "\n".join([*lines, _EPILOG])


def _described(flag: Flag) -> Iterator[str]:
    """Yield a flag and, to its right or below, what it does."""
    from textwrap import wrap  # noqa: PLC0415  # for help alone

    names = f"  {flag.usage}"
    for line in wrap(flag.text, _WIDTH - _COLUMN):
        if len(names) > _COLUMN - 2:
            yield names
            names = ""
        yield f"{names:{_COLUMN}}{line}"
        names = ""


def parse(argv: Sequence[str], called: str = "kernprof") -> RunOptions:
    """Return the options of the command line `argv` of the command `called`.

    Raises UsageError if it is wrong.
    """
    options, rest = RunOptions(called), list(argv)
    while not options.complete and rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        if word.startswith("--"):
            _take_long(options, word, rest)
        else:
            _take_short(options, word[1:], rest)
    if rest and not options.complete:
        options.target = rest.pop(0)
        options.kind = STDIN if options.target == "-" else SCRIPT
    options.arguments, options.misplaced = rest, _misplaced(rest)
    if not options.complete:
        hint = usage(called)
        if len(argv) > 1 and argv[-1].endswith(SOURCE):
            hint = f"{argv[-1]} is the value of {argv[-2]}: the program comes last"
        raise UsageError("no program to run was given", hint=hint)
    for flag in FLAGS:
        if flag.kind == LIST:
            setattr(options, flag.attribute, targets(getattr(options, flag.attribute)))
    return options


def _misplaced(words: Iterable[str]) -> list[str]:
    """Return those of a program's arguments that ask for a run by line."""
    kinds = {SWITCH, COUNT, BOOLEAN}
    letters = {name[1] for name in _SHORT if _SHORT[name].kind in kinds}
    return [
        word
        for word in words
        if word == "--line-by-line"
        or (word[:1] == "-" and "l" in word and letters.issuperset(word[1:]))
    ]


def _take_long(options: RunOptions, word: str, rest: list[str]) -> None:
    """Take a long flag, and its value from the words after it if it needs one."""
    begun, equals, given = word.partition("=")
    name = _whole_name(options, begun)
    flag = _LONG[name]
    if flag.kind not in {SWITCH, COUNT}:
        _take(options, flag, name, given if equals else _next(options, name, rest))
    elif equals:
        raise _no_value(flag, name, f"={given}")
    else:
        _take(options, flag, name)


def _take_short(options: RunOptions, letters: str, rest: list[str]) -> None:
    """Take short flags, and the value of the last one if it needs one."""
    while letters:
        name, letters = f"-{letters[0]}", letters[1:]
        flag = _SHORT.get(name)
        if flag is None:
            raise _unknown(options, name)
        if flag.kind in {SWITCH, COUNT, BOOLEAN}:
            if letters.startswith("="):
                raise _no_value(flag, name, letters)
            _take(options, flag, name)
        else:
            value = letters or _next(options, name, rest)
            is_equals = letters.startswith("=") and flag.kind != PROGRAM
            _take(options, flag, name, value[1:] if is_equals else value)
            return


# Flags of other programs, some of which begin another flag of ours.
_MEANT = {
    "--profile": "-p NAME profiles functions by name",
    "--module": "-m NAME runs a module",
    "--code": "-c CODE runs code",
    "--command": "-c CODE runs code",
}


def _whole_name(options: RunOptions, begun: str) -> str:
    """Return the long flag called `begun`, or the only one whose name begins with it.

    Flags of line_profiler may be abbreviated as there, even if a flag of lineprof
    begins in the same way.
    """
    if begun in _MEANT:
        raise UsageError(f"{begun} is no flag", hint=_MEANT[begun])
    found = matching(begun, _LONG, {name for name in _LONG if _is_theirs(_LONG[name])})
    if not found:
        raise _unknown(options, begun)
    if len(found) > 1:
        what = f"{begun} could be {' or '.join(found)}"
        raise UsageError(what, hint="write it in full")
    return found[0]


def _next(options: RunOptions, name: str, rest: list[str]) -> str:
    """Return the value of a flag: the next word, or what an optional value defaults to.

    The last word is no value of a flag that can do without: it is the program's name.
    """
    flag = _SHORT.get(name) or _LONG[name]
    if not (flag.bare or rest):
        raise UsageError(f"{name} needs a value", hint=usage(options.called))
    if flag.bare and not (rest[1:] and _follows(flag, rest[0])):
        return flag.bare
    return rest.pop(0)


def _follows(flag: Flag, word: str) -> bool:
    """Return whether `word` is a value of a flag with an optional value.

    A number that is not whole is a wrong value, unless a file has that name.
    """
    if flag.kind != OPTIONAL:
        return parse_bool(word) is not None or word in flag.words
    if flag.read is page_name:
        return is_page(word)
    return is_whole(word) or (is_number(word) and not os.path.exists(word))


def _take(options: RunOptions, flag: Flag, name: str, word: str | None = None) -> None:
    """Set the attribute of a flag; `word` is its value, None if it takes none."""
    if flag.kind == PROGRAM:
        options.kind, options.target = flag.attribute, word or ""
    else:
        _set(options, flag, _value(options, flag, name, word))


def _value(options: RunOptions, flag: Flag, name: str, word: str | None) -> object:
    if flag.kind == COUNT:
        return getattr(options, flag.attribute) + 1
    if word is None:
        return True
    if flag.kind == BOOLEAN:
        if word in flag.words and name != flag.opposite:
            return word
        yes = parse_bool(word)
        if yes is None:
            raise UsageError(f"{name} takes yes or no, not {word!r}")
        return yes is not (name == flag.opposite)
    try:
        value = flag.read(word)
    except LineprofError as error:
        of = f"{name}: " if error.message.startswith("bad value") else ""
        raise UsageError(f"{of}{error.message}", hint=error.hint) from None
    return (*getattr(options, flag.attribute), value) if flag.kind == LIST else value


def _set(options: RunOptions, flag: Flag, value: object) -> None:
    if flag.attribute == "whole" and {value, options.whole} == {True, False}:
        what = f"{flag.long} and {_NO_WHOLE} contradict each other"
        raise UsageError(what, hint="leave one of them out")
    if flag.attribute in _CONFIG:  # the last one holds
        options.config, options.no_config = None, False
    setattr(options, flag.attribute, value)
    options.given.add(flag.attribute)


def _no_value(flag: Flag, name: str, given: str) -> UsageError:
    hint = f"leave out {given!r}"
    if flag.kind == BOOLEAN:
        hint = f"write {flag.long}{given}"
    return UsageError(f"{name} takes no value", hint=hint)


def _unknown(options: RunOptions, name: str) -> UsageError:
    from lineprof.report import VIEWS  # noqa: PLC0415  # for errors alone

    hint = did_you_mean(near_flags(name, _LONG))
    if name in {flag for view in VIEWS.values() for flag in _flags_of(view)}:
        hint = f"after the run: lineprof view {name} FILE"
    theirs = ", lineprof view --help those of reports" if name[2:] else ""
    hint = hint or f"{options.called} --help lists all flags{theirs}"
    return UsageError(f"unknown flag {name}", hint=hint)


def _flags_of(view: View) -> Iterator[str]:
    """Yield the flag of a view, and those that it takes."""
    yield f"--{view.name}"
    for flag in view.options:
        yield from flag.names


# Defaults from a configuration file.


_BY_NAME = {
    flag.name: flag
    for flag in FLAGS
    if flag.kind != SWITCH and flag.attribute != "config"
}


def fill(options: RunOptions) -> None:
    """Set the options that the command line left open from the configuration file.

    Raises UsageError or ConfigError if the file of --config cannot be used, or a value
    in the file is not one that the flag takes.
    """
    program = options.target if options.kind == SCRIPT else import_folder()
    options.settings = source = configuration(
        options.config, off=options.no_config, program=program
    )
    quiet = options.verbosity < 0  # by the command line: the file does not hide these
    notices = [*source.refused]
    options.config = source.file or None
    options.warnings += source.remarks
    if source.holds:
        column_widths(source)  # its errors now, not at the end
        _fill(options, source)
        notices += _paths_set(options, source)
    if options.verbosity < 0:
        options.warnings.clear()
    if not quiet:
        options.warnings[:0] = notices


def _paths_set(options: RunOptions, source: ConfigSource) -> list[str]:
    """Return a line if a file that was not named has set what is run or written."""
    found = [
        f"{key} = {getattr(options, key)!r}"
        for key in ("setup", "outfile")
        if key not in options.given and getattr(options, key)
    ]
    if source.named or not found:
        return []
    line = f"{source.file} sets {', '.join(found)}; --no-config ignores that file"
    return [printable(line)]


def _fill(options: RunOptions, source: ConfigSource) -> None:
    table = source.get_subconfig("kernprof")
    for key, value in {**table.conf_dict, **table.own}.items():
        flag = _BY_NAME.get(key.replace("_", "-"))
        if flag is None:
            options.warnings.append(
                f"{source.file}: [tool.lineprof.kernprof] knows no {key!r};"
                f" {options.called} --help lists all flags"
            )
        elif flag.attribute not in options.given or flag.kind == COUNT:
            try:
                _apply(options, flag, value)
            except LineprofError as error:
                where = f"{source.file}: {key} of the table kernprof"
                raise UsageError(f"{where}: {error.message}", hint=error.hint) from None


def _apply(options: RunOptions, flag: Flag, value: object) -> None:
    """Set one option to a `value` of the file; LineprofError if it cannot have it."""
    if flag.kind == COUNT:
        before = getattr(options, flag.attribute)
        setattr(options, flag.attribute, before + _whole(value))
    elif flag.kind == LIST:
        chunks = [value] if isinstance(value, str) else value
        if not (isinstance(chunks, list) and all(isinstance(c, str) for c in chunks)):
            raise UsageError(f"bad list {value!r}", hint="give texts in brackets")
        setattr(options, flag.attribute, targets(chunks))
    elif value == "" and flag.attribute in {"outfile", "setup"}:
        setattr(options, flag.attribute, None)
    else:
        setattr(options, flag.attribute, flag.from_file(value))


def _whole(value: object) -> int:
    if isinstance(value, int):
        return int(value)
    raise UsageError(f"bad number {value!r}", hint="give a whole number")


# Contradictions between flags, on the command line and in the configuration file.


_WHOLE_ALONE = {"include", "exclude", "all"}  # flags for a whole program


def check(options: RunOptions) -> None:
    """Raise UsageError for flags of lineprof that would have no effect.

    To be called after `fill`. Flags of line_profiler are accepted beside any others,
    as it does.
    """
    ours = [flag for flag in FLAGS if not _is_theirs(flag)]
    given = [flag for flag in ours if flag.attribute in options.given]
    if given and not options.line_by_line:
        verb = "needs" if len(given) == 1 else "need"
        hint = f"add -l, or leave {_names(options, given)} out"
        if options.children and "children" in options.given:
            hint = f"add -l, or profile any command: {ANY_COMMAND}"
        raise UsageError(f"{_names(options, given)} {verb} -l", hint=hint)
    for word in (*options.include, *options.exclude):
        try:
            check_pattern(word)
        except LineprofError as error:
            raise UsageError(error.message, hint=error.hint) from None
    for_whole = [
        flag
        for flag in given
        if flag.attribute in _WHOLE_ALONE and getattr(options, flag.attribute)
    ]
    against = _against_whole(options)
    if for_whole and against:
        hint = "add --whole, or leave one of them out"
        if against == _NO_WHOLE:
            hint = "leave one of them out"
        names = _names(options, for_whole)
        raise UsageError(f"{names} cannot be used with {against}", hint=hint)


def _against_whole(options: RunOptions) -> str:
    """Return what excludes profiling the whole program, "" if nothing does."""
    if options.whole is False:
        given = "whole" in options.given
        return _NO_WHOLE if given else f"whole = false of {options.config}"
    if options.whole is None and options.prof_mod:
        return "-p" if "prof_mod" in options.given else f"prof-mod of {options.config}"
    return ""


def _names(options: RunOptions, flags: Sequence[Flag]) -> str:
    """Return the names of these flags as the user may have given them."""
    return ", ".join(
        flag.opposite
        if flag.kind == BOOLEAN and not getattr(options, flag.attribute)
        else flag.long
        for flag in flags
    )
