"""A database in memory: orders are inserted, joined and grouped."""

from __future__ import annotations

import sqlite3


def filled(count: int) -> sqlite3.Connection:
    """Return a database of so many orders."""
    base = sqlite3.connect(":memory:")
    base.execute("create table orders (id integer primary key, buyer text, cents int)")
    base.execute("create table buyers (name text primary key, town text)")
    buyers = [(f"buyer {number}", f"town {number % 40}") for number in range(500)]
    base.executemany("insert into buyers values (?, ?)", buyers)
    for number in range(count):
        row = (number, f"buyer {number % 500}", number * 37 % 10_000)
        base.execute("insert into orders values (?, ?, ?)", row)
    base.commit()
    return base


def report(base: sqlite3.Connection) -> list[tuple[str, int]]:
    """Return the sums by town."""
    query = "select town, sum(cents) from orders join buyers on buyer = name group by 1"
    rows = base.execute(query).fetchall()
    return sorted(rows, key=lambda row: row[1])


def texts(base: sqlite3.Connection) -> int:
    """Return the length of all orders as text."""
    length = 0
    for number, buyer, cents in base.execute("select * from orders order by cents"):
        line = f"{number};{buyer};{cents}"
        length += len(line)
    dump = "\n".join(base.iterdump())
    return length + len(dump)


def main() -> None:
    """Fill it, and ask."""
    base = filled(20_000)
    base.execute("create index by_cents on orders (cents)")
    print(report(base)[-1], texts(base))
    base.close()


main()
