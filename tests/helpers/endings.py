"""Programs that leave a process in a bad state, and what is to be true afterwards.

Under kernprof a program ends as under python: its exit status, its output and its error
output are the same. Its counts are in the profile; where none can be written, one line
says so, and `lineprof recover` has them. No other file is left.

`tests/kernprof/test_endings.py` runs each ending once, all but those marked `timed`.
`make check-endings` runs all of them many times, on a busy machine.
"""

from __future__ import annotations

import functools
import marshal
import os
import subprocess
import sys
import textwrap
import time
from signal import SIGHUP, SIGINT, SIGTERM
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

from as_python import viewer
from deadline import DEADLINE
from forked_python import ForkedPython, modules_after

from lineprof import load_stats
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from pathlib import Path

# Prints the modules that a run imports before the program.
EARLY_IMPORTS = """\
from kernprof import main
main(["-lqo", "/dev/null", "-c", "import sys; print(*sys.modules, sep='\\\\n')"])
"""
# What is imported late is imported by a process in that state.
SERVER = ForkedPython(functools.partial(modules_after, EARLY_IMPORTS))
MODES = {
    **dict.fromkeys(("-l", "-lv"), "out.lprof"),
    **dict.fromkeys(("-b", "-bv"), "out.prof"),
}
LEFT = ("live/*", "tmp/*", "out/.*")  # files that no run leaves

# Where the counts are afterwards: in the profile; in the live file, and a line on
# standard error says so; in the live file; as in the first or in the second case.
WRITTEN, TOLD, SILENT, EITHER = "written", "told", "silent", "written or told"

BEGIN = """\
import os, signal, sys, time
profile = vars(__import__("builtins")).get("profile", lambda function: function)
@profile
def work():
    return 1
work()
"""


class Ending(NamedTuple):
    """A program, which runs after `BEGIN`."""

    text: str
    counts: str = WRITTEN
    modes: tuple[str, ...] = ("-l", "-b")
    names: tuple[str, ...] = ("work",)  # of functions, in order of their lines
    hits: int = 1  # of the first line of each
    status: int | None = None  # None: that of plain python
    signals: tuple[tuple[float, int], ...] = ()  # after its line "ready": s, number
    timed: bool = False  # when signals and timers come is left to chance
    everywhere: bool = False  # versions of Python differ in what the end needs
    linux: bool = False  # needs a thread's own descriptors, or a live file
    root: bool = False

    @property
    def is_possible(self) -> bool:
        """Whether this system, and this user, can run it."""
        return not (
            (self.linux and sys.platform != "linux") or (self.root and os.geteuid())
        )


# -- no file descriptors ---------------------------------------------------------------

FILL = """
import resource
def limit(soft, hard):
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
kept = []
def fill(most, new):
    most = min(most, hard)
    limit(most, most)
    try:
        while True:
            kept.append(new())
    except OSError:
        pass
"""
FILES = f"{FILL}fill(64, lambda: open(__file__))\n"
FOLDERS = f"{FILL}fill(20_000, lambda: os.open('/', os.O_RDONLY))\n"
CHILD = "if not os.fork():\n    work()\n    sys.exit()\nos.wait()\n"
LATE = "@profile\ndef late():\n" + "    x = 1\n" * 20_000  # more than room for a block


def descriptors(text: str, **options: object) -> Ending:
    """Return the ending of a program that leaves no file descriptors."""
    return Ending(text, linux=True, **options)  # type: ignore[arg-type]


DESCRIPTORS = {
    "64 files": descriptors(FILES, everywhere=True),
    "20,000 folders": descriptors(FOLDERS, everywhere=True),
    "1,024 devices": descriptors(
        f"{FILL}fill(1024, lambda: os.open('/dev/null', os.O_RDONLY))"
    ),
    "64 sockets": descriptors(f"import socket\n{FILL}fill(64, socket.socket)"),
    "1,024 counters of events": descriptors(f"{FILL}fill(1024, lambda: os.eventfd(0))"),
    "a limit below the numbers in use": descriptors(
        f"{FILL}fill(1024, os.pipe)\nlimit(8, 8)"
    ),
    "a limit of 3": descriptors(f"{FILL}limit(3, hard)"),
    "a limit of 0": descriptors(f"{FILL}limit(0, 0)", counts=TOLD, modes=("-l",)),
    "64 files and another root folder": descriptors(
        f"{FILL}os.chroot('jail'); os.chdir('/')\n"
        "fill(64, lambda: os.open('/', os.O_RDONLY))",
        root=True,
    ),
    "64 files, and a child": descriptors(f"{FILES}{CHILD}", modes=("-l",), hits=2),
    "64 files, and os._exit": descriptors(
        f"{FILES}os._exit(5)", counts=SILENT, modes=("-l",)
    ),
    "64 files, a long function, and SIGKILL": descriptors(
        f"{FILES}exec({LATE!r})\nlate()\nos.kill(os.getpid(), signal.SIGKILL)",
        counts=SILENT,
        modes=("-l",),
        names=("late", "work"),
    ),
    "all but the standard streams closed": Ending("os.closerange(3, 65536)"),
}

