"""pprof of `lineprof serve`, asked as scrapers and `go tool pprof` ask it."""

from __future__ import annotations

import os
import queue
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from urllib.parse import quote

import example_gpu
import example_memory
import pytest
from as_python import error_line, viewer
from deadline import DEADLINE
from example_stats import PROCESS, example
from live_program import live_file_of, live_program, wait_until
from pages import DOCS, blocks_of
from pprof_file import Profile as Pprof
from pprof_file import parsed_by_protobuf, read
from served import Served, serve

from lineprof.cli.serve import sources
from lineprof.export import pprof
from lineprof.model.gpu import KERNEL, NO_PATH, Gpu, GpuPath, GpuSum
from lineprof.model.profile import Profile
from lineprof.model.records import (
    CallNode,
    CallTree,
    FunctionStats,
    Process,
    Thread,
    ThreadLine,
)
from lineprof.processes.recovery import live_files
from lineprof.processes.so_far import profile_so_far
from lineprof.server.pages import text
from lineprof.server.profiles import OneProfile
from lineprof.server.scrapes import Scrapes
from lineprof.server.server import ReportServer
from lineprof.storage import load, save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lineprof.server.pages import Answer
    from lineprof.server.site import Request

PROFILE = "/debug/pprof/profile"

S = 1_000_000_000  # ns

START = PROCESS.start_unix_ns

MAIN, LEAF = ("/project/a.py", 1, "main"), ("/project/a.py", 5, "leaf")


def grown(seconds: int, process: Process = PROCESS) -> Profile:
    """Return a run as it is after so many seconds.

    In each of them main's line 2 takes 600 ms itself and calls leaf() three times,
    whose line 6 takes 100 ms each time.
    """
    n, ms = seconds, 1_000_000
    nodes = (
        CallNode(-1, 0, MAIN, 0, 1, 1, 600 * ms * n, 900 * ms * n, 900 * ms * n),
        CallNode(0, 2, LEAF, 0, 3 * n, 3 * n, *(300 * ms * n,) * 3),
    )
    lines = (ThreadLine(2, 0, n, 900 * ms * n), ThreadLine(6, 0, 3 * n, 300 * ms * n))
    return Profile.from_functions(
        [
            FunctionStats("/project/a.py", "main", 1, lines[:1], 1),
            FunctionStats("/project/a.py", "leaf", 5, lines[1:], 3 * n),
        ],
        processes=[process._replace(wall_ns=seconds * S)],
        threads=[Thread(0, process.pid, "MainThread")],
        calls=CallTree(nodes),
    )


def write(profile: Profile, file: str) -> None:
    """Write a profile as kernprof does: a reader sees the old or the new one."""
    save(profile, f"{file}.new")
    Path(f"{file}.new").replace(file)


def values(profile: Pprof, kind: str) -> dict[tuple[str, int], int]:
    """Return the sums of one kind of values by function and line."""
    found = Counter[tuple[str, int]]()
    for sample in profile.samples:
        _, name, _, line = sample.frames[-1]
        found[name, line] += sample.values[kind]
    return {place: number for place, number in found.items() if number}


def expect(profile: Pprof, seconds: int, *, calls_of_main: int) -> None:
    """Check that a profile has what `grown` counts in so many seconds."""
    times = {("main", 2): 600_000_000 * seconds, ("leaf", 6): 300_000_000 * seconds}
    hits = {("main", 2): seconds, ("leaf", 6): 3 * seconds}
    calls = {("main", 1): calls_of_main, ("leaf", 5): 3 * seconds}
    for kind, wanted in (("time", times), ("hits", hits), ("calls", calls)):
        assert values(profile, kind) == {key: n for key, n in wanted.items() if n}, kind


def bearer(one: Served) -> dict[str, str]:
    return {"Authorization": f"Bearer {one.token}", "Cookie": ""}


def scraped(one: Served, query: str = "") -> Pprof:
    """Return a profile as a scraper gets it."""
    got = one.ask(f"{PROFILE}?{query}", **bearer(one))
    assert got.status == 200, got.text
    assert got.headers["Content-Type"] == "application/octet-stream"
    return read(got.body)


def refused(one: Served, query: str, status: int) -> str:
    """Return the line with which a request is refused."""
    got = one.ask(f"{PROFILE}?{query}", **bearer(one))
    assert got.status == status
    assert got.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert got.text.count("\n") == 1
    return got.text.strip()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("scraped")
    save(grown(7), folder / "a.lprof")
    with serve("a.lprof", cwd=folder) as served:
        yield served
        assert served.end(signal.SIGTERM)[1:] == ("", "")


# Known answers: a profile that is written while a scraper waits.


@pytest.fixture
def asked(here: Path) -> Callable[..., Answer]:
    """Return a function that asks for a window, in which something happens."""
    assert here == Path.cwd()
    scrapes = Scrapes(OneProfile("a.lprof"), sources([]))

    def ask(seconds: int = 0, happens: Callable[[], object] = bool) -> Answer:
        query = {"seconds": [str(seconds)]} if seconds else {}

        def wait(asked: float) -> str:
            assert asked == seconds
            happens()
            return ""

        return scrapes.answer("/profile", query, wait)

    return ask


def test_a_window_has_what_was_counted_between_two_writes(
    asked: Callable[..., Answer],
) -> None:
    write(grown(3), "a.lprof")
    got = asked(5, lambda: write(grown(10), "a.lprof"))
    assert got.status == 200
    found = read(got.body)
    expect(found, 7, calls_of_main=0)
    assert (found.time_ns, found.duration_ns) == (START + 3 * S, 7 * S)
    assert found.default == "time"
    assert found.units == {"time": "nanoseconds", "hits": "count", "calls": "count"}
    assert {sample.labels["process"] for sample in found.samples} == {"4711 on node-1"}


