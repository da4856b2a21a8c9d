"""A process that has imported lineprof, whose forks run programs as a new Python would.

A program that drives the doubles runs for a hundredth of a second, and a new Python
imports lineprof, kernprof and ctypes for a sixth of one. A fork has its own libraries
of NVIDIA, clock, environment, folder and output, and ends as any Python does.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from fork_server import SERVERS

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST = 1 << 18  # bytes of a request
AT_START = ("LD_PRELOAD", "LINEPROF_CLOCK", "PYTHONPATH")  # heeded at the start alone
# Imported once. Programs import the same modules, or kernprof does for them.
PRELOADED = (
    "gpu_client",
    "gpu_double",
    "kernprof.child",
    "kernprof.cli",
    "kernprof.profilers",
    "kernprof.project",
    "kernprof.runners",
    "kernprof.selection",
    "kernprof.whole_program",
    "lineprof.line_stats",
    "lineprof.private_folder",
    "lineprof.processes.entries",
    "lineprof.processes.member",
    "lineprof.processes.parts",
    "lineprof.recording.cupti_libraries",
    "lineprof.recording.live_file",
    "lineprof.recording.profiler",
    "lineprof.recording.trace",
    "lineprof.report",
    "lineprof.snapshot.gpu",
    "lineprof.storage.reader_gpu",
    "resource",
    "running",
    "threading",
)


class Ended(NamedTuple):
    """The end of a process: its status, as of subprocess, and its output."""

    status: int
    out: str
    err: str


class GpuServer:
    """The process; it starts with the first program, and ends with this one."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def run(
        self,
        words: list[str],
        folder: Path,
        environment: Mapping[str, str],
        deadline: float,
    ) -> Ended:
        """Run Python with `words` in a folder; an error if it is not over in time.

        Variables that only a new process heeds are those of the first program.
        """
        link = self._socket or self._start(environment)
        request = {"words": words, "folder": str(folder), "env": dict(environment)}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            files = [out.fileno(), err.fileno()]
            socket.send_fds(link, [json.dumps(request).encode()], files)
            link.settimeout(deadline)
            try:
                status = int(link.recv(MOST))
            except (TimeoutError, ValueError):  # ValueError: it has died
                self._kill()
                raise
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode())
        return Ended(status, *texts)

    def _start(self, environment: Mapping[str, str]) -> socket.socket:
        link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    "from gpu_server import main; main()",
                    str(theirs.fileno()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                env={
                    name: value
                    for name, value in environment.items()
                    if name in AT_START or os.environ.get(name) == value
                },
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        SERVERS.add(self._process.pid)
        atexit.register(self._end, link)
        self._socket = link
        return link

    def _end(self, link: socket.socket) -> None:
        link.close()
        if self._process:
            self._process.wait()

    def _kill(self) -> None:
        """Kill the process and the program that hangs; the next one has another."""
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._socket = self._process = None


# By whether the clock of programs is frozen: a library that is preloaded freezes it.
PYTHONS = {frozen: GpuServer() for frozen in (False, True)}


def request_in_child(link: socket.socket) -> list[str] | None:
    """Return, in a fork, the words of its program; None at the end, in this process."""
    while True:
        data, files, _, _ = socket.recv_fds(link, MOST, 2)
        if not data:
            return None
        child = os.fork()
        if child == 0:
            link.close()
            return become(json.loads(data), files)
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        link.send(str(os.waitstatus_to_exitcode(status)).encode())


def become(request: dict[str, object], files: list[int]) -> list[str]:
    """Give this process the folder, the output and the environment of a request."""
    words, folder, environment = request["words"], request["folder"], request["env"]
    assert isinstance(words, list)
    assert isinstance(environment, dict)
    os.chdir(str(folder))
    for number, file in enumerate(files, 1):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    sys.orig_argv = [sys.executable, *words]
    option, *_ = words
    if option in {"-c", "-m"}:
        sys.argv = [option, *words[2:]]
        sys.path[0] = "" if option == "-c" else str(folder)
    else:
        sys.argv = list(words)
        sys.path[0] = str(Path(option).resolve().parent)
    return words


def main() -> None:
    """Run the program of each request in a fork, which then ends as Python does."""
    faulthandler.enable()
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    words = request_in_child(socket.socket(fileno=int(sys.argv[1])))
    if words is None:
        return
    module = sys.modules["__main__"] = ModuleType("__main__")
    if words[0] == "-m":
        runpy._run_module_as_main(words[1])
        return
    file = "<string>"
    if words[0] == "-c":
        text = words[1]
    else:
        file = words[0]
        text = Path(file).read_text(encoding="utf-8")
        module.__dict__.update(__file__=file, __cached__=None)
    exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
