"""The command `lineprof serve`, asked over real sockets as a browser asks it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import select
import shlex
import signal
import socket
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from as_python import error_line, viewer
from deadline import DEADLINE
from example_calls import example as calls
from example_stats import example
from pages import DOCS, blocks_of
from report_page import Page, source_of
from served import LINE, Served, serve

from lineprof.model.profile import Profile
from lineprof.server.access import Access
from lineprof.server.pages import text
from lineprof.server.server import ReportServer
from lineprof.storage import save

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of the script that both the report and the page around it have.
CHECKS = (
    r"^function (?:editorAddress|(?:template|path)Problem|(?:resolved|encoded)Path)\b"
    r".*?^}"
)

EVERYWHERE = "0.0.0.0"  # noqa: S104  # what a user is warned of


@pytest.fixture
def own(file: str) -> Iterator[Served]:
    """Serve a file that the test may change, or with which it may be rude."""
    with serve(file) as served:
        yield served
        assert served.end(signal.SIGTERM)[1:] == ("", "")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    save(example(), folder / "train.lprof")
    with serve("train.lprof", cwd=folder) as served:
        yield served
        assert served.end(signal.SIGTERM)[1:] == ("", "")


@pytest.fixture
def one(shared: Served) -> Iterator[Served]:
    """Give a server, as a browser sees it that has not yet asked anything."""
    shared.cookie = shared.folder = ""
    yield shared
    assert shared.says() == []


def test_the_report_is_that_of_view_html(own: Served, file: str) -> None:
    place = own.enter()
    state = own.wait(f"{place}state", lambda found: found["revision"])
    assert state["problem"] == ""
    assert state["written"] == Path(file).stat().st_mtime_ns // 1_000_000
    got = own.ask(f"{place}report?revision={state['revision']}")
    assert Page(got.text).data["title"] == "train.py --fast"
    assert viewer("view", "--html=page", file, cwd=Path.cwd()).status == 0
    assert got.body == Path("page").read_bytes()


def test_the_report_can_make_no_request_and_has_no_origin(one: Served) -> None:
    place = one.enter()
    got = one.ask(f"{place}report")
    rules = got.headers["Content-Security-Policy"].split("; ")
    assert rules[0] == "default-src 'none'"
    assert rules[-2:] == ["sandbox allow-scripts", "frame-ancestors 'self'"]
    assert not any(rule.startswith("connect-src") for rule in rules)
    assert set(Page(got.text).policy.split("; ")) < set(rules)


def test_both_pages_check_what_is_opened_in_an_editor_by_the_same_script(
    one: Served,
) -> None:
    place = one.enter()
    report = "".join(Page(one.ask(f"{place}report").text).scripts)
    (around,) = re.findall(r"<script>(.*?)</script>", one.ask(place).text, re.DOTALL)
    checks = re.findall(CHECKS, around, re.MULTILINE | re.DOTALL)
    assert len(checks) == 5
    assert all(one in report for one in checks)


@pytest.mark.parametrize(
    ("given", "trusted"),
    [
        ("", ""),
        ("x-mine:{path}#{line}", "x-mine:{path}#{line}"),
        ('x-mine:{path}"><script>', "x-mine:{path}&quot;&gt;&lt;script&gt;"),
        ("x-mine:{path}$style", "x-mine:{path}$style"),
        ("x-mine:{path}\udcff", ""),
    ],
)
def test_the_page_around_trusts_the_editor_of_who_serves(
    file: str, given: str, trusted: str
) -> None:
    with serve(file, LINEPROF_EDITOR=given) as one:
        page = one.ask(one.enter())
    assert page.status == 200
    assert f'data-editor="{trusted}"' in page.text


def test_the_page_around_the_report_allows_its_own_script_alone(one: Served) -> None:
    got = one.ask(one.enter())
    rules = dict(
        rule.split(" ", 1)
        for rule in got.headers["Content-Security-Policy"].split("; ")
    )
    scripts = re.findall(r"<script>(.*?)</script>", got.text, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", got.text, re.DOTALL)
    assert [rules["script-src"]] == [source_of(text) for text in scripts]
    assert [rules["style-src"]] == [source_of(text) for text in styles]
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == rules["frame-src"] == "'self'"
    assert rules["frame-ancestors"] == "'none'"
    assert 'sandbox="allow-scripts"' in got.text


def test_every_answer_has_the_headers_that_keep_it_private(one: Served) -> None:
    place = one.enter()
    paths = ["/", f"/?token={one.token}", place, f"{place}state", f"{place}report"]
    for path in [*paths, "/no/such/page"]:
        headers = one.ask(path).headers
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == (
            "SAMEORIGIN" if path.endswith("report") else "DENY"
        )
        assert headers["Server"] == "lineprof"


def test_the_token_becomes_a_cookie_and_leaves_the_address(one: Served) -> None:
    place = one.enter()
    first = one.ask(f"/?token={one.token}")
    assert one.token not in place
    assert one.token not in first.text
    assert first.headers["Set-Cookie"] == (
        f"lineprof={one.token}; Path={one.folder}; HttpOnly; SameSite=Strict"
    )
    assert one.ask(place).status == 200
    assert one.token not in one.ask(place).text


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?token=",
        "?token=wrong",
        "?token=%C3%A9",
        "?token={0}x",
        "?token={0}&token={0}",
    ],
)
def test_without_the_token_there_is_nothing(one: Served, query: str) -> None:
    got = one.ask(f"/{query.format(one.token)}")
    assert got.status == 403
    assert "Set-Cookie" not in got.headers
    assert one.token not in got.text


@pytest.mark.parametrize(
    "cookie", ["", "lineprof=", "lineprof=wrong", "other={0}", "lineprof=\xe9", "{0}"]
)
def test_without_the_cookie_there_is_nothing(one: Served, cookie: str) -> None:
    place = one.enter()
    for path in (place, f"{place}state", f"{place}report", one.folder):
        assert one.ask(path, Cookie=cookie.format(one.token)).status == 403


def test_the_cookie_is_found_among_others(one: Served) -> None:
    place = one.enter()
    assert one.ask(place, Cookie=f"a=b; {one.cookie}; c").status == 200


@pytest.mark.parametrize(
    "host",
    ["", "evil.example:{0}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil:{0}", "[::1]"],
)
def test_requests_for_another_host_are_refused(one: Served, host: str) -> None:
    place = one.enter()
    name = host.format(one.port)
    for path in (place, f"/?token={one.token}"):
        got = one.ask(path, Host=name)
        assert got.status == 403
        assert "Set-Cookie" not in got.headers


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_this_machine_has_more_than_one_name(one: Served, host: str) -> None:
    place = one.enter()
    assert one.ask(place, Host=f"{host}:{one.port}").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "X"])
def test_other_methods_are_refused(one: Served, method: str) -> None:
    got = one.ask(one.enter(), method)
    assert (got.status, got.headers["Allow"]) == (405, "GET, HEAD")


def test_head_has_the_headers_of_get_and_no_body(one: Served) -> None:
    place = one.enter()
    got, head = one.ask(place), one.ask(place, "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(got.body))


@pytest.mark.parametrize(
    "path",
    [
        "{0}../../etc/passwd",
        "{0}..%2f..%2fetc%2fpasswd",
        "{0}%2e%2e/train.lprof",
        "{0}/etc/passwd",
        "{0}train.lprof",
        "{0}{1}/../report",
        "{0}{1}/report/",
        "{0}{1}//report",
        "/etc/passwd",
        "//etc/passwd",
        "{0}%00",
        "{0}list",
        "{0}",
        "http://127.0.0.1/etc/passwd",
    ],
)
def test_paths_of_files_lead_nowhere(one: Served, path: str) -> None:
    place = one.enter()
    profile_id = place.split("/")[2]
    got = one.ask(path.format(one.folder, profile_id))
    assert (got.status, got.text) == (404, "There is no such page.\n")


def test_the_report_follows_the_file(own: Served, file: str) -> None:
    place = own.enter()
    first = own.wait(f"{place}state", lambda found: found["revision"])
    before = own.ask(f"{place}report").body
    assert own.values(f"{place}state") == first
    Path("new").write_bytes(Path(file).read_bytes())
    Path("new").replace(file)  # the same content: another file all the same
    again = own.wait(f"{place}state", lambda found: found != first)
    assert again["revision"] != first["revision"]
    assert own.ask(f"{place}report").body == before
    save(calls(), "new")
    Path("new").replace(file)
    own.wait(f"{place}state", lambda found: found["revision"] != again["revision"])
    assert own.ask(f"{place}report").body != before


def test_a_damaged_profile_is_one_line_and_the_last_report_stays(
    own: Served, file: str
) -> None:
    place = own.enter()
    good = own.wait(f"{place}state", lambda found: found["revision"])
    report = own.ask(f"{place}report").body
    content = Path(file).read_bytes()
    Path(file).write_bytes(content[:50])
    state = own.wait(f"{place}state", lambda found: found["problem"])
    assert state == good | {"problem": "train.lprof is cut off; record it again"}
    assert own.ask(f"{place}report").body == report
    Path(file).unlink()
    gone = "train.lprof is not there any more"
    state = own.wait(f"{place}state", lambda found: found["problem"] == gone)
    assert state == good | {"problem": gone}
    Path(file).write_bytes(content)
    own.wait(f"{place}state", lambda found: not found["problem"])
    assert own.ask(f"{place}report").body == report


def test_a_profile_that_is_damaged_from_the_start_is_waited_for(file: str) -> None:
    content = Path(file).read_bytes()
    Path(file).write_bytes(b"")
    with serve(file) as one:
        place = one.enter()
        state = one.wait(f"{place}state", lambda found: found["problem"])
        assert state["problem"] == "train.lprof is empty; record it again"
        assert state["revision"] == ""
        assert one.ask(f"{place}report").status == 404
        Path(file).write_bytes(content)
        assert one.wait(f"{place}state", lambda found: found["revision"])
        assert one.ask(f"{place}report").status == 200


def names(found: Any) -> list[str]:
    return [row["name"] for row in found["profiles"]]


def test_a_folder_lists_its_profiles_and_new_ones_appear(here: Path) -> None:
    with serve(".") as one:
        assert one.enter() == one.folder
        listed = f"{one.folder}list"
        assert one.ask(one.folder).status == 200
        assert one.values(listed) == {"profiles": [], "remark": ""}
        save(example(), "train.lprof")
        (first,) = one.wait(listed, names)["profiles"]
        assert first == {
            "id": first["id"],
            "name": "train.lprof",
            "program": "train.py --fast",
            "written": Path("train.lprof").stat().st_mtime_ns // 1_000_000,
            "wall": max(process.wall_ns for process in example().processes),
            "size": Path("train.lprof").stat().st_size,
        }
        (here / "deep" / "er").mkdir(parents=True)
        save(calls(), "deep/er/calls.lprof")
        os.utime("deep/er/calls.lprof", (0, 0))
        (here / ".hidden").mkdir()
        save(calls(), ".hidden/calls.lprof")
        Path("notes.txt").touch()
        found = one.wait(listed, lambda found: len(names(found)) > 1)
        assert names(found) == ["train.lprof", "deep/er/calls.lprof"]
        for row in found["profiles"]:
            place = f"{one.folder}{row['id']}/"
            assert one.ask(place).status == 200
            one.wait(f"{place}state", lambda state: state["revision"])
            Page(one.ask(f"{place}report").text)
        Path("train.lprof").unlink()
        one.wait(listed, lambda found: names(found) == ["deep/er/calls.lprof"])
        state = one.values(f"{one.folder}{first['id']}/state")
        assert state["problem"] == "train.lprof is not there any more"


def test_links_do_not_lead_out_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    (tmp_path / "secret").mkdir()
    save(example(), tmp_path / "secret" / "s.lprof")
    save(example(), tmp_path / "served" / "a.lprof")
    (tmp_path / "served" / "file.lprof").symlink_to(tmp_path / "secret" / "s.lprof")
    (tmp_path / "served" / "folder").symlink_to(tmp_path / "secret")
    with serve(str(tmp_path / "served")) as one:
        one.enter()
        (row,) = one.values(f"{one.folder}list")["profiles"]
        assert row["name"] == "a.lprof"
        state = f"{one.folder}{row['id']}/state"
        before = one.wait(state, lambda found: found["revision"])
        (tmp_path / "served" / "a.lprof").unlink()
        (tmp_path / "served" / "a.lprof").symlink_to(tmp_path / "secret" / "s.lprof")
        gone = "a.lprof is not there any more"
        found = one.wait(state, lambda found: found["problem"])
        assert found == before | {"problem": gone}


def test_names_of_files_are_text_alone(here: Path) -> None:
    name = "<img src=x onerror=a()>\x1b[2J\u202e&.lprof"
    save(example(), here / name)
    with serve(name) as one:
        place = one.enter()
        page = one.ask(place).text
        assert "<img" not in page
        assert "\x1b" not in page + one.name
        assert "&lt;img src=x onerror=a()&gt;\\x1b[2J\\u202e&amp;.lprof" in page


def test_a_profile_shows_no_file_of_this_machine(here: Path) -> None:
    Path("secret.txt").write_text("the secret", encoding="utf-8")
    key = ("/work/train.py", 1, "load")
    rows = [(1, 1, 100)]
    save(Profile({(str(here / "secret.txt"), *key[1:]): rows}, 1e-9), "evil.lprof")
    with serve("evil.lprof") as one:
        place = one.enter()
        one.wait(f"{place}state", lambda found: found["revision"])
        data = Page(one.ask(f"{place}report").text).data
        assert "the secret" not in json.dumps(data)


# Ends, and what is printed.


@pytest.mark.parametrize("place", ["train.lprof", "."])
def test_ctrl_c_ends_it_silently(file: str, place: str) -> None:
    assert file
    with serve(place) as one:
        assert one.name == place
        one.ask(one.enter())
        assert one.end(signal.SIGINT) == (130, "", "")


def test_the_port_can_be_chosen_and_must_be_free(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(file) as one:
        port = str(one.port)
        assert error_line(capsys, 1, "serve", file, "--port", port) == (
            f"lineprof: port {port} of 127.0.0.1 is in use;"
            " choose another one with --port, or leave that out\n"
        )
        one.end(signal.SIGTERM)
    with serve(file, "--port", port) as one:
        assert str(one.port) == port


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["nowhere.lprof"], 1, "nowhere.lprof does not exist; check the name"),
        (["/dev/null"], 1, "cannot read /dev/null: "),
        (["train.lprof", "other.lprof"], 2, "serve takes one FILE"),
        (["train.lprof", "--port", "65536"], 2, "bad port '65536'; give 0 to 65535"),
        (["train.lprof", "--port=-1"], 2, "bad port '-1'; give 0 to 65535"),
        (["train.lprof", "--host", "a..b"], 1, "there is no address 'a..b'"),
        (["train.lprof", "--host", "192.0.2.1"], 1, "is no address of this machine"),
        (["train.lprof", "--source-root", "x"], 1, "'x' is no folder"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    file: str,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    message: str,
) -> None:
    assert file
    assert message in error_line(capsys, status, "serve", *arguments)


@pytest.mark.parametrize(
    ("environment", "flag"),
    [
        ({"SSH_CONNECTION": "192.0.2.1 5 192.0.2.2 22"}, ""),
        ({"SSH_CONNECTION": "192.0.2.1 5 192.0.2.2 2022"}, " -p 2022"),
        ({"DISPLAY": ""}, ""),
    ],
)
def test_on_a_remote_machine_the_command_for_ssh_is_printed(
    file: str, environment: dict[str, str], flag: str
) -> None:
    with serve(file, **environment) as one:
        assert one.line() == (
            f"To open it on your own machine: ssh{flag} -L"
            f" {one.port}:127.0.0.1:{one.port} {shlex.quote(socket.gethostname())}"
        )


def test_ctrl_c_while_a_request_begins_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin = ThreadingHTTPServer.process_request

    def interrupted(*arguments: Any) -> None:
        before = set(threading.enumerate())
        begin(*arguments)
        for thread in set(threading.enumerate()) - before:
            thread.join()
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadingHTTPServer, "process_request", interrupted)
    with (
        ReportServer("127.0.0.1", 0) as server,
        socket.create_connection(("127.0.0.1", server.port)) as client,
    ):
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        server.answer = lambda _: text(404, "There is nothing.")
        with pytest.raises(KeyboardInterrupt):
            server.serve_forever()


def test_the_page_shows_what_the_command_prints(here: Path, file: str) -> None:
    blocks = blocks_of(DOCS / "serve.md")
    shown = [
        block for block in blocks if block.value.startswith("tests/cli/test_serve.py:")
    ]
    assert len(shown) == 3
    (here / "script.lprof").write_bytes(Path(file).read_bytes())
    (here / "runs").mkdir()
    for block in shown[:2]:
        [(command, line)] = block.sessions
        words = command.removeprefix("lineprof serve ").split()
        with serve(*words, cwd=here) as one:
            assert LINE.fullmatch(line.strip().replace("...", ""))
            assert one.name == words[0]
    with serve(
        "script.lprof", cwd=here, SSH_CONNECTION="192.0.2.1 5 192.0.2.2 22"
    ) as one:
        line = one.line().replace(str(one.port), "41873")
        assert line.replace(socket.gethostname(), "node17") == shown[2].text.strip()


def test_requests_of_ipv4_to_all_addresses_name_that_of_ipv4() -> None:
    access = Access("::", "::", 8000)
    assert access.takes_host(["192.0.2.1:8000"], "::ffff:192.0.2.1")
    assert access.takes_host(["[2001:db8::1]:8000"], "2001:db8::1")
    assert not access.takes_host(["192.0.2.1:8000"], "2001:db8::1")


def test_an_address_that_others_can_reach_is_warned_of(file: str) -> None:
    with serve(file, "--host", EVERYWHERE) as one:
        assert one.host == f"{socket.gethostname()}:{one.port}"
        place = one.enter()
        assert one.ask(place, Host=f"127.0.0.1:{one.port}").status == 200
        assert one.ask(place, Host=f"evil.example:{one.port}").status == 403
        assert one.end(signal.SIGTERM)[2] == (
            "lineprof: other machines can reach this address: who knows its token can"
            " read the profile and its source, and so can who listens to the network\n"
        )


def test_a_browser_gets_an_address_that_is_right_once(
    file: str, tmp_path: Path
) -> None:
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\nprintf %s "$1" > url.new; mv url.new url\n')
    browser.chmod(0o700)
    with serve(file, "--open", BROWSER=f"{browser} %s") as one:
        end = time.monotonic() + DEADLINE
        while not Path("url").exists():
            assert time.monotonic() < end
        url = Path("url").read_text(encoding="utf-8")
        assert one.token not in url
        assert url.startswith(f"http://{one.host}/?token=")
        path = url.removeprefix(f"http://{one.host}")
        assert [one.ask(path).status for _ in range(2)] == [200, 403]


# Clients that misbehave.


def raw(one: Served, data: bytes) -> bytes:
    """Send bytes, and return what comes until the end of the connection."""
    with socket.create_connection(("127.0.0.1", one.port), DEADLINE) as connection:
        found = b""
        try:
            connection.sendall(data)
            with contextlib.suppress(OSError):  # the server may have closed it
                connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(1 << 16):
                found += more
        except ConnectionError:  # it did not read all
            pass
        return found


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", b""),
        (b"\r\n", b""),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", b"HTTP/1.0 400"),
        (b"GET\r\n\r\n", b"HTTP/1.0 400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"HTTP/1.0 505"),
        (b"GET / HTTP/x\r\n\r\n", b"HTTP/1.0 400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.0 403"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"HTTP/1.0 403"),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"HTTP/1.0 431"),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 70_000 + b"\r\n\r\n", b"HTTP/1.0 431"),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"HTTP/1.0 414"),
        (b"GET /\r\n", b"HTTP/1.0 403"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\xff\r\n\r\n", b"HTTP/1.0 403"),
    ],
)
def test_bad_requests_get_a_short_answer_or_none(
    one: Served, data: bytes, status: bytes
) -> None:
    got = raw(one, data)
    assert got.startswith(status) or not got  # a reset may take the answer with it
    assert b"Traceback" not in got
    host = f"GET /[ HTTP/1.0\r\nHost: {one.host}\r\n\r\n".encode()
    assert raw(one, host).startswith(b"HTTP/1.0 403")
    assert one.ask(one.enter()).status == 200


def test_clients_that_go_away_are_no_news(own: Served) -> None:
    place = own.enter()
    for path in (place, f"{place}report"):
        with socket.create_connection(("127.0.0.1", own.port), DEADLINE) as connection:
            lines = [
                f"GET {path} HTTP/1.1",
                f"Host: {own.host}",
                f"Cookie: {own.cookie}",
            ]
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            linger = (1).to_bytes(4, sys.byteorder) + bytes(4)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    assert own.ask(f"{place}report").status == 200


def test_a_request_has_a_limited_time() -> None:
    before = threading.enumerate()
    with ReportServer("127.0.0.1", 0, request_seconds=0.1) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.settimeout(DEADLINE)
                connection.sendall(b"GET / HTTP/1.1\r\n")
                assert connection.recv(100) == b""
        finally:
            server.shutdown()
            thread.join()
    for one in threading.enumerate():  # that of the request closed the connection first
        if one not in before:
            one.join(DEADLINE)


def test_connections_that_are_too_many_are_closed(own: Served) -> None:
    place = own.enter()
    held = []
    try:
        for _ in range(80):
            connection = socket.create_connection(("127.0.0.1", own.port), DEADLINE)
            connection.sendall(b"GET ")
            held.append(connection)
        for connection in held[:16]:  # the oldest ones are closed
            assert select.select([connection], [], [], DEADLINE)[0]
    finally:
        for connection in held:
            connection.close()
    end = time.monotonic() + DEADLINE
    while raw(own, b"GET / HTTP/1.0\r\n\r\n") == b"":
        assert time.monotonic() < end
    assert own.ask(place).status == 200


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nA: b\r\n"])
def test_connections_without_a_request_keep_nobody_out(
    own: Served, sent: bytes
) -> None:
    place = own.enter()
    held = []
    try:
        for _ in range(3):  # each time the server is full again
            for _ in range(64):
                connection = socket.create_connection(("127.0.0.1", own.port), DEADLINE)
                connection.sendall(sent)
                held.append(connection)
            assert own.ask(place).status == 200
            assert own.ask(f"{place}state").status == 200
    finally:
        for connection in held:
            connection.close()


def test_requests_without_the_token_keep_nobody_out(own: Served) -> None:
    """Their answers fit into the buffers of the system, read or not."""
    place = own.enter()
    held = []
    try:
        for _ in range(100):
            connection = socket.create_connection(("127.0.0.1", own.port), DEADLINE)
            connection.sendall(
                f"GET {place} HTTP/1.1\r\nHost: {own.host}\r\n\r\n".encode()
            )
            held.append(connection)
        assert own.ask(place).status == 200
    finally:
        for connection in held:
            connection.close()


FEW_FILES = """\
import os, resource, sys
from lineprof.cli.main import main
import lineprof.server.server, lineprof.server.site, http.client
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (16, hard))
sys.exit(main(sys.argv[1:]))
"""


def test_too_many_open_files_are_one_line(file: str) -> None:
    with serve(file, wrapper=FEW_FILES) as one:
        held = [
            socket.create_connection(("127.0.0.1", one.port), DEADLINE)
            for _ in range(30)
        ]
        assert one.process.stderr
        assert select.select([one.process.stderr], [], [], DEADLINE)[0]
        for connection in held:
            connection.close()
        place = one.enter()
        assert one.wait(f"{place}state", lambda found: found["revision"])
        assert one.end(signal.SIGTERM)[2] == (
            f"lineprof: cannot take a connection: {os.strerror(errno.EMFILE)}\n"
        )
