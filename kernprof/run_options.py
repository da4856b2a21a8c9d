"""The options of one run: the program, and how to profile it.

Child processes and programs that are attached to have such options as well, and no
command line: `kernprof.options` makes them of one.
"""

from __future__ import annotations

from lineprof.errors import LineprofError
from lineprof.ranks import rank_of_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.config import ConfigSource

SCRIPT, MODULE, COMMAND, STDIN = "script", "module", "command", "stdin"


class UsageError(LineprofError):
    """Error in the command line; the program was not run."""

    status = 2


class NotRunError(UsageError):
    """The program could not begin: there is no such module, for example."""

    status = 1  # as of python


class ChildOptions:
    """The options of a run that its child processes have as well."""

    prof_mod: tuple[str, ...] = ()  # files, modules, functions to profile
    prof_imports = False  # of a script among them, profile its imports as well
    whole: bool | None = None  # None: if the program does not use @profile
    all = False  # of a whole program, the standard library and packages as well
    include: tuple[str, ...] = ()  # patterns to profile as well
    exclude: tuple[str, ...] = ()  # patterns not to profile
    builtins = False  # count calls of C functions
    split = False  # split the time of lines into Python, C and system
    max_overhead = 0.0  # times slower than unprofiled; 0.0: no limit
    core: str | None = None
    gpu: str | None = None
    nvtx: str | None = None
    gpu_api: bool | None = None
    gpu_memory: bool | str | None = None
    uvm: bool | None = None
    cuda_graph: str | None = None
    gpu_clock: str | None = None
    gpu_events: int | None = None
    trace: bool | None = None  # None: if one of the two below is given
    trace_lines: float | None = None  # µs
    trace_memory: int | None = None  # MB
    memory: bool | None = None  # None: if the one below is given
    memory_sample: int | None = None  # bytes
    from_start = True


class RunOptions(ChildOptions):
    """Options of one run: the program, and how to profile it."""

    config: str | None = None  # the file asked for; after `fill`, the file found
    no_config = False
    settings: ConfigSource | None = None  # the content of that file
    line_by_line = False
    builtin = False
    setup: str | None = None  # a script to run first, unprofiled
    preimports = True  # import those of `prof_mod` first, whatever the program imports
    children = True  # profile the processes that the program starts as well
    outfile: str | None = None
    require_hits = False  # a run that counts nothing fails
    html = ""  # name of a page to write as well; "auto": that of the profile and .html
    verbose = 0
    quiet = 0
    rich = False
    unit = 1e-6  # s
    skip_zero = False
    summarize = False
    output_interval = 0  # s; 0: write the profile only at the end
    listen = False  # take requests of `lineprof ctl`
    help = version = False  # print it, and run no program
    kind = ""  # SCRIPT, MODULE, COMMAND or STDIN
    target = ""  # a path, a dotted name, code, or "-"

    def __init__(self, called: str = "kernprof") -> None:
        """Begin with the defaults; `called` is the name of the command."""
        self.called = called
        self.given: set[str] = set()  # attributes that the command line has set
        self.warnings: list[str] = []  # of the configuration, one line each
        self.arguments: list[str] = []  # of the program
        self.misplaced: list[str] = []  # those that ask for a run by line
        self.place = rank_of_process()  # in a parallel program

    @property
    def speaks(self) -> bool:
        """Whether this process prints messages: of all ranks the first one does.

        Errors are printed by every rank.
        """
        return self.place is None or self.place.rank == 0

    @property
    def verbosity(self) -> int:
        """0 by default; 1 adds the table, -1 leaves out the messages..."""
        return self.verbose - self.quiet

    @property
    def complete(self) -> bool:
        """Whether there is a program to run, or a text to print instead."""
        return bool(self.kind) or self.help or self.version
