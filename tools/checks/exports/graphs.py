"""Readers of functions and calls: Python's pstats, snakeviz, gprof2dot."""

from __future__ import annotations

import contextlib
import html
import pstats
import re
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch, same
from tools.dev.envs import clean_environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tools.checks.exports.workspace import Workspace

LIMIT_S = 60  # for a server to answer
ROUNDING = 1e-6  # of a sum of seconds
KINDS = {".callgrind": "callgrind", ".collapsed": "collapse", ".pstats": "pstats"}
PLAIN = re.compile(r"[<>\w.]+")


def pstats_module(workspace: Workspace, profile: Path, file: Path) -> str:
    """Compare the sums of calls and of self times with ours."""
    expected = workspace.expected(profile)
    theirs = pstats.Stats(str(file))
    numbers = theirs.stats  # type: ignore[attr-defined]
    same("functions", len(numbers), len(expected["functions"]))
    same("calls", theirs.total_calls, expected["calls"])  # type: ignore[attr-defined]
    own = expected["self_ns"] / 1e9
    same("own time (s)", theirs.total_tt, own, ROUNDING * max(own, 1))  # type: ignore[attr-defined]
    return f"{len(numbers)} functions, {own:.6f} s"


def gprof2dot(workspace: Workspace, profile: Path, file: Path) -> str:
    """Draw the graph; each function that ran must be a node."""
    words = ("-m", "gprof2dot", "--node-thres=0", "--edge-thres=0")
    dot = workspace.run(
        [workspace.python, *words, "--format", KINDS[file.suffix], file]
    )
    nodes = re.findall(r'^\t.* \[color=.* label="(.*)"\];$', dot, re.MULTILINE)
    nodes = [label for label in nodes if "labeldistance" not in label]
    ran = [one for one in workspace.expected(profile)["functions"] if one["self_ns"]]
    lacking = [one["name"] for one in ran if not in_one(one["name"], nodes)]
    if lacking:
        raise Mismatch(f"no node is {lacking[0]}")
    return f"{len(nodes)} nodes, all {len(ran)} functions that ran among them"


def in_one(name: str, labels: Iterable[str]) -> bool:
    """Return whether a name is in one of these labels of Graphviz."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return any(quoted in label for label in labels)


@contextlib.contextmanager
def snakeviz_of(workspace: Workspace, file: Path) -> Iterator[str]:
    """Serve a file with snakeviz as long as the block; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [workspace.python, "-m", "snakeviz", "--server", "-H", "127.0.0.1"]
    server = subprocess.Popen(
        [*map(str, command), "--port", str(port), str(file)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
    )
    quoted = urllib.parse.quote(str(file), safe="")
    try:
        yield f"http://127.0.0.1:{port}/snakeviz/{quoted}"
    finally:
        server.terminate()
        server.wait()


def fetched(address: str) -> str:
    """Fetch a page as soon as its server answers."""
    end = time.monotonic() + LIMIT_S
    while True:
        try:
            with urllib.request.urlopen(address) as answer:  # noqa: S310  # 127.0.0.1
                text: str = answer.read().decode()
                return text
        except urllib.error.HTTPError as error:
            raise Mismatch(f"it answers with status {error.code}") from error
        except OSError as error:
            if time.monotonic() > end:
                raise Mismatch(f"it does not answer: {error}") from error
            time.sleep(0.1)


def snakeviz(workspace: Workspace, profile: Path, file: Path) -> str:
    """Serve the file; the page must name each function."""
    with snakeviz_of(workspace, file) as address:
        page = fetched(address)
    if "profile_data" not in page:
        raise Mismatch("its page has no profile in it")
    text = html.unescape(page)
    named = {
        one["name"] for one in workspace.expected(profile)["functions"] if one["calls"]
    }
    plain = {name for name in named if PLAIN.fullmatch(name)}  # not escaped in JSON
    lacking = [name for name in plain if name not in text]
    if lacking:
        raise Mismatch(f"its page does not name {', '.join(sorted(lacking)[:5])}")
    return f"a page of {len(page) / 1e3:.0f} kB, all {len(plain)} functions in it"
