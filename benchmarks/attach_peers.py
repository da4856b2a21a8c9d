#!/usr/bin/env python3
"""Profilers that attach to one web server, in turn: what that costs the server.

    python benchmarks/attach_peers.py [--rounds N] [--out FOLDER]

`programs/web_server.py` is started as plain ``python`` and asked by two clients without
a pause. In every round each profiler attaches to it for some seconds. In the middle of
that time, and as long before without a profiler, the processor time of the server and
the answers are counted. The ratio is that of the processor time for an answer. A
profiler that is not installed, or refuses this Python, is left out, and that is said.

With ``--out``, what each of them wrote and printed in the last round is kept.
"""

from __future__ import annotations

import argparse
import http.client
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

SERVER = Path(__file__).parent / "programs" / "web_server.py"
CLIENTS = 2
SETTLE_S = 1.5  # from the command to the measurement
WINDOW_S = 2.0
DURATION = 4  # s that a profiler is attached


class Tool(NamedTuple):
    """One profiler's command, without blanks in its words, and the file's suffix."""

    name: str
    command: str
    suffix: str


_LINEPROF = "{python} -m lineprof attach {pid} -d {seconds} -o {file}"
_SAMPLING = (
    "{python} -m profiling.sampling attach -a -d {seconds} --collapsed -o {file} {pid}"
)
_PY_SPY = "{bin}/py-spy record -p {pid} -d {seconds} -f raw -o {file}"
_VIZTRACER = "{bin}/viztracer --attach {pid} -t {seconds} -o {file}"

TOOLS = (
    Tool("lineprof attach", _LINEPROF, ".lprof"),
    Tool("profiling.sampling attach", _SAMPLING, ".txt"),
    Tool("py-spy record", _PY_SPY, ".txt"),
    Tool("viztracer --attach", _VIZTRACER, ".json"),
)


class Window(NamedTuple):
    """What the server did in some seconds."""

    cpu_ns: int
    answers: int
    wall_s: float

    @property
    def cpu_ms(self) -> float:
        """Processor time for an answer."""
        return self.cpu_ns / max(1, self.answers) / 1e6

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answers / self.wall_s


class Server:
    """The web server, and clients that ask it without a pause."""

    def __init__(self) -> None:
        """Start it as plain ``python``."""
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout  # noqa: S101 - for type checkers
        self._port = int(self._process.stdout.readline())
        self.pid = self._process.pid
        self._answers = [0] * CLIENTS
        self._ends = False
        self._clients = [
            threading.Thread(target=self._ask, args=(number,), daemon=True)
            for number in range(CLIENTS)
        ]
        for client in self._clients:
            client.start()

    def _ask(self, number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        while not self._ends:
            connection.request("GET", "/")
            connection.getresponse().read()
            self._answers[number] += 1

    def _cpu_ns(self) -> int:
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks)

    def window(self) -> Window:
        """Count for some seconds."""
        began, cpu, answers = time.monotonic(), self._cpu_ns(), sum(self._answers)
        time.sleep(WINDOW_S)
        return Window(
            self._cpu_ns() - cpu,
            sum(self._answers) - answers,
            time.monotonic() - began,
        )

    def end(self) -> int:
        """End it; return 0 if it was alive, else 1."""
        alive = self._process.poll() is None and all(
            c.is_alive() for c in self._clients
        )
        self._ends = True
        for client in self._clients:
            client.join(5)
        self._process.kill()
        self._process.wait()
        return 0 if alive else 1


def run(server: Server, tool: Tool, folder: Path) -> Window | str:
    """Return what the server did while a tool was attached, or why it was not."""
    file = folder / (tool.name.replace(" ", "-") + tool.suffix)
    values = {
        "python": sys.executable,
        "bin": Path(sys.executable).parent,
        "pid": server.pid,
        "seconds": DURATION,
        "file": file,
    }
    words = [word.format(**values) for word in tool.command.split()]
    try:
        process = subprocess.Popen(
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    except FileNotFoundError:
        return "is not installed"
    time.sleep(SETTLE_S)
    window = server.window()
    said, _ = process.communicate(timeout=120)
    file.with_suffix(".out").write_text(said, encoding="utf-8")
    if process.returncode or not file.exists():
        last = [line for line in said.splitlines() if line.strip()][-1:]
        return f"did not attach: {' '.join(last)}"
    return window


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--out", type=Path, help="folder for what the profilers wrote")
    chosen = parser.parse_args()
    print(f"Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory(prefix="lineprof-peers-") as name:
        folder = Path(name)
        server = Server()
        time.sleep(1)
        ratios: dict[str, list[float]] = {}
        rates: dict[str, list[float]] = {}
        tools = [*TOOLS]
        for _ in range(chosen.rounds):
            for tool in [*tools]:
                before = server.window()
                result = run(server, tool, folder)
                if isinstance(result, str):
                    print(f"  {tool.name} {result}")
                    tools.remove(tool)
                    continue
                ratios.setdefault(tool.name, []).append(result.cpu_ms / before.cpu_ms)
                rates.setdefault(tool.name, []).append(result.rate / before.rate)
        print(f"  {before.cpu_ms:.2f} ms an answer, {before.rate:.0f} answers a second")
        status = server.end()
        for tool in tools:
            print(
                f"  {tool.name:<26}"
                f" processor time x {statistics.median(ratios[tool.name]):.2f}"
                f" ({min(ratios[tool.name]):.2f} to {max(ratios[tool.name]):.2f}),"
                f" answers x {statistics.median(rates[tool.name]):.2f}"
            )
        if chosen.out:
            shutil.copytree(folder, chosen.out, dirs_exist_ok=True)
    if status:
        print("  the server did not survive")
    sys.exit(status)


if __name__ == "__main__":
    main()