def test_windows_that_overlap_each_have_their_own_difference(
    asked: Callable[..., Answer],
) -> None:
    write(grown(1), "a.lprof")
    inner: list[Answer] = []

    def happens() -> None:
        write(grown(2), "a.lprof")
        asked()  # a new reading
        inner.append(asked(4, lambda: write(grown(6), "a.lprof")))
        write(grown(9), "a.lprof")

    outer = read(asked(20, happens).body)
    expect(outer, 8, calls_of_main=0)
    assert (outer.time_ns, outer.duration_ns) == (START + S, 8 * S)
    expect(read(inner[0].body), 4, calls_of_main=0)


def test_windows_of_each_scraper_follow_one_another(
    asked: Callable[..., Answer],
) -> None:
    """Two scrapers ask by turns, one for 5 s and one for 9 s."""
    write(grown(1), "a.lprof")
    ends = iter((3, 4, 8, 10, 15, 16))
    windows = [
        read(asked(seconds, lambda: write(grown(next(ends)), "a.lprof")).body)
        for seconds in (5, 9) * 3
    ]
    for scraper in (windows[::2], windows[1::2]):
        for before, after in pairwise(scraper):
            assert before.time_ns + before.duration_ns == after.time_ns
    expect(windows[4], 15 - 8, calls_of_main=0)
    expect(windows[5], 16 - 10, calls_of_main=0)


def test_windows_of_the_same_length_follow_those_that_ended_first(here: Path) -> None:
    """Two scrapers ask for 5 s, the second always while the first waits."""
    assert here == Path.cwd()
    scrapes = Scrapes(OneProfile("a.lprof"), sources([]))
    count = 1
    write(grown(count), "a.lprof")
    found: list[list[Pprof]] = [[], []]

    def scraper(number: int) -> Iterator[None]:
        """Stop at the beginning and at the end of each window."""
        turns, ends = queue.SimpleQueue[str](), queue.SimpleQueue[None]()

        def wait(_: float) -> str:
            ends.put(None)
            return turns.get(timeout=DEADLINE)

        def ask() -> None:
            body = scrapes.answer("/profile", {"seconds": ["5"]}, wait).body
            found[number].append(read(body))

        while True:
            thread = threading.Thread(target=ask)
            thread.start()
            ends.get(timeout=DEADLINE)
            yield
            turns.put("")
            thread.join()
            yield

    scrapers = [scraper(0), scraper(1)]
    for _ in range(6):
        for one in scrapers:
            next(one)
            count += 1
            write(grown(count), "a.lprof")
    for one in found:
        assert len(one) == 3
        for before, after in pairwise(one):
            assert before.time_ns + before.duration_ns == after.time_ns


