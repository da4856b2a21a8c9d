"""A profile as CSV: one row a line, for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io

from lineprof.exports.rows import columns_of, rows_of
from lineprof.log_file import encoded
from lineprof.views.screen import PIPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.stats import Profile


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the CSV of `stats`: a row of titles, then one a line; times in ns.

    An empty field is one that is not known. Characters that act on a terminal
    come as escapes, for its content is often printed.
    """
    rows = rows_of(stats)
    titles = list(rows[0]) if rows else columns_of({})
    yield from encoded([_line(titles)])
    for row in rows:
        yield from encoded([_line(list(row.values()))])


def _line(values: list[object] | list[str]) -> str:
    """Return one row, quoted where it has to be."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="")
    writer.writerow([PIPE.clean(v) if isinstance(v, str) else v for v in values])
    return stream.getvalue()
