"""Signals: the profile is written, and the process ends as without kernprof."""

from __future__ import annotations

import _signal
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING

import pytest
from as_python import check_same, kernprof_forked, run, write
from deadline import DEADLINE

from lineprof import load_stats
from lineprof.held_signals import HeldSignals

if TYPE_CHECKING:
    from pathlib import Path

INTERRUPTED = (
    "kernprof: interrupted before the profile was written;"
    " the counts are kept for `lineprof recover`\n"
)
PROGRAM = """
    import os, signal, sys, threading, time

    @profile
    def wait():
        print("ready", flush=True)
        {wait}
        print("not reached")

    wait()
    """

WAITS = {
    "sleeping": "time.sleep(60)",
    "computing": "while True: pass",
    "reading": "sys.stdin.read()",
    "in a lock": "threading.Lock().acquire() and threading.Event().wait()",
    "joining": (
        "t = threading.Thread(target=time.sleep, args=(60,), daemon=True);"
        " t.start(); t.join()"
    ),
    "with busy threads": (
        "[threading.Thread(target=lambda: [None for _ in iter(int, 1)],"
        " daemon=True).start() for _ in range(8)]; time.sleep(60)"
    ),
}


def start(
    folder: Path, program: str, *words: str
) -> tuple[subprocess.Popen[bytes], str]:
    """Start the program under kernprof; wait for its first line and return it."""
    (folder / "program.py").write_text(textwrap.dedent(program))
    environment = {**os.environ}
    environment.pop("PYTHONUNBUFFERED", None)  # from the shell of the tests
    process = subprocess.Popen(
        [sys.executable, "-m", "kernprof", "-l", *words, "program.py"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().decode()


def terminate(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Send SIGTERM; return the status and all further output.

    The signal may come when Python is about to block in a call and has already
    checked for signals; where lineprof does not send it again, this does.
    """
    process.send_signal(signal.SIGTERM)
    while sys.platform != "linux" and process.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
            break
        process.send_signal(signal.SIGTERM)
    return finish(process)


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Wait for the end; return the status and all further output."""
    assert process.stdin is not None
    out, err = process.communicate(timeout=DEADLINE)
    return process.returncode, out.decode(), err.decode()


def profile_of(folder: Path) -> tuple[str, int]:
    """Return the exit in the profile, and the number of calls of `wait`."""
    stats = load_stats(folder / "program.lprof")
    [function] = stats.functions
    return stats.processes[0].exit, function.calls


@pytest.mark.parametrize("wait", WAITS)
def test_sigterm_writes_the_profile_and_kills(tmp_path: Path, wait: str) -> None:
    process, _ = start(tmp_path, PROGRAM.format(wait=WAITS[wait]), "-q")
    assert terminate(process) == (-signal.SIGTERM, "", "")
    assert profile_of(tmp_path) == ("SIGTERM", 1)


def test_sigterm_says_where_the_profile_is(tmp_path: Path) -> None:
    process, _ = start(tmp_path, PROGRAM.format(wait="time.sleep(60)"))
    status, out, err = terminate(process)
    assert status == -signal.SIGTERM
    assert out.startswith("Wrote profile results to 'program.lprof'\n")
    assert err == ""


def test_sigterm_does_not_flush_the_programs_buffers(tmp_path: Path) -> None:
    now = "os.write(1, b'now\\n')"  # bypasses the buffer
    wait = f"sys.stdout.write('buffered'); {now}; time.sleep(60)"
    process, _ = start(tmp_path, PROGRAM.format(wait=wait))
    assert process.stdout is not None
    assert process.stdout.readline() == b"now\n"
    _, out, _ = terminate(process)
    assert "buffered" not in out


def test_sigterm_while_python_waits_for_threads(tmp_path: Path) -> None:
    program = """
        import threading, time
        @profile
        def wait():
            print("ready", flush=True)
            time.sleep(60)
        threading.Thread(target=wait).start()
        """
    process, _ = start(tmp_path, program, "-q")
    assert terminate(process) == (-signal.SIGTERM, "", "")
    assert profile_of(tmp_path) == ("SIGTERM", 1)


def test_sigterm_in_an_exit_handler(tmp_path: Path) -> None:
    program = """
        import atexit, sys, time
        @profile
        def wait():
            print("ready", flush=True)
            time.sleep(60)
        atexit.register(wait)
        """
    process, _ = start(tmp_path, program, "-q")
    assert terminate(process) == (-signal.SIGTERM, "", "")
    assert profile_of(tmp_path) == ("SIGTERM", 1)


def test_a_second_sigterm_does_not_disturb_the_writing(tmp_path: Path) -> None:
    process, _ = start(tmp_path, PROGRAM.format(wait="time.sleep(60)"), "-q")
    for _ in range(50):
        process.send_signal(signal.SIGTERM)
    assert terminate(process) == (-signal.SIGTERM, "", "")
    assert profile_of(tmp_path) == ("SIGTERM", 1)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["program.lprof", "program.py"]


# Signals that come while the profile is written; plain python has ended by then.
@pytest.mark.parametrize(
    "name", ["SIGTERM", "SIGHUP", "SIGINT", "SIGALRM", "SIGUSR1", "SIGPROF"]
)
def test_a_signal_while_the_profile_is_written_changes_nothing(
    tmp_path: Path, name: str
) -> None:
    program = f"""
        import os, signal
        from lineprof import LineStats
        plain = LineStats.to_file
        def to_file(*arguments):
            os.kill(os.getpid(), signal.{name})
            plain(*arguments)
        LineStats.to_file = to_file
        @profile
        def wait():
            pass
        wait()
        """
    outcome = kernprof_forked(
        "-lq", write(tmp_path, "program.py", program), cwd=tmp_path
    )
    assert (outcome.status, outcome.err) == (0, "")
    assert profile_of(tmp_path) == ("", 1)


# The writing takes some 30 ms, which the signals' distance (ms) walks through.
@pytest.mark.parametrize("distance", range(0, 60, 10))
def test_two_ctrl_c(tmp_path: Path, distance: int) -> None:
    wait = "while True: time.sleep(0.05)"
    process, _ = start(tmp_path, PROGRAM.format(wait=wait), "-q")
    process.send_signal(signal.SIGINT)
    time.sleep(distance / 1000)
    process.send_signal(signal.SIGINT)
    status, out, _ = finish(process)
    assert (status, out) == (-signal.SIGINT, "")
    assert profile_of(tmp_path)[1] == 1


def test_a_second_ctrl_c_before_kernprof_knows_of_the_first(tmp_path: Path) -> None:
    program = """
        import atexit, signal
        plain = atexit._ncallbacks
        def interrupted():  # called by kernprof, as soon as the program has ended
            atexit._ncallbacks = plain
            signal.raise_signal(signal.SIGINT)
        atexit._ncallbacks = interrupted
        @profile
        def wait():
            signal.raise_signal(signal.SIGINT)
        wait()
        """
    outcome = run(
        ["-m", "kernprof", "-lq", write(tmp_path, "program.py", program)], cwd=tmp_path
    )
    assert outcome.status == -signal.SIGINT
    assert profile_of(tmp_path) == ("KeyboardInterrupt", 1)


@pytest.mark.smoke
def test_sighup_writes_the_profile_and_kills(tmp_path: Path) -> None:
    process, _ = start(tmp_path, PROGRAM.format(wait="time.sleep(60)"), "-q")
    process.send_signal(signal.SIGHUP)
    assert finish(process) == (-signal.SIGHUP, "", "")
    assert profile_of(tmp_path) == ("SIGHUP", 1)


@pytest.mark.skipif(sys.platform != "linux", reason="timers for threads are Linux's")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_in_the_instant_before_a_call_blocks(
    tmp_path: Path, name: str
) -> None:
    # Both calls from C, in between which Python does not look for signals.
    kill = f"partial(ctypes.CDLL(None)['raise'], signal.{name})"
    wait = f"list(map(call, [{kill}, partial(time.sleep, {2 * DEADLINE})]))"
    imports = (
        "import ctypes\nfrom functools import partial\nfrom operator import call\n"
    )
    program = imports + textwrap.dedent(PROGRAM.format(wait=wait))
    process, _ = start(tmp_path, program, "-q")
    assert finish(process) == (-getattr(signal, name), "", "")
    assert profile_of(tmp_path) == (name, 1)


def test_a_signal_is_sent_again_to_no_handler_of_the_program(tmp_path: Path) -> None:
    program = """
        import os, signal, time
        signal.signal(signal.SIGTERM, lambda *_: print("handled"))
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.5)
        """
    check_same(write(tmp_path, "program.py", program), cwd=tmp_path)


def test_a_writing_that_takes_long_is_ended_by_ctrl_c(tmp_path: Path) -> None:
    program = """
        import os, signal
        import lineprof.held_signals
        from lineprof import LineStats
        class Patience(float):  # that lasts until it is over
            is_over = False
            def __radd__(self, now):
                return self
            def __lt__(self, now):
                return self.is_over
        lineprof.held_signals.PATIENCE = patience = Patience()
        def to_file(*arguments):
            os.kill(os.getpid(), signal.SIGINT)
            print("patient", flush=True)
            patience.is_over = True
            os.kill(os.getpid(), signal.SIGINT)
            print("not reached", flush=True)
        LineStats.to_file = to_file
        """
    outcome = kernprof_forked(
        "-lq", write(tmp_path, "program.py", program), cwd=tmp_path
    )
    assert (outcome.status, outcome.out) == (0, "patient\n")
    assert outcome.err == INTERRUPTED


def test_a_signal_during_main_reaches_the_caller_afterwards(tmp_path: Path) -> None:
    write(tmp_path, "program.py", "@profile\ndef wait(): pass\nwait()\n")
    caller = """
        import os, signal
        from lineprof import LineStats
        import kernprof
        plain = LineStats.to_file
        def to_file(*arguments):
            os.kill(os.getpid(), signal.SIGUSR1)
            print("still writing")
            plain(*arguments)
        LineStats.to_file = to_file
        signal.signal(signal.SIGUSR1, lambda *_: print("handled"))
        kernprof.main(["-lq", "program.py"])
        """
    outcome = run([write(tmp_path, "caller.py", caller)], cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == "still writing\nhandled\n"
    assert profile_of(tmp_path) == ("", 1)


def test_a_program_with_its_own_handler_keeps_it(tmp_path: Path) -> None:
    program = """
        import os, signal, sys
        def handler(number, frame):
            print("handled", number, frame.f_code.co_name)
            sys.exit(5)
        print(signal.signal(signal.SIGTERM, handler) == signal.SIG_DFL)
        print(signal.getsignal(signal.SIGTERM) is handler)
        os.kill(os.getpid(), signal.SIGTERM)
        """
    check_same(write(tmp_path, "program.py", program), cwd=tmp_path)
    assert load_stats(tmp_path / "program.lprof").processes[0].exit == ""


def test_a_program_that_puts_the_handler_back(tmp_path: Path) -> None:
    program = """
        import os, signal
        @profile
        def wait():
            before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.kill(os.getpid(), signal.SIGTERM)
            signal.signal(signal.SIGTERM, before)
            os.kill(os.getpid(), signal.SIGTERM)
        wait()
        """
    outcome = kernprof_forked(
        "-lq", write(tmp_path, "program.py", program), cwd=tmp_path
    )
    assert outcome.status == -signal.SIGTERM
    assert profile_of(tmp_path) == ("SIGTERM", 1)


def test_a_program_that_ignores_sigterm_from_the_start(tmp_path: Path) -> None:
    program = """
        import os, signal
        print(signal.getsignal(signal.SIGTERM))
        os.kill(os.getpid(), signal.SIGTERM)
        print("alive")
        """
    write(tmp_path, "program.py", program)
    starter = "trap '' TERM; exec"
    outputs = [
        subprocess.run(
            ["/bin/sh", "-c", f"{starter} {sys.executable} {words} program.py"],
            cwd=tmp_path,
            capture_output=True,
            check=True,
        )
        for words in ("", "-m kernprof -lq")
    ]
    assert outputs[0].stdout == outputs[1].stdout


@pytest.mark.smoke
def test_ctrl_c_writes_the_profile_and_kills(tmp_path: Path) -> None:
    # Short sleeps: the signal may come between Python's last check and a sleep.
    wait = "while True: time.sleep(0.05)"
    process, _ = start(tmp_path, PROGRAM.format(wait=wait), "-q")
    process.send_signal(signal.SIGINT)
    status, out, err = finish(process)
    assert (status, out) == (-signal.SIGINT, "")
    assert err.splitlines()[-1] == "KeyboardInterrupt"
    assert "kernprof" not in err
    assert profile_of(tmp_path) == ("KeyboardInterrupt", 1)


def test_ctrl_c_while_the_profile_is_written(tmp_path: Path) -> None:
    program = """
        from lineprof import LineStats
        def to_file(*arguments):
            raise KeyboardInterrupt
        LineStats.to_file = to_file
        """
    outcome = kernprof_forked(
        "-lq", write(tmp_path, "program.py", program), cwd=tmp_path
    )
    assert outcome.status == 0
    assert outcome.err == INTERRUPTED
    assert not (tmp_path / "program.lprof").exists()


@pytest.mark.parametrize(
    "module", ["lineprof.snapshot.calls", "lineprof.storage.schema"]
)
def test_a_handler_that_writes_a_profile_while_one_is_written(
    tmp_path: Path, module: str
) -> None:
    program = f"""
        import signal, sys
        from lineprof import LineProfiler
        class Finder:
            def find_spec(self, name, *_):
                if name == {module!r}:  # imported by a module that is half imported
                    signal.raise_signal(signal.SIGUSR1)
        profiler = LineProfiler()
        @profiler
        def wait():
            pass
        wait()
        signal.signal(signal.SIGUSR1, lambda *_: profiler.dump_stats("inner.lprof"))
        sys.meta_path.insert(0, Finder())
        profiler.dump_stats("program.lprof")
        """
    outcome = run([write(tmp_path, "program.py", program)], cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    assert profile_of(tmp_path) == ("", 1)
    assert load_stats(tmp_path / "inner.lprof").functions[0].calls == 1


@pytest.mark.parametrize("turn", [1, 2], ids=["first", "last"])
def test_a_handler_that_raises_as_signals_are_blocked_leaves_none_blocked(
    monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    # Python runs handlers in the call that blocks signals, after it has blocked them.
    real = _signal.pthread_sigmask
    before = real(signal.SIG_BLOCK, ())
    blocking: list[set[int]] = []

    def interrupted(how: int, mask: set[int]) -> set[int]:
        old = real(how, mask)
        if how == signal.SIG_BLOCK and mask:
            blocking.append(mask)
            if len(blocking) == turn:
                raise KeyboardInterrupt
        return old

    monkeypatch.setattr(_signal, "pthread_sigmask", interrupted)
    held = HeldSignals()
    with pytest.raises(KeyboardInterrupt):
        hold_once(held)
    held.restore()
    assert real(signal.SIG_BLOCK, ()) == before
    assert len(blocking) >= turn


def hold_once(held: HeldSignals) -> None:
    """Hold signals for a moment."""
    with held:
        pass
