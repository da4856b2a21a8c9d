"""What a command line asks for, and what is said of one that is at fault."""

from __future__ import annotations

from lineprof.errors import LineprofError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.config_source import ConfigSource
    from lineprof.trace import TraceOptions

SCRIPT, MODULE, COMMAND, STDIN = "script", "module", "command", "stdin"


class UsageError(LineprofError):
    """The command line asks for what cannot be; the program was not run."""

    status = 2


class NotRunError(UsageError):
    """The program turned out, as it was to begin, to be none that can run."""

    status = 1  # as python's


class Plan:
    """What a command line asks for, and a file of configuration behind it."""

    config: str | None = None  # asked for; once that is read: found
    no_config = False
    settings: ConfigSource | None = None  # what that file says
    line_by_line = False
    builtin = False
    setup: str | None = None  # a script to run first, outside the profile
    prof_mod: tuple[str, ...] = ()  # files, modules, functions to profile
    preimports = True  # import those first, whatever the program imports
    prof_imports = False  # of a script among them: all it imports, too
    whole: bool | None = None  # None: where the program does not say what
    all = False  # then Python's own code and that of packages, too
    include: tuple[str, ...] = ()  # patterns: this, too
    exclude: tuple[str, ...] = ()  # and not that
    builtins = False  # functions of C as callees, too
    split = False  # lines' time in Python, C and the system
    max_overhead = 0.0  # times slower than without; 0.0: as it comes
    outfile: str | None = None
    verbose = 0
    quiet = 0
    rich = False
    unit = 1e-6  # s
    skip_zero = False
    summarize = False
    output_interval = 0  # s; 0: written at the end alone
    core: str | None = None
    gpu: str | None = None
    nvtx: str | None = None
    gpu_api: bool | None = None
    gpu_memory: bool | None = None
    uvm: bool | None = None
    cuda_graph: str | None = None
    gpu_events: int | None = None
    trace: bool | None = None  # None: where the two below are given
    trace_lines: float | None = None  # µs
    trace_memory: int | None = None  # MB
    from_start = True
    help = version = False  # a question instead of a program
    kind = ""  # SCRIPT, MODULE, COMMAND or STDIN
    target = ""  # a path, a dotted name, code, or "-"

    def __init__(self, called: str = "kernprof") -> None:
        """Begin with what holds where nothing is given; `called` is the command."""
        self.called = called
        self.given: set[str] = set()  # names of what the command line has set
        self.remarks: list[str] = []  # what the user should know; a line each
        self.arguments: list[str] = []

    @property
    def verbosity(self) -> int:
        """Zero is normal; 1 adds the table, -1 leaves out the messages..."""
        return self.verbose - self.quiet

    @property
    def timeline(self) -> TraceOptions | bool | None:
        """What to keep for a timeline; None: what the environment says."""
        details = (self.trace_lines, self.trace_memory)
        if self.trace is False or (self.trace is None and details == (None, None)):
            return self.trace
        from lineprof.trace import TraceOptions  # noqa: PLC0415  # seldom asked for

        return TraceOptions(*details)

    @property
    def complete(self) -> bool:
        """Whether nothing more is needed: a program, or a question answered."""
        return bool(self.kind) or self.help or self.version
