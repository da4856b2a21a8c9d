"""Profiles that line_profiler loses because of the start or the end of a program."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest
from as_python import check_same, hits_in, kernprof, run, viewer, write
from deadline import DEADLINE

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """\
import os, sys
@profile
def f():
    return 1
f()
"""
# Runs python with its arguments in an orphan: after the parent has ended.
ORPHAN = """\
import os, sys
started = os.getpid()
if os.fork():
    os._exit(0)
while os.getppid() == started:
    pass
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def orphan(folder: Path, *words: str, **options: object) -> str:
    """Return the output of this interpreter, run with `words` in an orphan process."""
    write(folder, "starter.py", ORPHAN)
    return run(["starter.py", *words], cwd=folder, **options).out  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["-l", "-b"])
def test_an_orphan_process(tmp_path: Path, mode: str) -> None:
    write(tmp_path, "x.py", PROGRAM)
    out = orphan(tmp_path, "-m", "kernprof", mode, "x.py")
    assert "Wrote profile results to 'x." in out
    name = "x.lprof" if mode == "-l" else "x.prof"
    assert (tmp_path / name).stat().st_size
    if mode == "-l":
        assert hits_in(tmp_path / name) == {"f": {4: 1}}


def test_an_orphan_process_without_kernprof(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "from lineprof import profile\n" + PROGRAM)
    orphan(tmp_path, "x.py", env={"LINE_PROFILE": "1"})
    assert hits_in(tmp_path / "profile_output.lprof") == {"f": {5: 1}}


FILL = """
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
try:
    while True:
        os.open("/", os.O_RDONLY)
except OSError:
    pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads share all descriptors")
def test_a_profile_without_kernprof_and_without_descriptors(tmp_path: Path) -> None:
    write(tmp_path, "x.py", f"from lineprof import profile\n{PROGRAM}{FILL}")
    outcome = run(["x.py"], cwd=tmp_path, env={"LINE_PROFILE": "1"})
    assert (outcome.status, outcome.err) == (0, "")
    assert hits_in(tmp_path / "profile_output.lprof") == {"f": {5: 1}}


@pytest.mark.skipif(sys.platform != "linux", reason="threads share all descriptors")
def test_a_function_that_is_decorated_without_descriptors(tmp_path: Path) -> None:
    text = "def f(x):\n    return (\n        x,\n        x,\n    )\n"
    write(tmp_path, "library.py", text)
    write(tmp_path, "x.py", f"import library\n{FILL}profile(library.f)(1)\n")
    outcome = kernprof("-lq", "x.py", cwd=tmp_path)
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    stats = load_stats(tmp_path / "x.lprof")
    [source] = [s for file, s in stats.sources.items() if file.endswith("library.py")]
    assert source.text == text
    assert hits_in(tmp_path / "x.lprof")["f"] == {2: 1, 3: 1, 4: 1}


def test_nohup(tmp_path: Path) -> None:
    text = f"{PROGRAM}import signal\nos.kill(os.getpid(), signal.SIGHUP)\nf()\n"
    write(tmp_path, "x.py", text)
    with (tmp_path / "nohup.out").open("wb") as out:
        done = subprocess.run(
            ["/usr/bin/env", "nohup", sys.executable, "-m", "kernprof", "-l", "x.py"],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            timeout=DEADLINE,
            check=False,
        )
    assert done.returncode == 0
    assert "Wrote profile results" in (tmp_path / "nohup.out").read_text()
    assert hits_in(tmp_path / "x.lprof") == {"f": {4: 2}}


def test_sigterm(tmp_path: Path) -> None:
    text = f"{PROGRAM}import signal\nos.kill(os.getpid(), signal.SIGTERM)\nf()\n"
    write(tmp_path, "x.py", text)
    assert kernprof("-lq", "x.py", cwd=tmp_path).status == -signal.SIGTERM
    assert hits_in(tmp_path / "x.lprof") == {"f": {4: 1}}


def test_the_source_after_a_change_of_folder(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    write(tmp_path, "x.py", PROGRAM + "os.chdir('other')\n")
    out = kernprof("-lv", "x.py", cwd=tmp_path).out
    assert "return 1" in out
    assert "Could not find file" not in out
    assert not any((tmp_path / "other").iterdir())
    viewed = viewer("view", "../x.lprof", cwd=tmp_path / "other")
    assert "return 1" in viewed.out


def test_a_forked_child_that_ends_last(tmp_path: Path) -> None:
    text = f"""{PROGRAM}
reader, writer = os.pipe()
if os.fork():
    f()
else:
    os.close(writer)
    os.read(reader, 1)  # until the parent has ended
    f()
    f()
