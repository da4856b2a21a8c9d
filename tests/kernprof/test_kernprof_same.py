"""A program under kernprof: the same output, errors and exit status as under python.

Each test runs a program twice and compares every byte.
"""

from __future__ import annotations

import py_compile
import re
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest
from as_python import check_same, kernprof_forked, marked, run, write

if TYPE_CHECKING:
    from pathlib import Path

PRINTS_ENVIRONMENT = """\
    '''Words on the program.'''
    import atexit, builtins, os, sys

    def look():
        print(list(globals()))
        for name in sorted(set(globals()) - {"atexit", "builtins", "os", "sys"}):
            value = globals()[name]
            print(name, type(value), value if isinstance(value, str) else "")
        print(globals()["__builtins__"] is builtins)

    print(getattr(__loader__, "path", None), getattr(__loader__, "name", None))
    print(__spec__ and (__spec__.name, __spec__.origin, __spec__.parent))
    look()
    print(sys.argv, sys.path)
    print(sys._getframe().f_code.co_filename, sys._getframe().f_code.co_name)
    print(sys.modules["__main__"].__dict__ is globals(), sys.flags, sys.warnoptions)
    print(sys._xoptions, sys.stdin.isatty(), sys.stdout.encoding, sys.gettrace())
    print(sys.stdin.read())
    atexit.register(look)
    """


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a program that prints its environment, in several forms."""
    write(tmp_path, "look.py", PRINTS_ENVIRONMENT)
    write(tmp_path, "package/__init__.py", "print('imported', __name__)")
    write(tmp_path, "package/__main__.py", PRINTS_ENVIRONMENT)
    write(tmp_path, "package/inner.py", PRINTS_ENVIRONMENT)
    write(tmp_path, "plain/__main__.py", PRINTS_ENVIRONMENT)
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.write(tmp_path / "look.py", "__main__.py")
    (tmp_path / "link.py").symlink_to("package/inner.py")
    py_compile.compile(str(tmp_path / "look.py"), str(tmp_path / "looks.pyc"))
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["look.py"],
        ["./look.py", "a", "-b", "--", "-l"],
        ["package/../look.py"],
        ["package/inner.py"],
        ["link.py"],
        ["looks.pyc"],
        ["plain"],
        ["./plain/", "-v"],
        ["package"],
        ["packed.zip", "x"],
        ["-m", "look"],
        ["-m", "package", "-m", "x"],
        ["-mpackage.inner"],
        ["-", "a"],
        ["--", "look.py", "--"],
        ["look.py", "--", "a", "--"],
        ["plain", "--", "--", "-l"],
        ["-", "--", "a"],
        ["-m", "package", "--", "a"],
    ],
    ids=" ".join,
)
def test_the_environment_of_a_program(folder: Path, words: list[str]) -> None:
    text = (folder / "look.py").read_text() if words[0] == "-" else "standard input"
    outcome = check_same(*words, cwd=folder, text=text)
    assert outcome.status == 0


def test_the_environment_of_a_program_in_an_absolute_path(folder: Path) -> None:
    check_same(str(folder / "look.py"), cwd=folder.parent)
    check_same(str(folder / "plain"), cwd=folder.parent)


def test_the_environment_of_a_command(folder: Path) -> None:
    program = (folder / "look.py").read_text()
    check_same("-c", program, "a", "-c", cwd=folder, text="standard input")
    check_same(f"-c{program}", cwd=folder)


def test_the_environment_of_a_program_under_cprofile(folder: Path) -> None:
    for mode in ("-q", "-bq"):
        check_same("look.py", cwd=folder, mode=mode)
        (folder / "look.prof").unlink()  # an empty profile would not replace it
    check_same("-m", "package", cwd=folder, mode="-q")


FLAGS = [
    *(["-I"], ["-O"], ["-P"]),
    *(["-W", "error", "-X", "dev"], ["-B", "-s", "-E", "-u"]),
]


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_flags_of_python(folder: Path, flags: list[str]) -> None:
    isolated = run(["-m", "kernprof", "-V"], cwd=folder, flags=flags).status
    if isolated:
        pytest.skip("this kernprof is found through PYTHONPATH")
    for words in (
        ["look.py"],
        ["plain"],
        ["-m", "look"],
        ["-c", "import sys; sys.path"],
    ):
        if "-m" not in words or not {"-I", "-P"} & {*flags}:
            check_same(*words, cwd=folder, flags=flags)


ENDINGS = {
    "nothing": "pass",
    "exit": "import sys; sys.exit()",
    "exit 3": "import sys; sys.exit(3)",
    "exit 300": "import sys; sys.exit(300)",
    "exit -1": "import sys; sys.exit(-1)",
    "exit text": "import sys; print('out'); sys.exit('a last word: \\xe9')",
    "exit tuple": "import sys; sys.exit((1, 'two'))",
    "exit object": """
        class Last:
            def __str__(self):
                return "I am the last"
        raise SystemExit(Last())""",
    "exit subclass": """
        class Exit(SystemExit):
            code = 7
        raise Exit("not shown")""",
    "os._exit": "import os; print('lost'); os._exit(4)",
    "exception": "def f(x):\n    return 1 / x\nf(0)",
    "own exception": "class MineError(Exception): pass\nraise MineError('a\\nb')",
    "chained": """
        def f():
            try:
                {}["x"]
            except KeyError as error:
                raise ValueError("from") from error
        try:
            f()
        except ValueError:
            raise RuntimeError("context")""",
    "in exec": "exec('def f():\\n    1 / 0\\nf()')",
    "not text": "raise ValueError(b'\\xff', '\\udc80')",
    "keyboard": "def f():\n    raise KeyboardInterrupt('x')\nf()",
    "own keyboard": "class Mine(KeyboardInterrupt): pass\nraise Mine",
    "generator exit": "raise GeneratorExit",
    "base exception": "raise BaseException('x')",
    "hook": """
        import sys
        def hook(kind, value, traceback):
            frames = []
            while traceback:
                frames.append(traceback.tb_frame.f_code.co_name)
                traceback = traceback.tb_next
            print("hook:", kind, value, frames, sys.excepthook is hook)
            print(value.__traceback__.tb_next is sys.last_traceback.tb_next)
            print(sys.last_type, sys.last_value, sys.exc_info())
        sys.excepthook = hook
        def f():
            1 / 0
        f()""",
    "hook that fails": """
        import sys
        def hook(*what):
            {}["no"]
        sys.excepthook = hook
        1 / 0""",
    "hook that exits": """
        import sys
        def hook(*what):
            sys.exit("from the hook")
        sys.excepthook = hook
        1 / 0""",
    "last words": """
        import atexit, sys, traceback
        @atexit.register
        def last():
            print(getattr(sys, "last_value", None), sys.excepthook)
            traceback.print_tb(sys.last_traceback, file=sys.stdout)
            print(__name__, sorted(globals()))
        {}["x"]""",
    "exit in a handler": """
        import atexit, sys
        atexit.register(print, "second")
        atexit.register(sys.exit, 5)
        print("first")""",
    "error in a handler": "import atexit; atexit.register(int, 'x')",
    "no streams": "import sys; sys.stdout.close(); sys.stderr = None; 1 / 0",
    "no output": "import os; os.close(1)",
    "warning": "import warnings; warnings.warn('hm'); x = 1 is 1; '\\d'",
    "logging": "import logging; logging.warning('hm'); logging.error('x')",
    "exit code 0 as bool": "import sys; sys.exit(False)",
    "group": """
        try:
            raise ExceptionGroup("several", [ValueError(1), TypeError("two")])
        except* ValueError as group:
            group.add_note("a note")
            raise""",
}
# The cases that run with every Python and core.
SMOKE_ENDINGS = {"exception", "chained", "group", "os._exit", "exit 3"}


@pytest.mark.parametrize("ending", marked(ENDINGS, pytest.mark.smoke, SMOKE_ENDINGS))
def test_a_program_ends_as_under_python(tmp_path: Path, ending: str) -> None:
    write(tmp_path, "program.py", ENDINGS[ending])
    check_same("program.py", cwd=tmp_path, command=kernprof_forked)


@pytest.mark.parametrize(
    "ending", ["exit text", "exception", "chained", "keyboard", "hook", "last words"]
)
def test_programs_of_other_kinds_end_as_under_python(
    tmp_path: Path, ending: str
) -> None:
    write(tmp_path, "program.py", ENDINGS[ending])
    write(tmp_path, "folder/__main__.py", ENDINGS[ending])
    text = (tmp_path / "program.py").read_text()
    for words, mode in (
        (["-m", "program"], "-lq"),
        (["folder"], "-lq"),
        (["-c", text], "-lq"),
        (["-"], "-lq"),
        (["program.py"], "-q"),
    ):
        given = text if words == ["-"] else ""
        check_same(*words, cwd=tmp_path, mode=mode, text=given, command=kernprof_forked)


INVALID_SOURCE = {
    "syntax": b"x = 1\ny = = 2\n",
    "indentation": b"if 1:\nx = 2\n",
    "dedent": b"if 1:\n    x = 2\n  y = 3\n",
    "tabs": b"if 1:\n    x = 2\n\ty = 3\n",
    "open bracket": b"x = (1,\n2,\n",
    "open string": b"x = 1\ny = '''abc\ndef\n",
    "open line": b"x = 1 + \\\n",
    "no UTF-8": b"x = 1\ns = '\xe9'\n",
    "no UTF-8 in a comment": b"x = 1\n# \xe9\n",
    "no such encoding": b"# -*- coding: nosuch -*-\nx = 1\n",
    "wrong encoding": b"# -*- coding: ascii -*-\nx = '\xc3\xa9'\n",
    "two encodings": b"\xef\xbb\xbf# -*- coding: latin-1 -*-\nx = 1\n",
    "null": b"x = '\0'\n",
    "UTF-16": "x = 1\n".encode("utf-16"),
    "return": b"return 1\n",
    "future": b"from __future__ import nosuch\n",
    "late future": b"x = 1\nfrom __future__ import annotations\n",
}
ANNOTATED = b"""
try:
    def f(x: y): pass
    print(f.__annotations__)
