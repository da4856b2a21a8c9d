"""A realistic script: a sales report in ten functions, one of them decorated."""

from __future__ import annotations

PROFILED = ("summarise",)
ROWS = 1200
CITIES = ("Aarhus", "Bergen", "Cork", "Delft", "Espoo", "Faro")


def pseudo_random(state: int) -> int:
    """Step a small linear congruential generator."""
    return (state * 1103515245 + 12345) & 0x7FFFFFFF


def make_rows(count: int) -> list[str]:
    """Write the raw lines of the report."""
    state = 42
    rows = []
    for number in range(count):
        state = pseudo_random(state)
        city = CITIES[state % len(CITIES)]
        amount = (state >> 8) % 10_000
        rows.append(f"{number};{city};{amount / 100:.2f};{state % 30}")
    return rows


def parse_amount(text: str) -> float:
    """Read an amount of money; an empty text is 0."""
    text = text.strip()
    if not text:
        return 0.0
    return float(text)


def parse_row(row: str) -> tuple[int, str, float, int]:
    """Split a raw line into its four fields."""
    number, city, amount, day = row.split(";")
    return int(number), city.lower(), parse_amount(amount), int(day)


def is_weekend(day: int) -> bool:
    """Return whether a day of the month is a Saturday or a Sunday."""
    return day % 7 in {5, 6}


def rebate(amount: float, day: int) -> float:
    """Return the rebate for a sale."""
    rate = 0.02
    if amount > 50.0:
        rate += 0.03
    if is_weekend(day):
        rate += 0.01
    return amount * rate


def checksum(rows: list[str]) -> int:
    """Hash the numbers of the lines as the old report did."""
    value = 5381
    for row in rows:
        for character in row[:4]:
            value = ((value << 5) + value + ord(character)) & 0xFFFFFFFF
    return value


def summarise(rows: list[tuple[int, str, float, int]]) -> dict[str, float]:
    """Add up the sales of each city: the decorated function."""
    totals: dict[str, float] = {}
    largest = 0.0
    for _, city, amount, day in rows:
        net = amount - rebate(amount, day)
        if city in totals:
            totals[city] += net
        else:
            totals[city] = net
        if net > largest:  # noqa: PLR1730 - as in many scripts
            largest = net
    totals["largest"] = largest
    return totals


def rank(totals: dict[str, float]) -> list[tuple[str, float]]:
    """Sort the cities by insertion, largest first."""
    ranked: list[tuple[str, float]] = []
    for city, amount in totals.items():
        place = 0
        while place < len(ranked) and ranked[place][1] > amount:
            place += 1
        ranked.insert(place, (city, amount))
    return ranked


def report(ranked: list[tuple[str, float]]) -> str:
    """Format the ranked cities."""
    return "\n".join(f"{city:<10}{amount:12.2f}" for city, amount in ranked)


def run() -> str:
    """Do one round: a report on 1200 sales, and one on the later half."""
    rows = make_rows(ROWS)
    parsed = [parse_row(row) for row in rows]
    whole = rank(summarise(parsed))
    half = rank(summarise(parsed[ROWS // 2 :]))
    return f"{checksum(rows):08x}\n{report(whole)}\n{report(half)}"