"""
    write(tmp_path, "x.py", text)
    outcome = kernprof("-l", "x.py", cwd=tmp_path)  # waits for both processes
    assert outcome.out.count("Wrote profile results") == 1
    assert hits_in(tmp_path / "x.lprof") == {"f": {4: 2}}


def test_a_closed_output_pipe(tmp_path: Path) -> None:
    text = f"{PROGRAM}os.read(0, 1)\nprint('x' * 10**6)\n"
    write(tmp_path, "x.py", text)
    process = subprocess.Popen(
        [sys.executable, "-m", "kernprof", "-l", "x.py"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    process.communicate(b"x", timeout=DEADLINE)
    assert hits_in(tmp_path / "x.lprof") == {"f": {4: 1}}


def test_closed_standard_streams(tmp_path: Path) -> None:
    write(tmp_path, "x.py", PROGRAM)
    command = f"{sys.executable} -m kernprof -lv x.py >&- 2>&- <&-"
    words = ["/bin/sh", "-c", command]
    subprocess.run(words, cwd=tmp_path, check=True, timeout=DEADLINE)
    assert hits_in(tmp_path / "x.lprof") == {"f": {4: 1}}


def test_a_thread_that_interrupts_the_program(tmp_path: Path) -> None:
    # Short waits: interrupt_main sets a flag, which does not end a wait.
    text = PROGRAM + (
        "import threading, _thread\n"
        "threading.Thread(target=lambda: (f(), _thread.interrupt_main())).start()\n"
        "while True: threading.Event().wait(0.05)\n"
    )
    write(tmp_path, "x.py", text)
    assert kernprof("-lq", "x.py", cwd=tmp_path).status == -signal.SIGINT
    assert hits_in(tmp_path / "x.lprof") == {"f": {4: 2}}


def test_an_earlier_profile_stays_whole_while_the_new_one_is_written(
    tmp_path: Path,
) -> None:
    write(tmp_path, "x.py", PROGRAM)
    kernprof("-lq", "x.py", cwd=tmp_path)
    earlier = (tmp_path / "x.lprof").stat().st_ino
    with (tmp_path / "x.lprof").open("rb") as reader:
        whole = reader.read()
        kernprof("-lq", "x.py", cwd=tmp_path)
        reader.seek(0)
        assert reader.read() == whole
    assert (tmp_path / "x.lprof").stat().st_ino != earlier


def test_the_descriptors_that_a_program_leaked_stay_open(tmp_path: Path) -> None:
    text = """
        class Last:
            def __del__(self, fstat=os.fstat, numbers=[], write=os.write):
                [fstat(number) for number in numbers]
                write(1, b"all are open")
        last = Last()
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        try:
            while True:
                Last.__del__.__defaults__[1].append(os.open(__file__, os.O_RDONLY))
        except OSError:
            pass
        """
    write(tmp_path, "x.py", PROGRAM + textwrap.dedent(text))
    outcome = kernprof("-lq", "x.py", cwd=tmp_path)
    assert (outcome.status, outcome.out, outcome.err) == (0, "all are open", "")
    assert hits_in(tmp_path / "x.lprof") == {"f": {4: 1}}


@pytest.mark.parametrize("mode", ["-lq", "-bq"])
def test_decorated_functions_that_run_when_the_interpreter_shuts_down(
    tmp_path: Path, mode: str
) -> None:
    # Names of modules are gone by then, so all that is needed is an argument.
    text = """
        import builtins, encodings, os, sys
        profile = vars(builtins).get("profile", lambda function: function)
        @profile
        def plain():
            return 1
        @profile
        def generator():
            yield 1
        @profile
        async def coroutine():
            return 1
        class Last:
            def __del__(
                self, write=os.write,
                plain=plain, generator=generator, coroutine=coroutine,
                stop=StopIteration,
            ):
                write(1, b"%d %d\\n" % (plain(), [*generator()][0]))
                try:
                    coroutine().send(None)
                except stop as end:
                    write(1, b"%d\\n" % end.value)
        last = Last()
        sys.another = Last()
        encodings.another = Last()
        """
    check_same(write(tmp_path, "x.py", text), cwd=tmp_path, mode=mode)


# What a program does so that no profile of calls can be written, and what is said.
REFUSALS = {
    "an audit hook of the program refuses it": """
        def hook(event, _):
            if event in ("open", "import"):
                raise RuntimeError(event)
        sys.addaudithook(hook)
        """,
    "Too many open files": """
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
        """,
}


@pytest.mark.parametrize("why", REFUSALS)
def test_a_profile_of_calls_that_is_lost_is_a_failure(tmp_path: Path, why: str) -> None:
    write(tmp_path, "x.py", PROGRAM + textwrap.dedent(REFUSALS[why]))
    outcome = kernprof("-b", "x.py", cwd=tmp_path)
    assert (outcome.status, outcome.out) == (1, "")
    assert why in outcome.err
    assert outcome.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.py"]


@pytest.mark.parametrize(
    "error", ["MemoryError()", "SystemError('error return without exception set')"]
)
def test_a_lack_of_memory_at_the_end_is_called_so(tmp_path: Path, error: str) -> None:
    # The second is what an import raises whose compiler gets no memory.
    text = f"""
        from lineprof import LineStats
        def to_file(*_):
            raise {error}
        LineStats.to_file = to_file
        """
    write(tmp_path, "x.py", PROGRAM + textwrap.dedent(text))
    outcome = kernprof("-l", "x.py", cwd=tmp_path, env={"LINEPROF_LIVE": "off"})
    assert (outcome.status, outcome.out) == (1, "")
    shown = error.replace("()", "").replace("('", ": ").replace("')", "")
    assert outcome.err == (
        f"kernprof: cannot write or show the profile: memory is short ({shown}); let"
        " the process have more (ulimit -d, ulimit -v)\n"
    )
