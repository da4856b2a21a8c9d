"""What a command line asks for, and what is said of one that is at fault."""

from __future__ import annotations

from lineprof.errors import LineprofError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.toml_config import ConfigSource
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

    def __init__(self, called: str = "kernprof") -> None:
        """Begin with what holds where nothing is given; `called` is the command."""
        self.called = called
        self.given: set[str] = set()  # names of what the command line has set
        self.remarks: list[str] = []  # what the user should know; a line each
        self.config: str | None = None  # asked for; once that is read: found
        self.no_config = False
        self.settings: ConfigSource | None = None  # what that file says
        self.line_by_line = False
        self.builtin = False
        self.setup: str | None = None  # a script to run first, outside the profile
        self.prof_mod: tuple[str, ...] = ()  # files, modules, functions to profile
        self.preimports = True  # import those first, whatever the program imports
        self.prof_imports = False  # of a script among them: all it imports, too
        self.whole: bool | None = None  # None: where the program does not say what
        self.all = False  # then Python's own code and that of packages, too
        self.include: tuple[str, ...] = ()  # patterns: this, too
        self.exclude: tuple[str, ...] = ()  # and not that
        self.builtins = False  # functions of C as callees, too
        self.max_overhead = 0.0  # times slower than without; 0.0: as it comes
        self.outfile: str | None = None
        self.verbose = 0
        self.quiet = 0
        self.rich = False
        self.unit = 1e-6  # s
        self.skip_zero = False
        self.summarize = False
        self.output_interval = 0  # s; 0: written at the end alone
        self.core: str | None = None
        self.gpu: str | None = None
        self.nvtx: str | None = None
        self.gpu_api: bool | None = None
        self.gpu_memory: bool | None = None
        self.uvm: bool | None = None
        self.cuda_graph: str | None = None
        self.gpu_events: int | None = None
        self.trace: bool | None = None  # None: where the two below are given
        self.trace_lines: float | None = None  # µs
        self.trace_memory: int | None = None  # MB
        self.from_start = True
        self.help = self.version = False  # a question instead of a program
        self.kind = ""  # SCRIPT, MODULE, COMMAND or STDIN
        self.target = ""  # a path, a dotted name, code, or "-"
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
