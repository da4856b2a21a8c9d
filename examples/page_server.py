"""Answer the requests of an invented shop: why does the server need ever more memory?

Pages are kept, so that each is rendered once. Profile it with
`kernprof -l --memory examples/page_server.py`.
"""

from __future__ import annotations

import random
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

REQUESTS = 6_000
GOODS = ("apples", "bread", "cheese", "dates", "eggs", "figs", "grapes", "honey")
ROWS = 25

PAGES: dict[str, bytes] = {}  # by address


class Request(NamedTuple):
    """What a browser asks for."""

    url: str
    session: int


def requests(count: int) -> list[Request]:
    """Return invented requests, the same each time."""
    draw = random.Random(7)
    found = []
    for _ in range(count):
        session = draw.randrange(10**9)
        goods, page = draw.choice(GOODS), draw.randrange(4)
        url = f"/list?goods={goods}&page={page}&session={session}"
        found.append(Request(url, session))
    return found


def price(goods: str, number: int) -> str:
    """Return the price of one article."""
    cents = (len(goods) * 37 + number * 13) % 900 + 100
    return f"{cents // 100}.{cents % 100:02}"


def row(goods: str, number: int) -> str:
    """Return one row of a list."""
    name = f"{goods} no. {number}"
    return f"<tr><td>{name}</td><td>{price(goods, number)}</td></tr>"


def render(url: str) -> str:
    """Return the list of articles that an address names."""
    query = parse_qs(urlsplit(url).query)
    goods, page = query["goods"][0], int(query["page"][0])
    first = page * ROWS
    rows = [row(goods, number) for number in range(first, first + ROWS)]
    head = f"<h1>{goods.title()}</h1>"
    return f"<html>{head}<table>{''.join(rows)}</table></html>"


def answer(request: Request) -> bytes:
    """Return the page for a request, rendered unless it is known."""
    url = request.url
    if url not in PAGES:
        PAGES[url] = render(url).encode()
    return PAGES[url]


def serve(all_requests: list[Request]) -> int:
    """Answer all requests; return the bytes that were sent."""
    sent = 0
    for request in all_requests:
        body = answer(request)
        sent += len(body)
    return sent


def main() -> None:
    """Serve, and say how much was sent."""
    sent = serve(requests(REQUESTS))
    print(f"{REQUESTS:,} requests, {sent / 1e6:.1f} MB sent, {len(PAGES):,} pages kept")


if __name__ == "__main__":
    main()
