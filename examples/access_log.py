"""Read a web server's log and list its slowest pages: which line takes the time?

Most people guess the regular expression: `kernprof -l -v examples/access_log.py`.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from lineprof import profile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LINE = re.compile(
    r'(?P<host>\S+) \S+ \S+ \[(?P<when>[^]]+)] "(?P<method>\S+) (?P<path>\S+) [^"]*" '
    r"(?P<status>\d+) (?P<size>\d+) (?P<ms>\d+)"
)
PAGES = ("/", "/about", "/search?q=profiler", "/search?q=line", "/login", "/api/v1")


class Request(NamedTuple):
    """One line of the log."""

    when: datetime
    path: str
    status: int
    milliseconds: int


def write_log(lines: int) -> Iterator[str]:
    """Write an invented log, the same each time."""
    draw = random.Random(7)
    for number in range(lines):
        day, hour, second = 1 + number % 28, number % 24, number % 60
        when = f"{day:02}/Mar/2024:{hour:02}:00:{second:02} +0000"
        page = draw.choice(PAGES)
        took = int(draw.expovariate(1 / 40)) + 300 * page.startswith("/search")
        status = 200 if draw.random() < 0.98 else 500
        request = f'[{when}] "GET {page} HTTP/1.1" {status} 512 {took}'
        yield f"10.0.0.{number % 250} - - {request}"


@profile
def read(log: Iterable[str]) -> Iterator[Request]:
    """Parse a log line by line, without the lines that are no requests."""
    for line in log:
        match = LINE.match(line)
        if match is None:
            continue
        when = datetime.strptime(match["when"], "%d/%b/%Y:%H:%M:%S %z")
        path, _, _ = match["path"].partition("?")
        yield Request(when, path, int(match["status"]), int(match["ms"]))


@profile
def slowest(requests: Iterable[Request]) -> list[tuple[str, int, int]]:
    """Return each page's number of requests and 95th percentile, slowest first."""
    times = defaultdict(list)
    for request in requests:
        if request.status == 200:
            times[request.path].append(request.milliseconds)
    rows = []
    for path, milliseconds in times.items():
        milliseconds.sort()
        percentile = milliseconds[int(0.95 * len(milliseconds))]
        rows.append((path, len(milliseconds), percentile))
    return sorted(rows, key=lambda row: row[2], reverse=True)


def main() -> None:
    """Print the table of pages."""
    for path, requests, percentile in slowest(read(write_log(20_000))):
        print(f"{path:10} {requests:6} requests, 95 % within {percentile} ms")


if __name__ == "__main__":
    main()
