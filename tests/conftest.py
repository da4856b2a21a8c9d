"""Fixtures of every test: the hook in use, the doubles, and a guard for leftovers."""

from __future__ import annotations

import _signal  # signal.getsignal makes an enum of each handler
import gc
import itertools
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from compiled_doubles import double
from fork_server import SERVERS
from running import hook_name
from settable_clock import Clock
from suite_plugin import (  # noqa: F401  # pytest finds hooks by their names
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_itemcollected,
    pytest_runtest_protocol,
    register_rooms,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpu_rig import Rig


MODULES = itertools.count()
SIGNALS = sorted(signal.valid_signals())


def live_profilers() -> str | None:
    """Return the hook that lineprof's live profilers use; None without a live one."""
    core = sys.modules.get("lineprof._core")
    return core.hook() if core else None


def tool_ids_of_lineprof() -> set[int]:
    """Return the tool ids of sys.monitoring that lineprof's live profilers hold."""
    module = sys.modules.get("lineprof.recording.core")
    return set(module.held_tool_ids()) if module else set()


def monitoring_state() -> dict[int, tuple[str | None, int]]:
    """Return owner and global events of the six tool ids, lineprof's left out."""
    if sys.version_info < (3, 12):
        return {}
    ours = tool_ids_of_lineprof()
    return {
        tool: (name, sys.monitoring.get_events(tool) if name else 0)
        for tool in range(6)
        for name in [sys.monitoring.get_tool(tool)]
        if tool not in ours
    }


def children() -> set[int]:
    """Return the pids of the child processes, zombies too; empty if not on Linux.

    Left out are those that last beyond a test.
    """
    found: set[int] = set()
    tasks = Path("/proc/self/task")
    for task in tasks.iterdir() if tasks.is_dir() else ():
        with suppress(FileNotFoundError, ProcessLookupError):  # of a thread that ended
            found.update(map(int, (task / "children").read_text("ascii").split()))
    for server, owner, name in (
        ("multiprocessing.resource_tracker", "_resource_tracker", "_pid"),
        ("multiprocessing.forkserver", "_forkserver", "_forkserver_pid"),
    ):
        found.discard(getattr(getattr(sys.modules.get(server), owner, None), name, 0))
    return found - SERVERS


def state() -> dict[str, object]:
    """Return all state of the process that a profiler could leave changed."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
    return {
        "sys.gettrace()": sys.gettrace(),
        "sys.getprofile()": sys.getprofile(),
        "sys.settrace, sys.setprofile": (sys.settrace, sys.setprofile),
        "threading's trace function": getattr(threading, "_trace_hook", None),
        "sys.monitoring": monitoring_state(),
        "threads": set(threading.enumerate()),
        "children": children(),
        "finders of modules": [
            one
            for one in sys.meta_path
            if type(one).__module__.startswith(("kernprof", "lineprof"))
        ],
        "sys.argv": list(sys.argv),
        "sys.path": list(sys.path),
        "sys.excepthook": sys.excepthook,
        "sys.stdout, sys.stderr": (sys.stdout, sys.stderr),
        "recursion limit": sys.getrecursionlimit(),
        "os.environ": environment,
        "current folder": Path.cwd(),
        "signal handlers": [*map(_signal.getsignal, SIGNALS)],
        "builtins": set(dir(__builtins__)),
    }


def let_go_until(done: Callable[[], bool]) -> None:
    """Collect garbage in cycles, the youngest first: a full collection takes long."""
    for generation in range(3):
        if done():
            return
        gc.collect(generation)


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[None]:
    """Record which tests failed: the traceback keeps the objects of such a test."""
    yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or call.excinfo is not None


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves the process in another state than before."""
    let_go_until(lambda: not live_profilers())  # left by an earlier test
    held, before = live_profilers(), state()
    yield
    if request.node.stash.get(FAILED, False):
        return
    # A profiler in a cycle is not left behind, it only goes later.
    let_go_until(lambda: live_profilers() == held)
    after = state()
    if after != before:
        let_go_until(lambda: state() == before and live_profilers() == held)
        after = state()
    if held:  # by the traceback of a failed test: the profiler may go at any time
        before = {k: v for k, v in before.items() if "trace" not in k}
        before.pop("sys.monitoring")
    for what, value in before.items():
        assert after[what] == value, f"left behind: {what}"
    assert held or not live_profilers(), "left behind: a profiler"


def pytest_configure(config: pytest.Config) -> None:
    """Give the processes that tests start the usual signal handlers.

    Under nohup, or as a background job, the suite is started with signals ignored,
    and its child processes would also ignore them. A handler in Python becomes the
    default one again after exec.
    """
    register_rooms(config)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            interrupt = number == signal.SIGINT
            handler = signal.default_int_handler if interrupt else lambda *_: None
            signal.signal(number, handler)


@pytest.fixture(scope="module", autouse=True)
def _own_live_folder(shared_folder: Path) -> Iterator[None]:
    """Keep live files, also of programs that tests kill, in a folder of the module."""
    number = next(MODULES)
    with pytest.MonkeyPatch.context() as patch:
        folder = shared_folder / "live" / f"{os.getpid()}-{number}"
        patch.setenv("LINEPROF_LIVE", str(folder))
        yield


def pytest_collection_finish() -> None:
    """Collect the garbage that pytest's collection has left in cycles."""
    gc.collect()


@pytest.fixture(scope="module", autouse=True)
def _cheap_collections() -> None:
    """Exempt older objects from garbage collection: the process is large."""
    gc.freeze()


def pytest_report_header() -> str:
    """Name the hook of this run in pytest's header."""
    return f"lineprof: hook {hook_name()}"


@pytest.fixture
def hook() -> str:
    """Return the name of the hook that this run of the suite tests."""
    name = hook_name()
    if name == "monitoring" and sys.version_info < (3, 12):
        pytest.skip("sys.monitoring came with Python 3.12")
    return name


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that all processes of this run of the suite share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def clock(shared_folder: Path) -> Clock:
    """Return a clock that moves only if the test moves it."""
    return Clock(double(shared_folder, "python/clock.c"))


@pytest.fixture(scope="session")
def doubles(shared_folder: Path) -> Path:
    """Return the folder with the doubles of NVIDIA's libraries."""
    import gpu_double  # noqa: PLC0415 - few tests need it

    if not sys.platform.startswith("linux"):
        pytest.skip("GPUs are recorded on Linux only")
    return gpu_double.build(shared_folder)


@pytest.fixture
def rig(doubles: Path, tmp_path: Path) -> Rig:
    """Return a runner of programs that use the doubles."""
    from gpu_rig import Rig  # noqa: PLC0415 - it imports lineprof

    return Rig(doubles, tmp_path)
