"""The command line: from a list of words to a plan.

Flags end where the program begins, as they do for `python`: at the first word
that is no flag, and after ``-m NAME`` or ``-c CODE``.
"""

from __future__ import annotations

from lineprof.errors import LineprofError
from lineprof.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SCRIPT, MODULE, COMMAND, STDIN = "script", "module", "command", "stdin"

USAGE = "kernprof [flags] {script.py | -m module | -c code | -} [arguments...]"

_OPENING = f"""usage: {USAGE}

Run a Python program as `python` would, and record where its time goes: with -l
line by line in every function under @profile, otherwise call by call with
cProfile. The program needs no import for @profile.

flags:"""

_CLOSING = """
The profile's name (-o, else the variable LINEPROF_OUTFILE, else %s.lprof; for
cProfile %s.prof) may hold:
  %s  script's name without its ending,    %f  script's file name
      or module's dotted name              %p  process id
  %h  host's name                          %t  time of the start
  %q{VAR}  variable of the environment     %%  per cent sign

Exit status: the program's own; 1 if it succeeded but its profile could not be
written; 2 if the command line is at fault."""


class UsageError(LineprofError):
    """The command line asks for what cannot be; the program was not run."""

    status = 2


class NotRunError(UsageError):
    """The program turned out, as it was to begin, to be none that can run."""

    status = 1  # as python's


class Plan:
    """What a command line asks for."""

    def __init__(self) -> None:
        """Begin with what holds where no flag is given."""
        self.line_by_line = False
        self.builtin = False
        self.outfile: str | None = None
        self.verbose = 0
        self.quiet = 0
        self.unit = 1e-6  # s
        self.skip_zero = False
        self.core: str | None = None
        self.gpu: str | None = None
        self.nvtx: str | None = None
        self.gpu_api: bool | None = None
        self.gpu_memory: bool | None = None
        self.uvm: bool | None = None
        self.cuda_graph: str | None = None
        self.gpu_events: int | None = None
        self.from_start = True
        self.help = False
        self.version = False
        self.kind = ""  # SCRIPT, MODULE, COMMAND or STDIN
        self.target = ""  # a path, a dotted name, code, or "-"
        self.arguments: list[str] = []

    @property
    def verbosity(self) -> int:
        """Zero is normal; 1 adds the table, -1 leaves out the messages..."""
        return self.verbose - self.quiet

    @property
    def complete(self) -> bool:
        """Whether nothing more is needed: a program, or a question answered."""
        return bool(self.kind) or self.help or self.version


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if 0 < seconds < float("inf"):
        return seconds
    raise UsageError(f"bad unit {text!r}", hint="give seconds above 0, as in -u 1e-3")


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text in words:
            return text
        raise UsageError(f"bad value {text!r}", hint=f"give {' or '.join(words)}")

    return read


def _on_or_off(text: str) -> bool:
    return _one_of("on", "off")(text) == "on"


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS:
        return int(text)
    raise UsageError(f"bad number {text!r}", hint="give a whole number from 0 on")


class _Flag(Value):
    """One flag: what it is called, and which part of the plan it sets."""

    short: str
    long: str
    attribute: str
    text: str
    value: str = ""  # what stands for its value in the help; "": it takes none
    read: Callable[[str], object] = str  # from the word to the value

    def take(self, plan: Plan, word: str) -> None:
        """Set a flag that takes a value."""
        setattr(plan, self.attribute, self.read(word))

    def switch_on(self, plan: Plan) -> None:
        """Set a flag that takes no value; one that counts goes up by one."""
        before = getattr(plan, self.attribute)
        counts = type(before) is int
        setattr(plan, self.attribute, before + 1 if counts else True)

    @property
    def spelled(self) -> str:
        """The flag as the help writes it."""
        names = ", ".join(name for name in (self.short, self.long) if name)
        return f"{names} {self.value}" if self.value else names