def test_windows_follow_one_another_while_a_program_writes_its_profile(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is still read as one that runs, after the end of what it counts."""
    assert here == Path.cwd()
    write(grown(4), "a.lprof")
    running = iter((grown(2), grown(4), None, None))
    now = iter((2, 5, 6, 7))
    clock = {"monotonic": time.monotonic, "time_ns": lambda: START + next(now) * S}
    monkeypatch.setattr("lineprof.server.scrapes.time", SimpleNamespace(**clock))
    files = sources([])._replace(running=lambda _: next(running))
    scrapes = Scrapes(OneProfile("a.lprof"), files)
    windows = [
        read(scrapes.answer("/profile", {"seconds": ["5"]}, lambda _: "").body)
        for _ in range(3)
    ]
    found = [(one.time_ns - START, one.duration_ns) for one in windows]
    assert found == [(2 * S, 3 * S), (5 * S, 0), (5 * S, 0)]


def test_an_earlier_run_adds_nothing(asked: Callable[..., Answer]) -> None:
    """Of two runs with one file the later one ends first, or a copy is put back."""
    write(grown(3), "a.lprof")
    earlier = PROCESS._replace(pid=4712, start_unix_ns=START - 60 * S)
    found = read(asked(5, lambda: write(grown(70, earlier), "a.lprof")).body)
    assert found.samples == []
    expect(
        read(asked(5, lambda: write(grown(72, earlier), "a.lprof")).body),
        2,
        calls_of_main=0,
    )


@pytest.mark.parametrize(
    "other",
    [
        PROCESS._replace(pid=4712),
        PROCESS._replace(start_unix_ns=START + 60 * S),
        PROCESS._replace(host="node-2"),
    ],
)
@pytest.mark.parametrize("seconds", [2, 3, 9])
def test_a_new_run_counts_alone(
    asked: Callable[..., Answer], other: Process, seconds: int
) -> None:
    write(grown(3), "a.lprof")
    found = read(asked(5, lambda: write(grown(seconds, other), "a.lprof")).body)
    expect(found, seconds, calls_of_main=1)
    assert (found.time_ns, found.duration_ns) == (other.start_unix_ns, seconds * S)


def test_counts_that_were_set_to_zero_are_those_since_then(
    asked: Callable[..., Answer],
) -> None:
    write(grown(8), "a.lprof")
    expect(read(asked(5, lambda: write(grown(2), "a.lprof")).body), 2, calls_of_main=1)


def test_a_profile_that_stays_as_it_is_has_an_empty_window(
    asked: Callable[..., Answer],
) -> None:
    write(grown(8), "a.lprof")
    found = read(asked(5).body)
    assert found.samples == []
    assert found.duration_ns == 0
    write(Profile({MAIN: [(2, 1, 10)]}, 1e-9), "a.lprof")  # of no process
    assert len(read(asked().body).samples) == 1
    assert read(asked(5).body).samples == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "a.lprof is empty; record it again"),
        (b"what is this?", "a.lprof is not a profile; "),
        (None, "a.lprof does not exist; "),
    ],
)
def test_a_file_that_is_damaged_midway_is_one_line(
    asked: Callable[..., Answer], content: bytes | None, problem: str
) -> None:
    write(grown(3), "a.lprof")

    def happens() -> None:
        Path("a.lprof").unlink()
        if content is not None:
            Path("a.lprof").write_bytes(content)

    got = asked(5, happens)
    assert got.status == 503
    line = got.body.decode()
    assert line.startswith(problem)
    assert line.count("\n") == 1
    assert str(Path.cwd()) not in line
    write(grown(4), "a.lprof")
    assert asked(1).status == 200


# Over the network.


def test_without_seconds_it_is_the_profile_that_export_writes(shared: Served) -> None:
    found = scraped(shared)
    expect(found, 7, calls_of_main=1)
    assert (found.time_ns, found.duration_ns) == (START, 7 * S)


def test_protobuf_reads_a_window(asked: Callable[..., Answer]) -> None:
    write(grown(3), "a.lprof")
    body = asked(1, lambda: write(grown(5), "a.lprof")).body
    message = parsed_by_protobuf(body)
    strings = message.string_table
    kinds = [(strings[one.type], strings[one.unit]) for one in message.sample_type]
    assert kinds[0] == ("time", "nanoseconds")
    period = message.period_type
    assert (strings[period.type], strings[period.unit], message.period) == (
        *kinds[0],
        1,
    )
    assert strings[message.default_sample_type] == "time"
    assert (message.time_nanos, message.duration_nanos) == (START + 3 * S, 2 * S)
    assert sorted(tuple(one.value) for one in message.sample) == [
        (0, 0, 6),
        (600_000_000, 6, 0),
        (1_200_000_000, 2, 0),
    ]


def test_scrapers_at_once_each_get_what_their_window_spans(here: Path) -> None:
    save(grown(1), "a.lprof")
    with serve("a.lprof", cwd=here) as one, ExitStack() as stack:
        found: list[Pprof] = []
        threads = [
            threading.Thread(target=lambda: found.append(scraped(one, "seconds=1")))
            for _ in range(12)
        ]
        seconds = 1
        for thread in threads:
            thread.start()
            stack.callback(thread.join)
        while any(thread.is_alive() for thread in threads):
            seconds += 1
            write(grown(seconds), "a.lprof")
            time.sleep(0.02)
        assert len(found) == len(threads)
        for profile in found:
            at, rest = divmod(profile.time_ns - START, S)
            assert (rest, profile.duration_ns % S) == (0, 0)
            assert 1 <= at <= seconds
            expect(profile, profile.duration_ns // S, calls_of_main=0)
        assert max(one.duration_ns for one in found) > 0


def test_the_token_is_taken_in_each_form(shared: Served) -> None:
    token, place = shared.token, shared.enter()
    for name in ("Bearer", "bearer", "BEARER"):
        got = shared.ask(PROFILE, Cookie="", Authorization=f"{name} {token}")
        assert got.status == 200
    assert shared.ask(f"{PROFILE}?token={token}", Cookie="").status == 200
    assert shared.ask(PROFILE).status == 200  # with the cookie
    assert shared.ask(place).status == 200


@pytest.mark.parametrize(
    ("query", "credentials", "cookie"),
    [
        ("", "", ""),
        ("?token=", "", ""),
        ("?token=wrong", "", ""),
        ("?token={0}&token=wrong", "", ""),
        ("", "Bearer", ""),
        ("", "Bearer ", ""),
        ("", "Bearer wrong", ""),
        ("", "Bearer \xe9", ""),
        ("", "Basic {0}", ""),
        ("", "{0}", ""),
        ("", "", "lineprof=wrong"),
        ("?token=wrong", "", "lineprof={0}"),
        ("", "Bearer wrong", "lineprof={0}"),
    ],
)
def test_without_the_token_a_scraper_learns_how_to_send_it(
    shared: Served, query: str, credentials: str, cookie: str
) -> None:
    for path in (PROFILE, "/debug/pprof/", "/debug/pprof", "/debug/pprof/heap"):
        got = shared.ask(
            path + query.format(shared.token),
            Authorization=credentials.format(shared.token),
            Cookie=cookie.format(shared.token),
        )
        assert got.status == 401
        assert got.headers["WWW-Authenticate"] == "Bearer"
        assert got.text.count("\n") == 1
        assert shared.token not in got.text


ALLOYS_OWN = {"process_cpu", "memory", "block", "goroutine", "mutex"}
"""Profiles that Alloy asks for by default: `DefaultProfilingConfig` of scrape.go."""


def test_the_page_shows_how_to_ask(here: Path) -> None:
    shown = [
        block.text
        for block in blocks_of(DOCS / "serve.md")
        if block.value.startswith("tests/cli/test_serve_pprof.py:")
    ]
    (command, pprof, curl), alloy = shown[0].splitlines(), shown[1]
    save(grown(2), here / "train.lprof")
    port = command.split("--port ")[1].split()[0]
    words = command.removeprefix("lineprof serve ").split()
    with serve(*[word for word in words if word not in {"--port", port}]) as one:
        for line in (pprof, curl):
            address = re.search(r'"http://127.0.0.1:' + port + r'(/[^"]+)"', line)
            header = re.search(r'-H "Authorization: ([^"]+)"', line)
            assert address
            path, credentials = (
                text.replace("$(cat lineprof.token)", one.token)
                for text in (address[1], header[1] if header else "")
            )
            path = path.replace("seconds=10", "seconds=1")
            got = one.ask(path, Authorization=credentials, Cookie="")
            assert got.status == 200
            read(got.body)
        custom, *others = re.findall(r"profile\.(\w+).*?\{(.*?)\}", alloy, re.DOTALL)
        path = re.search(r'path += "(.+)"', custom[1])
        assert custom[0] == "custom"
        assert path
        assert "delta   = true" in custom[1]
        assert one.ask(path[1], **bearer(one)).status == 200
        assert {
            name for name, body in others if "enabled = false" in body
        } == ALLOYS_OWN


def test_a_token_in_a_file_outlives_the_server(here: Path) -> None:
    save(grown(2), here / "a.lprof")
    tokens = []
    for _ in range(2):
        with serve("a.lprof", "--token-file", "token") as one:
            expect(scraped(one), 2, calls_of_main=1)
            assert one.ask(one.enter()).status == 200
            tokens.append(one.token)
            assert one.end(signal.SIGTERM)[1:] == ("", "")
    assert tokens[0] == tokens[1] == Path("token").read_text(encoding="ascii").strip()
    assert Path("token").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        ("", 0o600, "token has no token of 20 or more letters and digits; remove it"),
        ("short", 0o600, "token has no token of 20"),
        ("x" * 201, 0o600, "token has no token of 20"),
        ("two words of a good length", 0o600, "token has no token of 20"),
        ("é" * 20, 0o600, "token has no token of 20"),
        ("x" * 20, 0o644, "other users can use token; chmod 600 token"),
        ("x" * 20, 0o660, "other users can use token; chmod 600 token"),
    ],
)
def test_a_file_without_a_secret_token_is_refused(
    file: str,
    capsys: pytest.CaptureFixture[str],
    content: str,
    mode: int,
    message: str,
) -> None:
    Path("token").write_text(content, encoding="utf-8")
    Path("token").chmod(mode)
    words = ("serve", file, "--token-file", "token")
    assert message in error_line(capsys, 1, *words)
    assert "cannot read the token in no/x: No such file" in error_line(
        capsys, 1, *words[:-1], "no/x"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes others' files")
def test_a_token_that_another_user_knows_is_refused(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("theirs").write_text("x" * 20, encoding="ascii")
    Path("theirs").chmod(0o600)
    os.chown("theirs", 64321, 64321)
    Path("link").symlink_to("theirs")
    for name in ("theirs", "link"):
        line = error_line(capsys, 1, "serve", file, "--token-file", name)
        assert f"{name} is another user's; name another file with --token-file" in line


def test_scrapers_by_another_host_are_refused(shared: Served) -> None:
    for host in ("evil.example", f"evil.example:{shared.port}", "127.0.0.1"):
        assert shared.ask(PROFILE, Host=host, **bearer(shared)).status == 403


@pytest.mark.parametrize(
    "query",
    [
        *("seconds=", "seconds=0", "seconds=-1", "seconds=1.5", "seconds=%2B1"),
        *("seconds=3601", "seconds=99999999999999999999", "seconds=x", "seconds=1e3"),
        *("seconds=x&seconds=1", "seconds=%D9%A1", "seconds=1%20", "seconds=%00"),
    ],
)
def test_bad_seconds_are_one_line(shared: Served, query: str) -> None:
    assert refused(shared, query, 400) == ("seconds is a whole number from 1 to 3600.")


def test_other_fields_of_the_address_do_no_harm(shared: Served) -> None:
    expect(scraped(shared, "debug=0&gc=1"), 7, calls_of_main=1)
    again = "&".join(["seconds=1"] * 50)  # as of Alloy with 50 targets and `params`
    assert scraped(shared, again).samples == []


def test_head_does_not_wait(shared: Served) -> None:
    got = shared.ask(f"{PROFILE}?seconds=3600", "HEAD", **bearer(shared))
    assert (got.status, got.body) == (200, b"")
    assert got.headers["Content-Type"] == "application/octet-stream"


@pytest.mark.parametrize(
    "path", ["goroutine", "profile/", "profile/x", "..%2f", "cmdline"]
)
def test_there_are_no_other_profiles(shared: Served, path: str) -> None:
    assert shared.ask(f"/debug/pprof/{path}", **bearer(shared)).status == 404


def test_people_see_what_there_is(shared: Served) -> None:
    for path in ("/debug/pprof", "/debug/pprof/"):
        got = shared.ask(path, **bearer(shared))
        assert (got.status, got.headers["Content-Type"]) == (
            200,
            "text/plain; charset=utf-8",
        )
        assert f"{PROFILE} is" in got.text
        assert "?seconds=N" in got.text


def test_in_a_folder_a_profile_is_chosen_by_id_or_name(here: Path) -> None:
    odd = "b & <b>?=%.lprof"
    save(grown(2), "old.lprof")
    os.utime("old.lprof", (1, 1))
    (here / "below").mkdir()
    save(grown(4), here / "below" / odd)
    os.utime(here / "below" / odd, (2, 2))
    with serve(".") as one:
        listing = one.ask("/debug/pprof/", **bearer(one)).text.splitlines()
        ids = dict(line.split("  ")[::-1] for line in listing[-2:])
        assert [*ids] == [f"below/{odd}", "old.lprof"]
        expect(scraped(one), 4, calls_of_main=1)  # the newest
        for name, seconds in ((f"below/{odd}", 4), ("old.lprof", 2)):
            for word in (ids[name], name):
                expect(
                    scraped(one, f"profile={quote(word, safe='')}"),
                    seconds,
                    calls_of_main=1,
                )
        there = "There is no such profile."
        for word in ("", "x", "./old.lprof", str(here / "old.lprof"), "../old.lprof"):
            assert refused(one, f"profile={quote(word)}", 404) == there
        two = f"profile={ids['old.lprof']}&profile=old.lprof"
        assert refused(one, two, 400) == "A request gets one profile."
        assert one.end(signal.SIGTERM)[1:] == ("", "")


def test_an_empty_folder_has_nothing_to_scrape(here: Path) -> None:
    with serve(str(here)) as one:
        assert refused(one, "", 404) == "There is no such profile."


def test_a_profile_that_is_a_link_out_of_the_folder_is_not_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "served").mkdir()
    save(example(), tmp_path / "secret.lprof")
    inner = tmp_path / "served" / "a.lprof"
    save(grown(1), inner)
    with serve(str(tmp_path / "served")) as one:
        expect(scraped(one, "profile=a.lprof"), 1, calls_of_main=1)
        inner.unlink()
        inner.symlink_to(tmp_path / "secret.lprof")
        got = one.ask(f"{PROFILE}?profile=a.lprof", **bearer(one))
        assert (got.status, got.text) in [
            (503, "a.lprof is not there any more\n"),
            (404, "There is no such profile.\n"),  # once the folder is searched again
        ]


# Those who wait.


def sent(one: Served, seconds: int) -> socket.socket:
    """Ask for a window, and return the connection."""
    connection = socket.create_connection(("127.0.0.1", one.port), DEADLINE)
    lines = [
        f"GET {PROFILE}?seconds={seconds} HTTP/1.1",
        f"Host: {one.host}",
        f"Authorization: Bearer {one.token}",
    ]
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    return connection


@pytest.fixture
def own(here: Path) -> Iterator[Served]:
    """Serve a file to clients that may be rude."""
    save(grown(1), here / "a.lprof")
    with serve("a.lprof") as served:
        yield served
        assert served.end(signal.SIGTERM)[1:] == ("", "")


def test_those_who_wait_keep_nobody_out_and_may_go(own: Served) -> None:
    place = own.enter()
    held: list[socket.socket] = []

    def is_full() -> bool:
        """Send one more request; tell whether one was refused."""
        held.append(sent(own, 3600))
        ready, _, _ = select.select(held, [], [], 0)
        return any(b" 503 " in one.recv(100) for one in ready)

    try:
        wait_until(is_full, "64 requests wait")
        held += [
            socket.create_connection(("127.0.0.1", own.port), DEADLINE)
            for _ in range(64)
        ]
        assert refused(own, "seconds=9", 503).startswith("64 requests are waiting")
        assert own.ask(place).status == 200
        expect(scraped(own), 1, calls_of_main=1)
    finally:
        for connection in held:
            connection.close()
    window = f"{PROFILE}?seconds=1"
    wait_until(
        lambda: own.ask(window, **bearer(own)).status == 200,
        "clients that have gone wait no more",
    )


def test_a_client_may_send_more_than_its_request(own: Served) -> None:
    with sent(own, 1) as connection:
        connection.sendall(b"more")
        connection.settimeout(DEADLINE)
        assert b" 200 " in connection.recv(100)


def test_ctrl_c_ends_those_who_wait(here: Path) -> None:
    save(grown(1), here / "a.lprof")
    with serve("a.lprof") as one, sent(one, 3600) as connection:
        one.ask(one.enter())
        assert one.end(signal.SIGINT) == (130, "", "")
        connection.settimeout(DEADLINE)
        while connection.recv(1 << 16):  # it may be told that the server ends
            pass


def test_who_has_waited_closes_no_connection_that_is_new() -> None:
    """All places but one are of requests that are being answered, one is new."""
    before = threading.enumerate()
    waits, has_waited, goes_on = (threading.Event() for _ in range(3))
    busy = threading.Semaphore(0)

    def answer(request: Request) -> Answer:
        if request.target == "/wait":
            assert request.wait
            waits.set()
            request.wait(3600)
            has_waited.set()
        elif request.target == "/busy":
            busy.release()
            assert goes_on.wait(DEADLINE)
        return text(200, "done")

    def connected(server: ReportServer, sent: bytes) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", server.port), DEADLINE)
        client.sendall(sent)
        return client

    with ReportServer("127.0.0.1", 0) as server, ExitStack() as stack:
        server.answer = answer
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        waiting = connected(server, b"GET /wait HTTP/1.0\r\n\r\n")
        assert waits.wait(DEADLINE)
        for _ in range(63):
            stack.enter_context(connected(server, b"GET /busy HTTP/1.0\r\n\r\n"))
            assert busy.acquire(timeout=DEADLINE)
        new = stack.enter_context(connected(server, b"GET / HT"))
        wait_until(lambda: len(threading.enumerate()) >= len(before) + 66, "it is new")
        waiting.close()
        assert has_waited.wait(DEADLINE)
        new.sendall(b"TP/1.0\r\n\r\n")
        assert b" 200 " in new.recv(100)
        goes_on.set()
        server.shutdown()
        thread.join()
    for one in threading.enumerate():
        if one not in before:
            one.join(DEADLINE)


def test_the_end_of_a_server_is_told_to_those_who_wait() -> None:
    waits = threading.Event()

    def answer(request: Request) -> Answer:
        assert request.wait
        waits.set()
        return text(503, request.wait(3600))

    before = threading.enumerate()
    with ReportServer("127.0.0.1", 0) as server:
        server.answer = answer
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        client = socket.create_connection(("127.0.0.1", server.port), DEADLINE)
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert waits.wait(DEADLINE)
        server.shutdown()
        thread.join()
    with client:
        found = b""
        while more := client.recv(1 << 16):
            found += more
    assert found.endswith(b"\r\n\r\nThe server ends.\n")
    for one in threading.enumerate():
        if one not in before:
            one.join(DEADLINE)


# A program that runs.

COUNTING = """\
import sys
from pathlib import Path


def work(times):
    for _ in range(times):
        step()


def step():
    return 1


Path("ready").touch()
for number, line in enumerate(sys.stdin):
    work(int(line))
    Path(f"did-{number}").touch()
"""

STEP = ("step", 11)


class Run:
    """A program that does as many steps as it is told to."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._folder = folder
        self._told = 0

    def do(self, steps: int) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{steps}\n".encode())
        self.process.stdin.flush()
        done = self._folder / f"did-{self._told}"
        wait_until(done.exists, "the program does its steps")
        self._told += 1

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(DEADLINE) == 0


def test_a_running_program_is_read_without_a_file(here: Path) -> None:
    with live_program(here, COUNTING, "--whole", "-o", "a.lprof") as process:
        run = Run(here, process)
        run.do(10)
        assert not Path("a.lprof").exists()
        with serve("a.lprof") as one:
            assert values(scraped(one), "hits")[STEP] == 10
            run.do(7)
            running = scraped(one)
            assert values(running, "hits")[STEP] == 17
            run.do(3)
            run.end()
            ended = scraped(one)
            assert values(ended, "hits")[STEP] == 20
            assert ended.time_ns == running.time_ns
            assert one.end(signal.SIGTERM)[1:] == ("", "")
    final = load("a.lprof")
    hits = {
        (function.name, row.line): row.hits
        for function in final.functions
        for row in function.rows
    }
    assert values(ended, "hits") == hits


def test_a_window_has_the_steps_of_a_running_program(
    here: Path, asked: Callable[..., Answer]
) -> None:
    with live_program(here, COUNTING, "--whole", "-o", "a.lprof") as process:
        run = Run(here, process)
        run.do(10)
        got = read(asked(5, lambda: run.do(4)).body)
        assert values(got, "hits")[STEP] == 4
        assert values(got, "calls")[STEP[0], 10] == 4
        assert got.duration_ns > 0
        assert got.time_ns > load_start(process)

        def to_the_end() -> None:
            run.do(3)
            run.end()

        got = read(asked(5, to_the_end).body)
        assert values(got, "hits")[STEP] == 3


def load_start(process: subprocess.Popen[bytes]) -> int:
    """Return when a process started, at the earliest (ns since the epoch)."""
    return int(Path(f"/proc/{process.pid}").stat().st_mtime * S) - S


def test_a_program_that_starts_again_counts_alone(
    here: Path, asked: Callable[..., Answer]
) -> None:
    flags = ("--whole", "-o", "a.lprof")
    with live_program(here, COUNTING, *flags) as first, ExitStack() as stack:
        run = Run(here, first)
        run.do(10)

        def again() -> None:
            run.end()
            for done in here.glob("did-*"):
                done.unlink()
            second = stack.enter_context(live_program(here, COUNTING, *flags))
            Run(here, second).do(20)

        got = read(asked(5, again).body)
        assert values(got, "hits")[STEP] == 20


def test_counts_that_a_program_is_told_to_reset_are_those_since_then(
    here: Path, asked: Callable[..., Answer]
) -> None:
    flags = ("--whole", "--listen", "-o", "a.lprof")
    with live_program(here, COUNTING, *flags) as process:
        run = Run(here, process)
        run.do(10)

        def happens() -> None:
            assert viewer("ctl", str(process.pid), "reset", cwd=here).status == 0
            run.do(3)

        assert values(read(asked(5, happens).body), "hits")[STEP] == 3
        assert values(read(asked().body), "hits")[STEP] == 3


@pytest.mark.parametrize("damage", [rb"\0", rb"\ud800"])
def test_a_damaged_live_file_of_another_run_does_no_harm(
    here: Path, asked: Callable[..., Answer], damage: bytes
) -> None:
    with live_program(here, COUNTING, "--whole", "-o", "a.lprof") as process:
        Run(here, process).do(10)
        live = Path(live_file_of(process))
        damaged = live.with_name(f"{process.pid}-damaged.live")
        name = b"a.lprof'"  # the path that the program will write
        content = live.read_bytes().replace(name, damage.ljust(len(name) - 1) + b"'")
        damaged.write_bytes(content)
        assert values(read(asked().body), "hits")[STEP] == 10
        assert "still runs" in viewer("view", "a.lprof", cwd=here).err


WITH_CHILDREN = COUNTING.replace(
    "    work(int(line))\n",
    "    child = context.Process(target=work, args=(int(line),))\n"
    "    child.start()\n"
    "    child.join()\n",
).replace(
    "import sys\n",
    "import multiprocessing, sys\n\ncontext = multiprocessing.get_context('fork')\n",
)

STEP_OF_CHILD = (STEP[0], STEP[1] + 2)


def test_processes_of_a_running_program_are_in_a_window(
    here: Path, asked: Callable[..., Answer]
) -> None:
    with live_program(here, WITH_CHILDREN, "--whole", "-o", "a.lprof") as process:
        run = Run(here, process)
        run.do(10)
        assert values(read(asked().body), "hits")[STEP_OF_CHILD] == 10
        got = read(asked(5, lambda: run.do(4)).body)
        assert values(got, "hits")[STEP_OF_CHILD] == 4
        run.end()
        assert values(read(asked().body), "hits")[STEP_OF_CHILD] == 14


def test_a_damaged_live_file_of_a_child_leaves_out_that_child(
    here: Path, asked: Callable[..., Answer]
) -> None:
    with live_program(here, WITH_CHILDREN, "--whole", "-o", "a.lprof") as process:
        run = Run(here, process)
        run.do(10)
        first = Path(live_file_of(process))
        [child] = [
            one
            for one in first.parent.glob("*.live")
            if one != first and first.stem.encode() in one.read_bytes()
        ]
        content = child.read_bytes()
        [note] = re.findall(rb"'thread': \(\d+, \d+\)", content)
        child.write_bytes(content.replace(note, b"'thread': 5".ljust(len(note))))
        run.do(4)
        assert values(read(asked().body), "hits")[STEP_OF_CHILD] == 4


def test_a_program_that_ends_while_it_is_read_is_counted_once(
    here: Path, asked: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its live files go between the reading of its first process and of the others."""
    name = "lineprof.processes.so_far.live_files"
    with live_program(here, WITH_CHILDREN, "--whole", "-o", "a.lprof") as process:
        run = Run(here, process)
        run.do(10)

        def others(places: Iterable[str] = ()) -> Iterator[str]:
            if places:
                monkeypatch.setattr(name, live_files)
                run.end()
            return live_files(places)

        def happens() -> None:
            run.do(4)
            monkeypatch.setattr(name, others)

        found = values(read(asked(5, happens).body), "hits")
        assert found[STEP_OF_CHILD] == 4
        assert ("<module>", 1) not in found
        assert values(read(asked().body), "hits")[STEP_OF_CHILD] == 14


def test_a_run_of_any_command_has_its_processes(
    here: Path, asked: Callable[..., Answer]
) -> None:
    (here / "program.py").write_text(COUNTING, encoding="utf-8")
    words = ["-m", "lineprof", "run", "--children", "-qo", "a.lprof", "--"]
    command = f"{sys.executable} program.py; cat > /dev/null"
    with subprocess.Popen(
        [sys.executable, *words, "sh", "-c", command], stdin=subprocess.PIPE
    ) as process:
        wait_until(Path("ready").exists, "it gets ready")
        run = Run(here, process)
        run.do(10)
        assert values(read(asked().body), "hits")[STEP] == 10
        assert values(read(asked(5, lambda: run.do(4)).body), "hits")[STEP] == 4
        run.end()
    assert values(read(asked().body), "hits")[STEP] == 14


def test_a_running_program_has_the_gpu_work_of_its_last_profile(
    here: Path, asked: Callable[..., Answer]
) -> None:
    with live_program(here, COUNTING, "--whole", "-o", "a.lprof") as process:
        run = Run(here, process)
        run.do(10)
        then = profile_so_far("a.lprof")
        assert then
        [key] = [one.key for one in then.functions if one.name == STEP[0]]
        kernels = GpuSum(0, NO_PATH, KERNEL, "add", 0, 5, 700, 1, 600)
        device = example_gpu.example_gpu().devices[0]._replace(process=0)
        gpu = Gpu((GpuPath(0, False, ((key, STEP[1]),)),), (kernels,), (device,))
        save(then.with_timelines(then.threads, (), gpu), "a.lprof")  # as of kernprof -i
        run.do(7)
        found = read(asked().body)
        assert values(found, "hits")[STEP] == 17
        assert values(found, "gpu") == {STEP: 700}


def test_in_a_folder_a_program_that_runs_again_is_read_itself(here: Path) -> None:
    save(grown(3), here / "a.lprof")
    with (
        live_program(here, COUNTING, "--whole", "-o", "a.lprof") as process,
        serve(".") as one,
    ):
        Run(here, process).do(10)
        assert values(scraped(one, "profile=a.lprof"), "hits")[STEP] == 10
        assert one.end(signal.SIGTERM)[1:] == ("", "")


def test_the_page_of_a_program_that_has_not_ended_waits_for_its_profile(
    here: Path,
) -> None:
    with (
        live_program(here, COUNTING, "--whole", "-o", "a.lprof") as process,
        serve("a.lprof") as one,
    ):
        place = one.enter()
        state = one.wait(f"{place}state", lambda found: found["problem"])
        assert state["problem"] == "a.lprof is not there yet"
        Run(here, process).end()
        one.wait(f"{place}state", lambda found: found["revision"])


def test_go_tool_pprof_asks_a_server(shared: Served, tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("go does not come from the package index")
    address = f"http://{shared.host}{PROFILE}?token={shared.token}"
    done = subprocess.run(
        [go, "tool", "pprof", "-top", "-unit=ms", "-sample_index=time", address],
        env={**os.environ, "HOME": str(tmp_path), "PPROF_TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE,
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["4200ms", "66.67%", "66.67%", "6300ms", "100%", "main"] in rows
    assert ["2100ms", "33.33%", "100%", "2100ms", "33.33%", "leaf"] in rows
    assert "Duration: 7s" in done.stdout


# Memory.

HEAP = "/debug/pprof/heap"


def heap(one: Served, query: str = "") -> Pprof:
    """Return the memory of a program as a scraper gets it."""
    got = one.ask(f"{HEAP}?{query}", **bearer(one))
    assert got.status == 200, got.text
    assert got.headers["Content-Type"] == "application/octet-stream"
    assert "heap.pb.gz" in got.headers["Content-Disposition"]
    return read(got.body)


def in_use(profile: Pprof) -> dict[tuple[str, int], int]:
    return values(profile, "inuse_space")


LIVE = {
    ("reply", 7): 39_000,
    ("reply", 8): 1_000,
    ("[outside of profiled lines]", 0): 2_500,
}


def test_the_memory_of_a_program_is_a_heap_as_gos(here: Path) -> None:
    save(example_memory.example(), "a.lprof")
    with serve("a.lprof", cwd=here) as served:
        found = heap(served)
        assert in_use(found) == LIVE
        assert found.default == "inuse_space"
        assert [*found.units] == [
            *("alloc_objects", "alloc_space", "inuse_space", "peak_space")
        ]
        assert values(found, "alloc_space")["reply", 7] == 41_000 - 1_000
        assert values(scraped(served), "inuse_space") == LIVE


def test_a_window_of_memory_has_what_is_allocated_in_it(here: Path) -> None:
    save(example_memory.example(), "a.lprof")
    scrapes = Scrapes(OneProfile("a.lprof"), sources([]))

    def wait(_: float) -> str:
        later = example_memory.example()
        sums = list(later.memory.sums)
        sums[1] = sums[1]._replace(allocs=22, alloc_bytes=44_000, peak_bytes=43_000)
        later.memory = later.memory._replace(sums=tuple(sums))
        later.processes = (later.processes[0]._replace(wall_ns=5 * S),)
        write(later, "a.lprof")
        return ""

    assert here == Path.cwd()
    answer = scrapes.answer("/heap", {"seconds": ["2"]}, wait)
    found = read(answer.body)
    assert values(found, "alloc_space") == {("reply", 7): 4_000}
    assert in_use(found) == {("reply", 7): 4_000}
    assert not values(found, "peak_space")


def test_a_program_whose_memory_is_not_measured_has_no_heap(shared: Served) -> None:
    got = shared.ask(HEAP, **bearer(shared))
    assert got.status == 404
    assert got.text == "Memory was not measured: kernprof -l --memory does.\n"


def test_go_tool_pprof_asks_for_a_heap(here: Path, tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("go does not come from the package index")
    save(example_memory.example(), "a.lprof")
    with serve("a.lprof", cwd=here) as served:
        address = f"http://{served.host}{HEAP}?token={served.token}"
        done = subprocess.run(
            [go, "tool", "pprof", "-top", "-unit=B", address],
            env={**os.environ, "HOME": str(tmp_path), "PPROF_TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=DEADLINE,
        )
    assert "Type: inuse_space" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["40000B", "94.12%", "94.12%", "40000B", "94.12%", "reply"] in rows


BUSY = """\
import sys, threading, time
from pathlib import Path


def leaf(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def node(n):
    return leaf(n) + leaf(n // 2)


def loop(end, n):
    while time.monotonic() < end:
        node(n)
        time.sleep(0.002)


Path("ready").touch()
end = time.monotonic() + float(sys.stdin.readline())
thread = threading.Thread(target=loop, args=(end, 300), name="side")
thread.start()
loop(end, 1000)
thread.join()
"""


@pytest.mark.serial
@pytest.mark.parametrize(
    ("interval", "scrapes"),
    [(2, 2), pytest.param(15, 4, marks=pytest.mark.seldom)],
)
def test_scrapes_of_a_running_program_add_up_to_its_profile(
    here: Path, interval: int, scrapes: int
) -> None:
    """The scraper behaves as pyroscope.scrape of Grafana Alloy.

    grafana/alloy, internal/component/pyroscope/scrape: a ticker of the interval
    (scrape_loop.go), `seconds` of one less (target.go), a status of 2xx, a body, and
    the type application/octet-stream (validate.go), or else the scrape is lost.
    """
    figures: list[tuple[int, float]] = []
    with ExitStack() as stack:
        process = stack.enter_context(
            live_program(here, BUSY, "--whole", "-o", "a.lprof")
        )
        assert process.stdin
        process.stdin.write(f"{interval * scrapes + 0.5}\n".encode())
        process.stdin.flush()
        one = stack.enter_context(serve("a.lprof"))
        first = scraped(one)
        found = [first]
        tick = time.monotonic()
        while len(found) <= scrapes + 2:
            begun = time.monotonic()
            got = one.ask(f"{PROFILE}?seconds={interval - 1}", **bearer(one))
            figures.append((len(got.body), time.monotonic() - begun - (interval - 1)))
            assert got.status == 200, got.text
            assert got.body
            assert got.headers["Content-Type"].startswith("application/octet-stream")
            found.append(read(got.body))
            tick += interval
            time.sleep(max(0, tick - time.monotonic()))
        assert process.wait(DEADLINE) == 0
    final = load("a.lprof")
    for before, after in pairwise(found[1:]):  # no gap, and nothing twice
        assert before.time_ns + before.duration_ns == after.time_ns
    sums = {
        kind: sum((Counter(values(one, kind)) for one in found), Counter())
        for kind in ("time", "hits", "calls")
    }
    whole = read(b"".join(pprof.content(final)))
    assert sums["hits"] == values(whole, "hits")
    assert sums["calls"] == values(whole, "calls")
    total = sum(values(whole, "time").values())
    off = abs(sum(sums["time"].values()) - total)
    assert off * 100_000 < total  # the cost of an event is known better at the end
    sizes, times = zip(*figures)
    print(  # figures of the check
        f"{len(figures)} scrapes, {min(sizes)} to {max(sizes)} bytes,"
        f" {1e3 * min(times):.1f} to {1e3 * max(times):.1f} ms beside the wait;"
        f" {total} ns, {off} off"
    )