# -- no room, or no rights -------------------------------------------------------------

NO_ROOM = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
NO_RIGHTS = """
import ctypes
rights = (ctypes.c_uint32 * 6)()  # none, also for root
ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522, 0), rights)
os.umask(0o777)
"""
PLACES = {
    "files may not grow": Ending(NO_ROOM, TOLD, modes=("-l",), linux=True),
    "SIGXFSZ ends the process": Ending(
        f"{NO_ROOM}signal.signal(signal.SIGXFSZ, signal.SIG_DFL)",
        TOLD,
        modes=("-l",),
        linux=True,
    ),
    "memory may not grow": Ending(
        """
        import resource
        lines = open("/proc/self/status").read().splitlines()
        used = next(int(line.split()[1]) for line in lines if "VmSize" in line)
        resource.setrlimit(resource.RLIMIT_AS, (used * 1024, used * 1024))
        """,
        EITHER,
        linux=True,
    ),
    "the current folder is gone": Ending(
        "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')"
    ),
    "the folder for temporary files is gone": Ending("""
        import shutil
        shutil.rmtree(os.environ["TMPDIR"])
        """),
    "the live file is gone": Ending("""
        import shutil
        shutil.rmtree("live")
        """),
    "the profile's folder is gone": Ending(
        "os.rename('out', 'away')", TOLD, modes=("-l",), linux=True
    ),
    "new files have no rights": Ending(NO_RIGHTS, linux=True),
    "new files have no rights, and a child": Ending(
        f"{NO_RIGHTS}{CHILD}", modes=("-l",), hits=2, linux=True
    ),
    "the user is another one": Ending(
        "os.setuid(65534)", TOLD, modes=("-l",), linux=True, root=True
    ),
    "its root folder is another one": Ending(
        "os.chroot('jail'); os.chdir('/')", everywhere=True, root=True
    ),
}

# -- a damaged interpreter -------------------------------------------------------------

ALL = tuple(MODES)
PYTHON = {
    "the import system is empty": Ending(
        "sys.meta_path.clear(); sys.path_hooks.clear()\n"
        "sys.path_importer_cache.clear()",
        modes=ALL,
        everywhere=True,
    ),
    "imports are refused": Ending(
        "import builtins; builtins.__import__ = None", modes=ALL, everywhere=True
    ),
    "builtins are gone": Ending(
        "import builtins as b\nb.print = None\n"
        "del b.callable, b.isinstance, b.len, b.open, b.type, b.vars",
        modes=ALL,
        everywhere=True,
    ),
    "the recursion limit is low": Ending(
        "sys.setrecursionlimit(30)", modes=ALL, everywhere=True
    ),
    "modules are blocked": Ending(
        "sys.modules['json'] = sys.modules['datetime'] = None\n"
        "sys.modules['typing'] = object()",
        modes=ALL,
        everywhere=True,
    ),
    "there are no modules": Ending("sys.modules.clear()", modes=ALL, everywhere=True),
    "there is no environment": Ending(
        "import linecache\nlinecache.cache = os.environ = None",
        modes=ALL,
        everywhere=True,
    ),
    "an audit hook refuses to open and import": Ending(
        """
        def hook(event, _):
            if event in ("open", "import"):
                raise RuntimeError(event)
        sys.addaudithook(hook)
        """,
        modes=("-l", "-lv"),  # calls are written by Python, which the hook refuses
        everywhere=True,
    ),
    "the streams are closed": Ending(
        "sys.stdout.close(); sys.stderr.close(); os.close(0)"
    ),
    "the streams refuse to write": Ending("""
        class Stream:
            def write(self, *_): 1 / 0
            def flush(self): pass
        sys.stdout = sys.stderr = Stream()
        """),
    "an exit handler raises": Ending("import atexit\natexit.register(int, 'x')"),
    "the exit handlers are gone": Ending(
        "import atexit\natexit._clear()", modes=ALL, everywhere=True
    ),
    "a thread computes": Ending("""
        import threading
        def compute():
            while True:
                pass
        threading.Thread(target=compute, daemon=True).start()
        """),
    "a function is called in shutdown": Ending(
        """
        class Last:
            def __del__(self, work=work, write=os.write):
                write(1, b"%d" % work())
        sys.last = Last()
        """,
        modes=ALL,
        everywhere=True,
    ),
}

