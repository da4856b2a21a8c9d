"""A web server with a slow line, which profilers attach to.

Each answer sums up invented orders by customer; `customers` is the slow part: it looks
each name up in a list. A short sleep stands for a database.
"""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ORDERS = [(f"customer {i * 7 % 150}", i % 13) for i in range(300)]


def fetch() -> list[tuple[str, int]]:
    """Return the orders, after a wait."""
    time.sleep(0.001)
    return ORDERS


def customers(orders: list[tuple[str, int]]) -> list[str]:
    """Return each customer once, in order."""
    names: list[str] = []
    for name, _count in orders:
        if name not in names:
            names.append(name)
    return names


def summary() -> dict[str, int]:
    """Return the sum of each customer."""
    orders = fetch()
    sums = dict.fromkeys(customers(orders), 0)
    for name, count in orders:
        sums[name] += count
    return sums


class Handler(BaseHTTPRequestHandler):
    """Answers of JSON, over connections that stay."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # so that an answer is sent in one piece

    def do_GET(self) -> None:
        """Answer."""
        body = json.dumps(summary()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
