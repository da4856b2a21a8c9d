"""Cases of the fuzzer: a profile, changes of its file, and commands that read it.

A case is plain data, so that it can be kept as JSON (tests/fuzz/corpus), and made
smaller by leaving out changes. A change is a list of a name and values:

- ``sql STATEMENT VALUE...``: a statement on the database, its ? the values;
- ``byte PLACE VALUE``, ``cut LENGTH``, ``insert PLACE HEX``, ``drop PLACE LENGTH``: of
  the bytes of the file;
- ``opcode NUMBER HEX``: other bytes in place of one instruction of a pickle;
- ``state LITERAL``: the pickle of a profile with this state;
- ``hex HEX``: the whole file.

A value in SQL that JSON lacks is an object: ``{"hex": ...}``, ``{"text": ...}``, a text
of these bytes, ``{"repeat": [text, times]}``, ``{"zeros": count}``, zeros compressed,
``{"place": name}``, the name of something in the worker's folder.
"""

from __future__ import annotations

import contextlib
import math
import pickletools
import sqlite3
import struct
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fuzz_seeds import (
    DATABASES,
    PICKLES,
    columns_of,
    pickle_of,
    seed_file,
    tables_of,
    zeros,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    Change = list[Any]

INJECTED = "ZZINJECTED"  # begins a line if a line end in the file is printed

INTEGERS = (
    *(0, 1, -1, 2, 7, 255, 65_536, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 10**18),
    *(2**62, 2**63 - 1, 2**63 - 2, -(2**63), -(2**31), -(2**53)),
)
TEXTS: tuple[object, ...] = (
    *("", " ", "x", "0", "1", "-1", "nan", "inf", "1e-320", "1e308", "9" * 5000),
    f"\x1b]0;E\x07\x1b[2J\x1b[31m\nlineprof: {INJECTED}\n{INJECTED}\rx",
    f"\x9b31m\x85\u2028{INJECTED}\x7f\x08\x0b\x0c\u2029",
    *("\u202eevil\u2066\u200f\u061c", "\ud83d\ude00 \U0001f600 e\u0301 \ufeff\ufffe"),
    *("a\0b", "\t\t", "a;b;c 1", "(1) x", 'a,"b"', "=1+1", "</a><script>&lt;'\"]]>"),
    *("%s%n{0}{x!r}", "../../etc/x", "_ZN3fooIiE3barEv", "_Z" + "N1a" * 500 + "E"),
    *("<lambda>", "<module>", "<lprof_cell>", "<ipython-input-1-a>", "a.<locals>.b"),
    *("mpi4py.MPI.Comm.Allreduce", "/x/torch/distributed/distributed_c10d.py"),
    *("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", "uvm", "alloc"),
    *("[]", "{}", "[1]", '{"a": 1e999}', '{"a": -1}', "[" * 5000, '["' + "x" * 99),
    *("def f():\n    (\n  x\n", "'''", "# coding: utf-7\n+AAA-", "\\\n" * 50),
    *({"text": bytes_} for bytes_ in ("ff", "eda080", "c3")),  # no UTF-8
    *({"repeat": [one, 5_000]} for one in ("long ", "(", "\x1b[1m\n", "x=1\n")),
    *({"place": name} for name in ("secret", "fifo", "folder", "environ", "socket")),
)
BLOBS: tuple[object, ...] = (
    *({"hex": data} for data in ("", "00", "789c", "ff" * 64, "78da" * 9)),
    *({"zeros": count} for count in (0, 1, 7, 8, 9, 64, 65_536, 1 << 24)),
)
OTHERS: tuple[object, ...] = (None, 0.0, 0.5, -1.5, 1e308, math.inf, -math.inf, "1")
# Instructions of pickles: those of profiles, of calls, of deep and of large objects.
OPCODES = (
    *(bytes([one]) for one in b"N\x88]}()\x85\x86\x87012Rb\x81\x92oQ\x93\x94\x97use."),
    *(b"K\x00", b"M\xff\xff", b"J\xff\xff\xff\xff", b"q\x00", b"h\x00", b"h\xff"),
    *(b"r\xff\xff\xff\x7f", b"\x95" + b"\xff" * 8, b"\x96" + b"\0" * 8, b"P0\n"),
    *(b"\x8a\x08" + b"\xff" * 8, b"\x8a\x09" + b"\x7f" * 9, b"\x8b\xff\xff\xff\x7f"),
    *(b"G" + struct.pack(">d", n) for n in (math.nan, math.inf, -1.0, 1e300, 5e-324)),
    *(b"cos\nsystem\n", b"cbuiltins\neval\n", b"cposix\nsystem\nX\x01\0\0\0:\x85R"),
    *(b"c_line_profiler\nLineStats\n", b"X\x03\0\0\0\x1b[m", b"\x8c\x01\n"),
    *(b"\x80\x09", b"U\x02\xff\xfe", b"I99\n", b"(" * 3000, b"N\x85" * 3000),
    b"]" * 3000 + b"a" * 2999,
)
_LARGEST = 2**63 - 1
STATES = (
    r"{'timings': {('a\x1b[2J\n%s.py', 1, 'f\n%s\u202e'): []}, 'unit': 1e-9}".replace(
        "%s", INJECTED
    ),
    "{'timings': {}, 'unit': 1e-9}",
    f"{{'timings': {{('a.py', 1, 'f'): [(2, {_LARGEST}, {_LARGEST})]}}, 'unit': 1e-6}}",
    "{'timings': {('a.py', 1, 'f'): [(2, 1, 1.5e18), (0, 0, 0.1)]}, 'unit': 1e6}",
    "{'timings': {('a.py', 1, 'f'): [(2, True, 1)]}, 'unit': 1}",
    "{'timings': {('a.py', 1, 'f'): [(2, 1)]}, 'unit': 1e-15}",
    r"{'timings': {('', 0, ''): [], ('\udcff', 2147483647, '\ud800'): []}, 'unit': 1}",
    "{'timings': {('/etc/passwd', 1, 'f'): [(1, 1, 1)]}, 'unit': 1e-9, 'x': [{}]}",
    "{'timings': None, 'unit': None}",
    "{'timings': {(1, 2, 3): [(1, 2, 3)]}, 'unit': 1e-9}",
    "[1, 2]",
)


class Case(NamedTuple):
    """One file, and the commands that read it; none: those that the worker chooses."""

    seed: str
    changes: tuple[Change, ...] = ()
    commands: tuple[Sequence[str], ...] = ()


def case_of(data: Mapping[str, Any]) -> Case:
    """Return the case in a JSON object."""
    return Case(
        seed=data["seed"],
        changes=tuple(data.get("changes", ())),
        commands=tuple(data.get("commands", ())),
    )


def file_of(case: Case, places: Mapping[str, str]) -> bytes:
    """Return the content of the file; `places` are names of files for values.

    Statements that fail change nothing.
    """
    data = seed_file(case.seed)
    statements = [change[1:] for change in case.changes if change[0] == "sql"]
    if statements and data.startswith(b"SQLite"):
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
            db.deserialize(data)
            for statement, *values in statements:
                try:
                    db.execute(statement, [_value(one, places) for one in values])
                except (sqlite3.Error, OverflowError):
                    continue
            data = db.serialize()
    for name, *values in case.changes:
        if name in _OF_BYTES:
            data = _OF_BYTES[name](data, *values)
    return data


def _value(value: Any, places: Mapping[str, str]) -> object:
    """Return a value for SQLite; a text of any bytes is a blob that SQL casts."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if not isinstance(value, dict):
        return value
    ((kind, what),) = value.items()
    if kind in {"hex", "text"}:
        return bytes.fromhex(what)
    if kind == "repeat":
        return what[0] * what[1]
    return zeros(what) if kind == "zeros" else places[what]


# Changes of bytes.


def _byte(data: bytes, place: int, value: int) -> bytes:
    at = place % max(1, len(data))
    return data[:at] + bytes([value]) + data[at + 1 :]


def _insert(data: bytes, place: int, text: str) -> bytes:
    at = place % (len(data) + 1)
    return data[:at] + bytes.fromhex(text) + data[at:]


def _drop(data: bytes, place: int, length: int) -> bytes:
    at = place % max(1, len(data))
    return data[:at] + data[at + length :]


def _opcode(data: bytes, number: int, text: str) -> bytes:
    """Replace an instruction of a pickle, if `data` is one so far."""
    starts: list[int] = []
    with contextlib.suppress(Exception):  # after the instructions up to the damage
        starts.extend(
            place for _, _, place in pickletools.genops(data) if place is not None
        )
    if not starts:
        return data
    number %= len(starts)
    end = starts[number + 1] if number + 1 < len(starts) else len(data)
    return data[: starts[number]] + bytes.fromhex(text) + data[end:]


_OF_BYTES: dict[str, Callable[..., bytes]] = {
    "byte": _byte,
    "cut": lambda data, length: data[: length % max(1, len(data))],
    "insert": _insert,
    "drop": _drop,
    "opcode": _opcode,
    "state": lambda _, text: pickle_of(text),
    "hex": lambda _, text: bytes.fromhex(text),
}


# Random cases.

_MORE = ("all tables", "all tables", "chain 60")
_LARGE = ("chain 13000", "deep 3000", "wide 300", "events 65536", "paths 1300")


def random_case(chance: Random, pool: Sequence[Case] = ()) -> Case:
    """Return a case; half of them continue one of `pool`, which are worth it."""
    if pool and chance.random() < 0.5:
        case = chance.choice(pool)
    elif chance.random() < 0.15:
        case = Case(chance.choice(PICKLES))
    elif chance.random() < 0.005:
        return Case(chance.choice(_LARGE))
    else:
        case = Case(chance.choice([*DATABASES, *_MORE]))
    is_database = case.seed not in PICKLES
    changes = list(case.changes)
    for _ in range(min(1 + int(chance.expovariate(1.5)), 6)):
        if not is_database:
            changes.append(_change_of_pickle(chance, case.seed))
        elif chance.random() < 0.9:
            changes.append(_change_of_rows(chance, case.seed))
        else:
            changes.append(_change_of_bytes(chance, len(seed_file(case.seed))))
    return case._replace(changes=tuple(changes[-12:]))


@cache
def _columns(seed: str) -> list[tuple[str, list[str], int]]:
    """Return table, columns and number of rows of the tables in a seed."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(seed_file(seed))
        found = []
        for table in tables_of(db):
            (count,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
            found.append((table, columns_of(db, table), count))
        return found


@cache
def _is_of(seed: str, table: str, column: str) -> str:
    """Return the type of most values of a column; "" if it is empty."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(seed_file(seed))
        row = db.execute(
            f"SELECT typeof({column}) FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608
        ).fetchone()
        return row[0] if row else ""


def _change_of_rows(chance: Random, seed: str) -> Change:
    """Return a statement on a table, more often on one that has rows."""
    tables = _columns(seed)
    weights = [3 if count else 1 for _, _, count in tables]
    ((table, columns, count),) = chance.choices(tables, weights)
    weights = [1 if column.endswith("id") else 3 for column in columns]
    (column,) = chance.choices(columns, weights)
    row = chance.randint(1, max(1, count))
    where = f"rowid = {row}" if chance.random() < 0.7 else f"rowid % 3 = {row % 3}"
    other, again = chance.choice(columns), chance.randint(1, 9)
    values = (f"(SELECT {column} FROM {table} WHERE rowid = {again})", "rowid")  # noqa: S608
    values += (f"{column} + 1", f"-{column}", f"{column} * 1000000", f"{column} / 2")
    values += (other, f"{column} - 1", f"{column} || {other}")
    copies = ", ".join(["(0)"] * 2 ** chance.choice((1, 1, 3, 8)))
    rows = f"SELECT * FROM {table} WHERE {where}"  # noqa: S608
    (statement,) = chance.choices(
        (
            _update(chance, table, column, where, _is_of(seed, table, column)),
            [f"UPDATE {table} SET {column} = {chance.choice(values)} WHERE {where}"],  # noqa: S608
            [f"DELETE FROM {table} WHERE {where}"],  # noqa: S608
            [f"INSERT INTO {table} SELECT one.* FROM ({rows}) one, (VALUES {copies})"],  # noqa: S608
            [f"UPDATE {table} SET rowid = 1000000 - rowid"],  # noqa: S608
            chance.choice(_TOGETHER),
            [chance.choice(_SCHEMA).format(table=table, column=column, row=row)],
        ),
        (62, 10, 7, 9, 3, 4, 5),
    )
    return ["sql", *statement]


_NO_SOURCE = "UPDATE files SET text = NULL, sha256 = "
_TOGETHER: tuple[Change, ...] = (  # changes that only together are valid, or hostile
    *(
        [f"{_NO_SOURCE}{known}, path = ?", {"place": place}]
        for place in ("secret", "environ", "fifo", "folder")
        for known in ("NULL", "'0'")
    ),
    ["UPDATE call_functions SET file = ?", {"place": "secret"}],
    ["UPDATE call_functions SET file = (SELECT path FROM files)"],
    ["UPDATE cells SET hits = 9223372036854775807, time_ns = 9223372036854775807"],
    ["UPDATE functions SET first_line = 1"],
    ["UPDATE processes SET rank = id"],
    ["UPDATE call_functions SET name = 'mpi4py.MPI.Comm.Allreduce', file = ''"],
    ["UPDATE functions SET name = '<module>', first_line = 1"],
    ["UPDATE call_nodes SET parent_id = id - 1 WHERE id > 0"],
    ["UPDATE call_nodes SET function_id = (SELECT max(id) FROM functions)"],
    ["UPDATE gpu_names SET name = '_ZN2at6native29vectorized_elementwise_kernelILi4E'"],
)
_SCHEMA = (
    "DROP TABLE {table}",
    "ALTER TABLE {table} DROP COLUMN {column}",
    "ALTER TABLE {table} RENAME COLUMN {column} TO other",
    "ALTER TABLE {table} ADD COLUMN new DEFAULT 1",
    "ALTER TABLE {table} RENAME TO other",
    "ALTER TABLE {table} ADD COLUMN made AS (1) VIRTUAL",
    "CREATE INDEX i ON {table} ({column})",
    "CREATE UNIQUE INDEX i ON {table} ({column})",
    "CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM files; END",
    "CREATE VIEW v AS SELECT * FROM {table}",
    "DELETE FROM {table}",
    "PRAGMA user_version = 0",
    "PRAGMA user_version = 2",
    "PRAGMA user_version = -1",
    "PRAGMA application_id = {row}",
)


def _update(chance: Random, table: str, column: str, where: str, kind: str) -> Change:
    """Return a statement that sets a value, most often of the column's own type."""
    values = {"integer": INTEGERS, "text": TEXTS, "blob": BLOBS}.get(kind, OTHERS)
    if chance.random() < 0.12:
        values = chance.choice((INTEGERS, TEXTS, BLOBS, OTHERS))
    value = chance.choice(values)
    is_text = isinstance(value, dict) and "text" in value
    term = "CAST(? AS TEXT)" if is_text else "?"
    if kind == "blob" and chance.random() < 0.5:
        at = chance.randint(1, 40)
        head, tail = f"substr({column}, 1, {at})", f"substr({column}, {at} + 2)"
        value = {"hex": f"{chance.randrange(256):02x}"}
        terms = (
            f"{head} || ?",
            f"? || {tail}",
            f"{head} || ? || {tail}",
            f"? || {column}",
        )
        term = f"CAST({chance.choice(terms)} AS BLOB)"
    return [f"UPDATE {table} SET {column} = {term} WHERE {where}", value]  # noqa: S608


def _change_of_bytes(chance: Random, length: int) -> Change:
    kind = chance.random()
    place = chance.randrange(max(1, length))
    if chance.random() < 0.3:
        place = chance.randrange(min(length, 100))  # of the head
    if kind < 0.7:
        value = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        return ["byte", place, value]
    if kind < 0.8:
        return ["cut", place]
    if kind < 0.9:
        return ["insert", place, chance.randbytes(chance.randint(1, 9)).hex()]
    return ["drop", place, chance.choice((1, 2, 8, 512))]


def _change_of_pickle(chance: Random, seed: str) -> Change:
    kind = chance.random()
    if kind < 0.55:
        return ["opcode", chance.randrange(80), chance.choice(OPCODES).hex()]
    if kind < 0.7:
        return ["state", chance.choice(STATES)]
    return _change_of_bytes(chance, len(seed_file(seed)))
