"""Reading batches of packed columns: timelines have some, and traces.

They stay packed; whose they are sees to it that they are fit to use.
"""

from __future__ import annotations

from dataclasses import dataclass

from lineprof.gpu_records import Batch
from lineprof.store_rows import Damaged, known, places_of, rows_of
from lineprof.store_schema import MOST_EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from typing import Any

    from lineprof.store_rows import Rows
    from lineprof.store_schema import Table


@dataclass(frozen=True)
class Batches:
    """Where something has its batches, and how they are spoken of."""

    batches: Table
    columns: Table
    names: Iterable[str]  # of columns; later versions' are passed over
    longest: int  # so much in one
    owner: str  # "timeline"
    items: str  # "events"

    def read(self, db: sqlite3.Connection, owners: Rows) -> dict[object, list[Batch]]:
        """Return the batches in order, by the id that is first in `owners`' rows.

        Damaged where one has none, is too long, or all together are.
        """
        rows = rows_of(db, self.batches)
        columns = self._columns(db, places_of(rows))
        most = MOST_EVENTS
        found: dict[object, list[Batch]] = {index: [] for index, *_ in owners}
        for index, owner, count in rows:
            if not 0 < count <= self.longest:
                raise Damaged(f"a batch has {count} {self.items}")
            most -= count
            if most < 0:
                text = f"the {self.owner}s have more than {MOST_EVENTS} {self.items}"
                raise Damaged(text)
            own = columns[index]
            made = tuple((name, own[name]) for name in self.names if name in own)
            known(found, owner, self.owner).append(Batch(count, made))
        return found

    def _columns(
        self, db: sqlite3.Connection, batches: Iterable[object]
    ) -> dict[object, dict[str, bytes]]:
        columns: dict[object, dict[str, bytes]] = {index: {} for index in batches}
        for index, name, data in rows_of(db, self.columns):
            of_batch = known(columns, index, "batch")
            if name in of_batch:
                raise Damaged(f"a batch has two columns {name}")
            of_batch[name] = data
        return columns

    def grouped(self, owners: Rows, parts: Rows) -> dict[object, list[Any]]:
        """Return `parts` by the owner in their first column, which is cut off."""
        groups: dict[object, list[Any]] = {index: [] for index, *_ in owners}
        for owner, *part in parts:
            known(groups, owner, self.owner).append(part)
        return groups
