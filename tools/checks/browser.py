"""A headless Chromium without a network, driven over a pipe.

Messages of the Chrome DevTools Protocol are JSON that ends in a NUL byte: Chromium
reads them from file descriptor 3 and writes to 4. Only 127.0.0.1 can be reached, so
that a page which fetches anything else fails.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any

from tools.checks.findings import Mismatch, MissingReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BAD = ("error", "assert")  # calls of console
CODES = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40}
MODIFIERS = {"Alt": 1, "Ctrl": 2, "Meta": 4, "Shift": 8}
NAVIGATED = "Inspected target navigated or closed"
LIMIT_S = 120  # for one answer of the browser
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # only our files are opened; root can have no sandbox
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
    "--allow-file-access-from-files",
)


class Page:
    """Page of a browser, with the errors that it logs, and the addresses it asks for.

    The latter once ``Network.enable`` was sent. `followed` are addresses of links.
    """

    def __init__(self, pipe: Pipe, session: str) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.followed: list[str] = []
        self._trace: list[dict[str, Any]] = []
        self._is_traced = False
        self._pipe, self._session = pipe, session
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method of the protocol; Mismatch if the call fails or hangs."""
        number = self._pipe.write(method, parameters, self._session)
        while True:
            message = self._pipe.read()
            if message.get("id") == number:
                break
            self._note(message)
        if "error" in message:
            raise Mismatch(f"{method}: {message['error']['message']}")
        result: dict[str, Any] = message["result"]
        return result

    def _note(self, message: dict[str, Any]) -> None:
        """Record an error that the page reports."""
        details = message.get("params", {})
        method = message.get("method")
        if method == "Runtime.exceptionThrown":
            thrown = details["exceptionDetails"]
            said = thrown.get("exception", {}).get("description", thrown["text"])
            self.errors.append(said)
        elif method == "Log.entryAdded" and details["entry"]["level"] == "error":
            entry = details["entry"]
            self.errors.append(f"{entry['text']} {entry.get('url', '')}".strip())
        elif method == "Tracing.dataCollected":
            self._trace += details["value"]
        elif method == "Tracing.tracingComplete":
            self._is_traced = False
        elif method == "Page.frameRequestedNavigation":
            self.followed.append(details["url"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
        elif method == "Runtime.consoleAPICalled" and details["type"] in BAD:
            words = [str(one.get("value", one)) for one in details["args"]]
            self.errors.append(" ".join(words))

    def open(self, url: str) -> None:
        """Load the page at `url` to the end."""
        failed = self.send("Page.navigate", url=url).get("errorText")
        if failed:
            raise Mismatch(f"{url}: {failed}")
        self.wait("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:  # noqa: ANN401  # of JSON
        """Return the awaited value of a JavaScript expression; Mismatch if it fails."""
        answer = self.send(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in answer:
            thrown = answer["exceptionDetails"]
            said = thrown.get("exception", {}).get("description", thrown["text"])
            raise Mismatch(f"the page threw {said}")
        return answer["result"].get("value")

    def trace(
        self, act: Callable[[], object], *categories: str
    ) -> list[dict[str, Any]]:
        """Call `act`; return what happens meanwhile, by Chromium's trace.

        The events are those of
        https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
        """
        self._trace, self._is_traced = [], True
        config = {"includedCategories": categories}
        self.send("Tracing.start", transferMode="ReportEvents", traceConfig=config)
        act()
        self.send("Tracing.end")
        while self._is_traced:
            self._note(self._pipe.read())
        return self._trace

    def wait(self, expression: str, limit_s: float = LIMIT_S) -> None:
        """Wait until a JavaScript expression is true; Mismatch after the time limit."""
        end = time.monotonic() + limit_s
        while not self._is(expression):
            if time.monotonic() > end:
                raise Mismatch(f"never true in the page: {expression}")
            time.sleep(0.05)

    def _is(self, expression: str) -> bool:
        """Return whether an expression is true; it is not while the page changes."""
        try:
            return bool(self.value(f"Boolean({expression})"))
        except Mismatch as error:
            if NAVIGATED not in str(error):
                raise
            return False

    def point(self, x: float, y: float) -> None:
        """Move the pointer to a point (CSS pixels)."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float, count: int = 1) -> None:
        """Click with the left button at a point; `count` is 2 for a second click."""
        for kind in ("mousePressed", "mouseReleased"):
            self.send(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                clickCount=count,
            )

    def press(self, *keys: str) -> None:
        """Press keys where the focus is; "Ctrl+k" is one."""
        for one in keys:
            *held, name = one.split("+") if len(one) > 1 else [one]
            code = CODES.get(name, ord(name.upper()) if len(name) == 1 else 0)
            event = {
                "key": name,
                "windowsVirtualKeyCode": code,
                "modifiers": sum(MODIFIERS[each] for each in held),
            }
            if name == "Enter":
                event["text"] = "\r"
            for kind in ("keyDown", "keyUp"):
                self.send("Input.dispatchKeyEvent", type=kind, **event)

    def type(self, text: str) -> None:
        """Type a text into the field that has the focus."""
        self.send("Input.insertText", text=text)

    def size(self, width: int, height: int, scale: float = 1) -> None:
        """Set the size of the page (CSS pixels), and the pixels of each of them."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale}
        self.send("Emulation.setDeviceMetricsOverride", mobile=False, **metrics)

    def screenshot(self) -> bytes:
        """Return a PNG of the page."""
        shot = self.send("Page.captureScreenshot", format="png")
        return base64.b64decode(shot["data"])


class Pipe:
    """Pipes for messages to and from one Chromium."""

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._answers = to, answers
        self._rest, self._number = b"", 0

    def write(self, method: str, parameters: object, session: str = "") -> int:
        """Send a message and return its number."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        left = json.dumps(message).encode() + b"\0"
        while left:
            left = left[os.write(self._to, left) :]
        return self._number

    def read(self) -> dict[str, Any]:
        """Return the next message; Mismatch if none arrives."""
        while b"\0" not in self._rest:
            if not select.select([self._answers], [], [], LIMIT_S)[0]:
                raise Mismatch(f"Chromium said nothing for {LIMIT_S} s")
            more = os.read(self._answers, 1 << 20)
            if not more:
                raise Mismatch("Chromium has gone")
            self._rest += more
        first, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(first)
        return message

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method of the browser and return its result."""
        number = self.write(method, parameters)
        while True:
            message = self.read()
            if message.get("id") == number:
                result: dict[str, Any] = message["result"]
                return result


def command() -> str:
    """Return the command of a Chromium; MissingReader if there is none."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    raise MissingReader("Chromium", "Debian: apt install chromium")


def high(end: int) -> int:
    """Duplicate a file descriptor above 3 and 4; return its new number."""
    moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(end)
    return moved


@contextlib.contextmanager
def browser() -> Iterator[Pipe]:
    """Run a Chromium as long as the block; MissingReader if there is none."""
    program = command()
    ends = [high(end) for end in (*os.pipe(), *os.pipe())]
    theirs_in, to, answers, theirs_out = ends

    def take() -> None:
        os.dup2(theirs_in, 3)
        os.dup2(theirs_out, 4)

    home = tempfile.mkdtemp()
    process = subprocess.Popen(
        [program, *FLAGS, f"--user-data-dir={home}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=False,
        preexec_fn=take,  # noqa: PLW1509  # two system calls
        start_new_session=True,  # a Chromium is many processes
    )
    try:
        yield Pipe(to, answers)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(home, ignore_errors=True)
        for end in ends:
            os.close(end)


@contextlib.contextmanager
def page(pipe: Pipe, width: int = 1200, height: int = 800) -> Iterator[Page]:
    """Open a page as long as the block."""
    target = pipe.ask("Target.createTarget", url="about:blank")["targetId"]
    there = pipe.ask("Target.attachToTarget", targetId=target, flatten=True)
    ours = Page(pipe, there["sessionId"])
    ours.size(width, height)
    try:
        yield ours
    finally:
        pipe.ask("Target.closeTarget", targetId=target)


def frame(pipe: Pipe) -> Page:
    """Return the page in the only frame of another process; or Mismatch."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        targets = pipe.ask("Target.getTargets")["targetInfos"]
        found = [one["targetId"] for one in targets if one["type"] == "iframe"]
        if len(found) == 1:
            there = pipe.ask("Target.attachToTarget", targetId=found[0], flatten=True)
            return Page(pipe, there["sessionId"])
        time.sleep(0.05)
    raise Mismatch("there is no such frame")
