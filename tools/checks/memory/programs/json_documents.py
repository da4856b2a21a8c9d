"""A large JSON document, written, read and changed."""

from __future__ import annotations

import json


def document(count: int) -> dict[str, object]:
    """Return a document of so many records."""
    rows = []
    for number in range(count):
        tags = [f"tag {number % 7}", f"tag {number % 31}"]
        row = {"id": number, "name": f"record {number}", "tags": tags}
        row["value"] = number * 1.25
        rows.append(row)
    return {"version": 3, "rows": rows}


def round_trip(value: dict[str, object]) -> dict[str, object]:
    """Write a value, and read it."""
    text = json.dumps(value, indent=1)
    data = text.encode()
    return json.loads(data)


def raised(value: dict[str, list[dict[str, object]]]) -> int:
    """Change the records; return the length of their text."""
    rows = value["rows"]
    names = [row["name"] for row in rows if row["id"] % 3 == 0]
    joined = ", ".join(names)
    lines = joined.upper().split(", ")
    return len("\n".join(lines))


def main() -> None:
    """Run it twice."""
    value = document(20_000)
    for _ in range(2):
        value = round_trip(value)
    print(raised(value))


main()