except NameError as error:
    print(error)
"""
UNUSUAL_SOURCE = {
    "latin-1": b"# coding: latin-1\nprint('\xe9')\nraise ValueError('\xe9')",
    "byte order mark": b"\xef\xbb\xbfprint(__file__[-3:])\n1/0 # \xc3\xa9",
    "Windows": b"print(1)\r\nprint('''a\r\nb''')\r\n1/0\r\n",
    "empty": b"",
    "no end of line": b"print(1)",
    "form feed": b"\x0cprint(1)\n",
    "future": b"from __future__ import annotations\n" + ANNOTATED,
    "no future": ANNOTATED,
    "annotations": b"x: int = 1\nprint(__annotations__)",
}


@pytest.mark.parametrize("which", INVALID_SOURCE)
def test_files_with_invalid_source(tmp_path: Path, which: str) -> None:
    (tmp_path / "program.py").write_bytes(INVALID_SOURCE[which])
    outcome = check_same("program.py", cwd=tmp_path, command=kernprof_forked)
    assert outcome.status == 1
    assert not (tmp_path / "program.lprof").exists()


@pytest.mark.parametrize("which", UNUSUAL_SOURCE)
def test_files_with_unusual_source(tmp_path: Path, which: str) -> None:
    (tmp_path / "program.py").write_bytes(UNUSUAL_SOURCE[which])
    check_same("program.py", cwd=tmp_path, command=kernprof_forked)


def test_commands_with_invalid_source(tmp_path: Path) -> None:
    for program in ("x = = 1", "if 1:\nx", "x = (1,", "return 1", "'\\d'; print(1)"):
        check_same("-c", program, cwd=tmp_path, command=kernprof_forked)


def test_a_module_that_cannot_be_imported(tmp_path: Path) -> None:
    write(tmp_path, "broken.py", "x = = 1")
    write(tmp_path, "package/__init__.py", "1 / 0")
    write(tmp_path, "package/__main__.py", "print('no')")
    check_same("-m", "broken", cwd=tmp_path)
    check_same("-m", "package", cwd=tmp_path)
    assert not (tmp_path / "broken.lprof").exists()
    assert not (tmp_path / "package.lprof").exists()


PROGRAMS = {
    "pickle": """
        import pickle
        class Point:
            def __init__(self, x):
                self.x = x
        print(pickle.loads(pickle.dumps(Point(3))).x, pickle.dumps(Point))""",
    "source": """
        import inspect, linecache
        def f():
            return 1
        try:
            print(inspect.getsource(f))
        except OSError as error:
            print(error)
        print(list(linecache.cache)[:0], __file__)""",
    "traceback": """
        import sys, traceback
        def f():
            {}["x"]
        try:
            f()
        except KeyError:
            traceback.print_exc()
            print(len(traceback.extract_tb(sys.exc_info()[2])))""",
    "threads": """
        import threading
        gate = threading.Event()
        def work():
            gate.wait()
            threading.main_thread().join()
            print("after the main thread", flush=True)
        threading.Thread(target=work).start()
        gate.set()
        print("end of main")""",
    "thread that fails": """
        import threading
        thread = threading.Thread(target=lambda: 1 / 0, name="worker")
        thread.start()
        thread.join()""",
    "daemon": """
        import threading, time
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        print("end")""",
    "executor": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(2)
        pool.submit(print, "from the pool").result()""",
    "order of output": """
        import os, threading
        def work():
            threading.main_thread().join()
            os.write(1, b"unbuffered\\n")
        threading.Thread(target=work).start()
        print("buffered")""",
    "torn down": """
        import gc, sys
        gc.collect()  # else one that falls between two of these lines changes the order
        class Loud:
            def __init__(self, name):
                self.name = name
            def __del__(self, write=sys.stdout.write, flush=sys.stdout.flush):
                write(f"del {self.name}\\n")
                flush()
        first = Loud("first")
        _private = Loud("private")
        last = Loud("last")
        def holds(x=Loud("default")):
            return first
        cycle = [Loud("in a cycle")]
        cycle.append(cycle)""",
    "fork": """
        import os, sys
        pid = os.fork()
        if pid:
            print("child:", os.waitpid(pid, 0)[1])
        else:
            print("in the child")
            sys.exit(3)""",
    "asyncio": """
        import asyncio
        async def main():
            await asyncio.sleep(0)
            print("ran")
        asyncio.run(main())""",
    "changes folder": """
        import os
        os.mkdir("elsewhere")
        os.chdir("elsewhere")
        print(sorted(os.listdir(".")))
        os.chdir("..")
        os.rmdir("elsewhere")""",
    "signals": """
        import signal
        for name in ("SIGINT", "SIGPIPE", "SIGUSR1", "SIGHUP", "SIGCHLD"):
            print(name, signal.getsignal(getattr(signal, name)))
        print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)""",
    "resources": """
        import os, resource, sys, threading
        print(len(os.listdir("/dev/fd")), threading.active_count())
        print(sys.getrecursionlimit(), sys.getswitchinterval(), os.umask(0))""",
    "limits at the end": """
        import os, sys
        class Last:
            def __del__(self, write=os.write, interval=sys.getswitchinterval):
                write(1, str(interval()).encode())
        sys.setswitchinterval(0.25)
        last = Last()""",
    "imports": """
        import sys
        import sibling
        print(sibling.name, sys.modules["__main__"] is not sibling)
        import __main__
        print(__main__.sibling is sibling)""",
    "own modules": """
        import signal, token, dataclasses, calls
        print(signal.mine, token.mine, dataclasses.mine, calls.mine)""",
    "interrupted": """
        import os, signal, time
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)""",
    "interrupted and caught": """
        import os, signal, time
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        except KeyboardInterrupt:
            print("caught")""",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "aborted": "import os, signal; os.kill(os.getpid(), signal.SIGUSR1)",
}
# The cases that run with every Python and core.
SMOKE_PROGRAMS = {"threads", "fork", "torn down", "asyncio", "traceback", "killed"}


