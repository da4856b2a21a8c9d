"""A running `lineprof serve`, asked over real sockets as a browser asks it."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any, NamedTuple

from deadline import DEADLINE

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator
    from pathlib import Path

LINE = re.compile(r"Serving (.+) at http://([^/]+)/\?token=([\w-]+) \(Ctrl-C ends it\)")


class Got(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Served:
    """A running server, as one browser sees it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        line = self.line()
        found = LINE.fullmatch(line)
        assert found, line
        self.name, self.host, self.token = found.groups()
        self.port = int(self.host.rpartition(":")[2])
        self.cookie = self.folder = ""

    def line(self) -> str:
        """Return the next line that the command prints."""
        assert self.process.stdout
        ready, _, _ = select.select([self.process.stdout], [], [], DEADLINE)
        assert ready, "the command prints nothing"
        return self.process.stdout.readline().decode().rstrip("\n")

    def ask(self, path: str, method: str = "GET", **headers: str) -> Got:
        """Send one request; headers given as None are left out."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        sent = {"Host": self.host, "Cookie": self.cookie, **headers}
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        got = Got(answer.status, dict(answer.getheaders()), answer.read())
        connection.close()
        return got

    def enter(self) -> str:
        """Open the printed address; return the path to which it leads."""
        first = self.ask(f"/?token={self.token}")
        assert first.status == 200
        self.cookie = first.headers["Set-Cookie"].partition(";")[0]
        found = re.search(r'content="0; url=(/[^"]+)"', first.text)
        assert found
        self.folder = "/".join(found[1].split("/")[:2]) + "/"
        return found[1]

    def values(self, path: str) -> Any:
        """Return the JSON at a path."""
        got = self.ask(path)
        assert (got.status, got.headers["Content-Type"]) == (
            200,
            "application/json; charset=utf-8",
        )
        return json.loads(got.body)

    def wait(self, path: str, done: Callable[[Any], object]) -> Any:
        """Ask until the JSON at a path is as wanted; return it."""
        end = time.monotonic() + DEADLINE
        while not done(found := self.values(path)):
            assert time.monotonic() < end, found
            time.sleep(0.02)
        return found

    def says(self) -> list[str]:
        """Return what is printed: nothing, if this is no error."""
        streams = [self.process.stdout, self.process.stderr]
        ready, _, _ = select.select(streams, [], [], 0)
        return [stream.readline().decode() for stream in ready]

    def end(self, number: signal.Signals) -> tuple[int, str, str]:
        """Send a signal; return status and what was printed since."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=DEADLINE)
        return self.process.returncode, out.decode(), err.decode()


@contextmanager
def serve(
    *arguments: str, wrapper: str = "", cwd: Path | None = None, **environment: str
) -> Iterator[Served]:
    """Run the command as long as the block; it prints no error until its end."""
    names = ("SSH_CONNECTION", "WAYLAND_DISPLAY")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    kept["DISPLAY"] = ":0"  # as on the machine of a user
    words = ["-c", wrapper] if wrapper else ["-m", "lineprof"]
    with subprocess.Popen(
        [sys.executable, *words, "serve", *arguments],
        bufsize=0,  # all that was not read is in the pipe, where select looks
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**kept, **environment},
        cwd=cwd,
    ) as process:
        try:
            yield Served(process)
        finally:
            process.kill()