_MOST_DIGITS = 10
_GPU = _one_of("auto", "nvtx", "off")
_NVTX = _one_of("auto", "line", "func", "off")
_GRAPH = _one_of("node", "graph")
_FLAGS = (
    _Flag("-l", "--line-by-line", "line_by_line", "time every line under @profile"),
    _Flag("-b", "--builtin", "builtin", "without -l: cProfile under @profile alone"),
    _Flag("-o", "--outfile", "outfile", "write the profile there", value="FILE"),
    _Flag("-v", "--view", "verbose", "print the table at the end; -vv says more"),
    _Flag("", "--verbose", "verbose", "the same as --view"),
    _Flag("-q", "--quiet", "quiet", "no messages; -qq no output, -qqq no errors"),
    _Flag("-u", "--unit", "unit", "unit of the table, or 1e-6", "SECONDS", _seconds),
    _Flag("-z", "--skip-zero", "skip_zero", "no functions without hits in the table"),
    _Flag("", "--core", "core", "auto, settrace or monitoring", value="CORE"),
    _Flag("", "--gpu", "gpu", "auto, nvtx (ranges alone) or off", "MODE", _GPU),
    _Flag("", "--nvtx", "nvtx", "ranges: auto, line, func or off", "MODE", _NVTX),
    _Flag("", "--gpu-api", "gpu_api", "record the calls of the GPU's API, too"),
    _Flag("", "--gpu-memory", "gpu_memory", "record what is allocated on the GPU"),
    _Flag("", "--gpu-events", "gpu_events", "records in the timeline", "N", _count),
    _Flag("", "--cuda-graph", "cuda_graph", "record by node or graph", "BY", _GRAPH),
    _Flag("", "--uvm", "uvm", "migrations of managed memory", "on|off", _on_or_off),
    _Flag(
        "",
        "--profile-from-start",
        "from_start",
        "off: from cudaProfilerStart or lineprof.start on",
        "on|off",
        _on_or_off,
    ),
    _Flag("-h", "--help", "help", "print this and leave"),
    _Flag("-V", "--version", "version", "print the version and leave"),
)
_PROGRAMS = {"m": MODULE, "c": COMMAND}
_SHORT = {flag.short[1]: flag for flag in _FLAGS if flag.short}


def parse(words: Sequence[str]) -> Plan:
    """Return the plan that the command line `words` spells.

    Raises UsageError where it cannot be understood.
    """
    plan = Plan()
    rest = list(words)
    while rest and not plan.complete:
        word = rest.pop(0)
        if word == "--" and rest:
            _take_script(plan, rest.pop(0), rest)
        elif word == "--":
            break
        elif word.startswith("--"):
            _take_long(plan, word, rest)
        elif word.startswith("-") and word != "-":
            _take_cluster(plan, word, rest)
        else:
            _take_script(plan, word, rest)
    if plan.complete:
        return plan
    raise UsageError("no program to run was given", hint=f"usage: {USAGE}")


def _take_script(plan: Plan, word: str, rest: list[str]) -> None:
    plan.kind = STDIN if word == "-" else SCRIPT
    plan.target = word
    plan.arguments = rest


def _take_cluster(plan: Plan, word: str, rest: list[str]) -> None:
    """Take short flags that stand together: ``-lv``, ``-lo FILE``, ``-lm NAME``."""
    for place, letter in enumerate(word[1:], start=2):
        attached = word[place:]
        if letter in _PROGRAMS:
            plan.kind = _PROGRAMS[letter]
            plan.target = _value(f"-{letter}", attached or None, rest)
            plan.arguments = rest
            return
        flag = _SHORT.get(letter)
        if flag is None:
            raise _unknown(f"-{letter}")
        if flag.value:
            flag.take(plan, _value(flag.short, attached or None, rest))
            return
        flag.switch_on(plan)


def _take_long(plan: Plan, word: str, rest: list[str]) -> None:
    name, equals, given = word.partition("=")
    flag = _long(name)
    if flag.value:
        flag.take(plan, _value(flag.long, given if equals else None, rest))
    elif equals:
        raise UsageError(
            f"{flag.long} takes no value", hint=f"leave out {'=' + given!r}"
        )
    else:
        flag.switch_on(plan)


def _long(name: str) -> _Flag:
    """Return the flag called `name`, or the one flag whose name begins so."""
    begun = [flag for flag in _FLAGS if flag.long.startswith(name)]
    exact = [flag for flag in begun if flag.long == name]
    found = exact or begun
    if len(found) == 1:
        return found[0]
    if not found:
        raise _unknown(name)
    raise UsageError(
        f"{name} could be {' or '.join(flag.long for flag in found)}",
        hint="write it in full",
    )


def _value(name: str, attached: str | None, rest: list[str]) -> str:
    """Return the value that belongs to flag `name`; UsageError if none is left."""
    if attached is not None:
        return attached
    if rest:
        return rest.pop(0)
    raise UsageError(f"{name} needs a value", hint=f"usage: {USAGE}")


def _unknown(name: str) -> UsageError:
    return UsageError(f"unknown flag {name}", hint="kernprof --help lists all flags")


def help_text() -> str:
    """Return what ``kernprof --help`` prints."""
    rows = [(flag.spelled, flag.text) for flag in _FLAGS]
    rows += [
        ("-m NAME", "run a module, as python -m does"),
        ("-c CODE", "run the code given, as python -c does"),
        ("-", "run the program on standard input"),
    ]
    lines = [f"  {spelled:<28} {text}" for spelled, text in rows]
    return "\n".join([_OPENING, *lines, _CLOSING])