# -- functions and objects of the program in the place of others ----------------------

# Replaces every function of modules by one that raises.
BROKEN = """
import types
def broken(*_, **__):
    raise RuntimeError
def is_function(value):
    return isinstance(value, (types.FunctionType, types.BuiltinFunctionType))
def break_all(*modules):
    for module in modules:
        for name, value in [*vars(module).items()]:
            if is_function(value) and not name.startswith("__"):
                setattr(module, name, broken)
"""
# As a fake file system: modules of other names than `os` have another `os`, too.
FAKED = """
import types
real, fake = os, types.ModuleType("os")
vars(fake).update(vars(os))
fake.path = types.ModuleType("posixpath")
fake.path.join = fake.path.realpath = fake.getcwd = fake.open = lambda *_: "nowhere"
import io
io.open = vars(__import__("builtins"))["open"] = fake.open
for name, module in [*sys.modules.items()]:
    if isinstance(module, types.ModuleType) and vars(module).get("os") is real:
        module.os = fake
sys.modules["os"] = fake
import shlex, shutil, tempfile  # which have the other one from the start
"""
ODD = """
class Odd:
    def __getattribute__(self, name):
        raise SystemExit(name)
    __eq__ = __hash__ = __str__ = __repr__ = __len__ = __iter__ = __bool__ = (
        lambda *_: 1 / 0
    )
class OddWords(list):
    __len__ = __iter__ = __getitem__ = lambda *_: 1 / 0
"""
REPLACED = {
    "functions of os raise": Ending(
        f"{BROKEN}break_all(os, os.path, sys.modules[os.name])",
        modes=ALL,
        everywhere=True,
    ),
    "functions of files, clocks and formats raise": Ending(
        f"""{BROKEN}
import fnmatch, hashlib, io, json, linecache, shlex, shutil, sqlite3, stat, tempfile
import glob, inspect, sqlite3.dbapi2, tokenize
break_all(
    fnmatch, glob, hashlib, io, json, json.encoder, linecache, marshal, re, shlex,
    shutil, sqlite3, sqlite3.dbapi2, stat, tempfile, time, tokenize,
)
vars(__import__("builtins"))["open"] = broken
""".replace("fnmatch, hashlib", "fnmatch, hashlib, marshal, re", 1),
        modes=ALL,
        everywhere=True,
    ),
    "mocks are in the place of functions": Ending(
        """
        from unittest.mock import MagicMock
        import json, sqlite3
        os.open = os.replace = os.path.join = os.stat = os.getpid = MagicMock()
        json.dumps = sqlite3.connect = time.time_ns = MagicMock()
        vars(__import__("builtins"))["open"] = MagicMock()
        os.name, os.sep, os.devnull = "nt", ":", "nowhere"
        """,
        modes=ALL,
        everywhere=True,
    ),
    "another file system": Ending(FAKED, modes=ALL, everywhere=True),
    "modules are imported again": Ending(
        """
        for name in [*sys.modules]:
            if name not in ("sys", "builtins", "__main__"):
                del sys.modules[name]
        import json, os, sqlite3, threading
        json.dumps = os.replace = sqlite3.connect = None
        """,
        modes=ALL,
        everywhere=True,
    ),
    "the clock stands": Ending(
        "time.time = time.monotonic = time.perf_counter = lambda: 0.0\n"
        "time.time_ns = time.monotonic_ns = lambda: 0\n"
        "time.sleep = lambda _: None\ntime.localtime = time.strftime = None",
        modes=ALL,
    ),
    "a thread has no name and no number": Ending(
        """
        import threading
        class Thread(threading.Thread):
            native_id = property(lambda self: 1 / 0)
        class Named(threading.Thread):
            name = property(lambda self: sys.exit(7), lambda self, name: None)
        del threading.main_thread()._native_id
        for kind in (Thread, Named):
            kind(target=threading.Event().wait, daemon=True).start()
        """,
        modes=ALL,
        everywhere=True,
    ),
    "the list of threads is another thing": Ending(
        "import threading\nthreading.enumerate = None\n"
        "threading._active = {1: object(), 2: None}",
        modes=ALL,
        status=0,
    ),
    "sys.argv is another thing": Ending(
        f"{ODD}sys.argv = OddWords(['a'])", modes=ALL, everywhere=True
    ),
    "words of sys.argv are other things": Ending(
        f"{ODD}sys.argv = [Odd(), Odd, 1, None]", modes=ALL
    ),
    "the streams are odd": Ending(
        f"{ODD}sys.stdout = sys.stderr = sys.__stderr__ = Odd()", modes=("-l", "-b")
    ),
    "there are no streams": Ending(
        "sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None"
    ),
    "names of the program are odd": Ending(
        f"""{ODD}
__file__ = __name__ = __spec__ = __loader__ = Odd()
import linecache
linecache.cache = dict.fromkeys(["a", os.path.abspath(sys.argv[0])], (1, None, 3, 4))
linecache.getlines = linecache.checkcache = linecache.updatecache = None
work.__name__ = "other"
work.__module__ = work.__doc__ = work.__dict__["__wrapped__"] = Odd()
""",
        modes=ALL,
    ),
    "a metaclass that raises": Ending(
        """
        class Meta(type):
            def __getattribute__(self, name):
                if name in ("__name__", "__module__", "__qualname__"):
                    raise RuntimeError(name)
                return type.__getattribute__(self, name)
        class C(metaclass=Meta):
            pass
        sys.argv.append(C())
        sys.last_type = sys.last_value = C
        import threading
        threading.C = threading._active["c"] = C()
        del threading._active["c"]
        """,
        modes=ALL,
    ),
}

