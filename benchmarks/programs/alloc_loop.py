"""A loop of small objects, lists, dicts and bytes, some of which are kept."""

from __future__ import annotations

import sys
import time


def work(turns: int) -> list[dict[str, object]]:
    """Allocate, and keep one record in 100."""
    kept: list[dict[str, object]] = []
    for turn in range(turns):
        text = str(turn) + "x"
        row = [text, turn, turn + 1]
        data = bytes(2000)
        record = {"row": row, "data": data}
        if turn % 100 == 0:
            kept.append(record)
    return kept


start = time.process_time_ns()
work(int(sys.argv[1]))
print(time.process_time_ns() - start)
