"""Damaged profile files, and checks of the errors that loading them raises."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from example_stats import everything

from lineprof.errors import LineprofError
from lineprof.model.profile import Profile
from lineprof.storage import load, save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from lineprof.storage.schema import Table


def load_error(path: object) -> str:
    """Return the one-line error of loading `path`."""
    with pytest.raises(LineprofError) as caught:
        load(path)  # type: ignore[arg-type]
    line = str(caught.value)
    assert line.isprintable()
    assert caught.value.hint
    return line


def execute(file: Path, *statements: str, data: bytes = b"") -> None:
    """Change a file by SQL `statements`, in which ? is `data`."""
    with closing(sqlite3.connect(file)) as db:
        for statement in statements:
            db.execute(statement, (data,) * statement.count("?"))
        db.commit()


def changed(folder: Path, stats: Profile, *statements: str, data: bytes = b"") -> Path:
    """Save a profile and change its file by `statements`, in which ? is `data`."""
    file = folder / "changed.lprof"
    save(stats, file)
    execute(file, *statements, data=data)
    return file


def with_any_values(
    folder: Path, stats: Profile, statement: str, tables: Iterable[Table]
) -> Path:
    """Return a profile's file after an UPDATE that its own tables would reject.

    The table is first replaced by one that accepts any value, as in a hostile file.
    """
    table = next(one for one in tables if f" {one.name} " in f"{statement} ")
    columns = ", ".join(column.name for column in table.columns)
    key = " INTEGER PRIMARY KEY" if table.columns[0].name == "id" else ""
    file = changed(
        folder,
        stats,
        f"CREATE TABLE loose ({columns.replace(',', key + ',', 1)})",
        f"INSERT INTO loose SELECT {columns} FROM {table.name}",  # noqa: S608
        f"DROP TABLE {table.name}",
        f"ALTER TABLE loose RENAME TO {table.name}",
    )
    assert everything(load(file)) == everything(stats)
    execute(file, statement)
    return file


def check_any_byte(
    file: Path,
    places: Callable[[Sequence[int]], Iterable[int]],
    look: Callable[[Profile], object] = repr,
) -> None:
    """Change single bytes of a file: it must load as a profile, or fail with one line.

    `places` chooses among the positions of bytes that are not 0; `look` is called
    with each profile that loads.
    """
    data = file.read_bytes()
    outcomes = set()
    for place in places([place for place, byte in enumerate(data) if byte]):
        for value in (data[place] ^ 0x80, 0xFF):
            broken = bytearray(data)
            broken[place] = value
            file.write_bytes(broken)
            try:
                stats = load(file)
            except LineprofError as error:
                outcomes.add(type(error))
                assert str(error).isprintable()  # noqa: PT017
            else:
                outcomes.add(type(stats))
                look(stats)
    assert outcomes == {Profile, LineprofError}