# -- signals and timers ----------------------------------------------------------------

# Calls `act` while the profile is written, which python never does.
MEANWHILE = """
held = sys.modules.get("lineprof.held_signals")
if held:
    held.PATIENCE = 1e9  # s; else one who waits for long may interrupt the writing
def meanwhile(act):
    sys.addaudithook(lambda event, _: act() if event == "os.rename" else None)
def send(number):
    os.kill(os.getpid(), number)
def fail(*_):
    raise RuntimeError
"""
FAIL = """
def fail(*_):
    raise RuntimeError
signal.signal(signal.SIGALRM, fail)
"""


def interrupted(first: int, second: int, distance: float) -> Ending:
    """Return the ending of a program that is sent two signals."""
    text = "print('ready', flush=True)\nwhile True: time.sleep(0.05)"
    signals = ((0.0, first), (distance, second))
    return Ending(text, status=-first, signals=signals, timed=True)


SIGNALS = {
    "a handler raises": Ending(
        f"{MEANWHILE}signal.signal(signal.SIGALRM, fail)\n"
        "meanwhile(lambda: send(signal.SIGALRM))"
    ),
    "SIGALRM with its default": Ending(
        f"{MEANWHILE}meanwhile(lambda: send(14))", modes=("-b",)
    ),
    "a timer": Ending(f"""{MEANWHILE}
signal.setitimer(signal.ITIMER_REAL, {DEADLINE})
meanwhile(lambda: signal.getitimer(signal.ITIMER_REAL)[0] and os._exit(9))
sys.exit(3)
"""),
    "Ctrl-C twice": Ending(
        f"{MEANWHILE}meanwhile(lambda: send(2))\nsend(2)\ntime.sleep({DEADLINE})"
    ),
    "SIGTERM, then SIGINT": Ending(
        f"{MEANWHILE}meanwhile(lambda: send(2))\nsend(15)\ntime.sleep({DEADLINE})"
    ),
    "SIGHUP twice": Ending(
        f"{MEANWHILE}meanwhile(lambda: send(1))\nsend(1)\ntime.sleep({DEADLINE})"
    ),
    "12 ms before an alarm": Ending(
        f"{FAIL}signal.setitimer(signal.ITIMER_REAL, 0.012)", status=0, timed=True
    ),
    "20 ms before an alarm, default": Ending(
        "signal.setitimer(signal.ITIMER_REAL, 0.02)", status=0, timed=True
    ),
    "periodic timer": Ending(
        f"{FAIL}signal.setitimer(signal.ITIMER_REAL, 0.02, 0.01)", status=0, timed=True
    ),
    "exit with a timer": Ending(
        f"{FAIL}signal.setitimer(signal.ITIMER_REAL, 0.02, 0.01)\nsys.exit(3)",
        status=3,
        timed=True,
    ),
    **{
        f"Ctrl-C twice, {ms} ms": interrupted(SIGINT, SIGINT, ms / 1000)
        for ms in (0, 20, 40, 60, 80)
    },
    "SIGTERM, 20 ms, SIGINT": interrupted(SIGTERM, SIGINT, 0.02),
    "SIGHUP twice, 20 ms": interrupted(SIGHUP, SIGHUP, 0.02),
}

ENDINGS = {**DESCRIPTORS, **PLACES, **PYTHON, **REPLACED, **SIGNALS}


# -- running them ----------------------------------------------------------------------


class Run(NamedTuple):
    """What a process left."""

    status: int
    out: str
    err: str