@pytest.mark.parametrize("which", marked(PROGRAMS, pytest.mark.smoke, SMOKE_PROGRAMS))
def test_programs_run_as_under_python(tmp_path: Path, which: str) -> None:
    write(tmp_path, "program.py", PROGRAMS[which])
    write(tmp_path, "sibling.py", "name = __name__")
    if which == "own modules":
        for name in ("signal", "token", "dataclasses", "calls"):
            write(tmp_path, f"{name}.py", "mine = __file__[-9:]")
    check_same("program.py", cwd=tmp_path)


def test_a_closed_output_pipe(tmp_path: Path) -> None:
    begin = "from lineprof import profile\nprofile(lambda: None)()\n"
    write(tmp_path, "many.py", f"{begin}for i in range(100000): print(i)")
    write(tmp_path, "few.py", f"{begin}print(1)")
    for program in ("many.py", "few.py"):
        script = f"{{ $PYTHON {program}; echo $? >&2; }} | true"
        outcomes = [
            run(["-c", SHELL, script], cwd=tmp_path, env={"PYTHON": python})
            for python in (
                sys.executable,
                f"{sys.executable} -m kernprof -l",
            )
        ]
        assert outcomes[0] == outcomes[1]


SHELL = "import subprocess, sys; subprocess.run(sys.argv[1], shell=True)"