def run(words: list[str], ending: Ending, folder: Path) -> Run:
    """Run python with `words`, and send the signals."""
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **places(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="backslashreplace",
    )
    try:
        if ending.signals and process.stdout is not None:
            process.stdout.readline()
        for after, number in ending.signals:
            time.sleep(after)
            process.send_signal(number)
        out, err = process.communicate(timeout=DEADLINE)
    finally:
        process.kill()
    return Run(status=process.returncode, out=out, err=err.replace(str(folder), "."))


def forked(words: list[str], folder: Path) -> Run:
    """Run kernprof with `words` in a process that has imported what is early."""
    done = SERVER.run(
        words,
        folder=folder,
        environment={**os.environ, **places(folder)},
        deadline=DEADLINE,
    )
    out, err = (text.decode(errors="backslashreplace") for text in done[1:])
    return Run(status=done.status, out=out, err=err.replace(str(folder), "."))


def places(folder: Path) -> dict[str, str]:
    """Return the variables that keep the files of a run in `folder`."""
    return {"LINEPROF_LIVE": str(folder / "live"), "TMPDIR": str(folder / "tmp")}


def plain_run(ending: Ending, folder: Path) -> Run:
    """Run the program under plain python, in an empty `folder`."""
    write(ending, folder)
    return run(["program.py"], ending, folder)


def faults(ending: Ending, mode: str, plain: Run, folder: Path) -> list[str]:
    """Run the program under kernprof, in an empty `folder`; return what is wrong."""
    write(ending, folder)
    is_shown = "v" in mode
    out = folder / "out" / MODES[mode]
    flags = mode if is_shown else f"{mode}q"
    words = ["-m", "kernprof", flags, "-o", f"out/{out.name}", "program.py"]
    is_started = ending.timed or not SERVER.can_run(os.environ)
    ours = run(words, ending, folder) if is_started else forked(words, folder)
    found = []
    status = plain.status if ending.status is None else ending.status
    if ours.status != status:
        found.append(f"the status is {ours.status}, not {status}")
    has_table = plain.out in ours.out and "work" in ours.out.partition("Wrote")[2]
    if not (has_table if is_shown else ours.out == plain.out):
        found.append(f"the output is {ours.out!r}, not {plain.out!r}")
    is_written = has_profile(out, ending)
    if is_written != (ending.counts == WRITTEN) and ending.counts != EITHER:
        found.append(f"{out.name} is {'written' if is_written else 'not there'}")
    if not ending.timed:
        told = 0 if is_written or ending.counts == SILENT else 1
        found += wrong_lines(ours.err, plain.err, told)
    if not is_written:
        if (folder / "away").exists():
            (folder / "away").rename(folder / "out")
        with mock.patch.dict(os.environ, places(folder)):
            recovered = viewer("recover", cwd=folder)
        if not has_profile(out, ending):
            found.append(f"the counts are lost: {recovered.out}{recovered.err}")
    left = [path for place in LEFT for path in folder.glob(place)]
    found += [f"{path.relative_to(folder)} is left" for path in left]
    return found


def write(ending: Ending, folder: Path) -> None:
    """Write the program, and make the folders of a run."""
    text = BEGIN + textwrap.dedent(ending.text) + "\n"
    (folder / "program.py").write_text(text, encoding="utf-8")
    for name in ("jail", "live", "out", "tmp"):
        (folder / name).mkdir()


def wrong_lines(ours: str, plain: str, told: int) -> list[str]:
    """Return what is wrong with the error output; `told` lines are to be of kernprof.

    Paths in tracebacks are below one folder each.
    """
    lines = ours.splitlines()
    said = [line for line in lines if line.startswith("kernprof: ")]
    rest = [line for line in lines if line not in said]
    if rest != plain.splitlines():
        return [f"the error output is {ours!r}, not {plain!r}"]
    if len(said) != told or not all("`lineprof recover`" in line for line in said):
        return [f"{told} lines were to be said: {said}"]
    return []


def has_profile(file: Path, ending: Ending) -> bool:
    """Return whether `file` has the counts of the program."""
    if not file.exists():
        return False
    file.chmod(file.stat().st_mode | 0o600)  # the program may have another umask
    if file.suffix == ".prof":
        calls = marshal.loads(file.read_bytes())  # noqa: S302  # kernprof wrote it
        return {*ending.names} <= {name for _, _, name in calls}
    try:
        functions = load_stats(file).functions
    except LineprofError:
        return False
    hits = {one.name: one.rows[0].hits for one in functions if one.rows}
    return hits == dict.fromkeys(ending.names, ending.hits)