def test_standard_input_is_left_to_the_program(tmp_path: Path) -> None:
    write(tmp_path, "reads.py", "print(input(), input()); print(open(0).read())")
    check_same("reads.py", cwd=tmp_path, text="a\nb\nc\n")
    check_same(
        "-c", "import sys; print(sys.stdin.buffer.read())", cwd=tmp_path, text="x"
    )
    assert (tmp_path / "reads.lprof").exists()


ESCAPES = r"""
    import builtins
    profile = getattr(builtins, "profile", lambda function: function)

    @profile
    def texts(x=1):
        y = [("\d" "\\"
             r"\q\"" "\%s" % x), (
             '\'' "\N{BULLET}"
             "\
        "), b"\w"]
        return y

    print(ascii(texts()))
    """


def test_python_warns_of_invalid_escapes_once(tmp_path: Path) -> None:
    escapes = write(tmp_path, "escapes.py", ESCAPES)
    valid = write(tmp_path, "valid.py", re.sub(r"\\([dq%w])", r"x\1", ESCAPES))
    counts = []
    for name in (escapes, valid):
        outcome = check_same(name, cwd=tmp_path, mode="-lqo%s.lprof")
        is_told = name == escapes and sys.version_info >= (3, 12)
        assert ("SyntaxWarning" in outcome.err) == is_told
        view = run(["-m", "lineprof", "view", name[:-2] + "lprof"], cwd=tmp_path)
        assert not view.err
        counts.append(re.findall(r"^ +(\d+) +(\d+) ", view.out, re.MULTILINE))
    assert counts[0] == counts[1]
    assert counts[0][0] == ("7", "1")
