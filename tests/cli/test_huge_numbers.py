"""Numbers near the end of 64 bits: sums beyond it are exact, or refused in one line."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from damaged_files import execute
from hostile_files import full_profile

from lineprof.cli.main import main
from lineprof.errors import LineprofError
from lineprof.export import EXPORTS
from lineprof.report import VIEWS
from lineprof.storage import load, save
from lineprof.storage.schema import TABLES
from lineprof.storage.schema_gpu import OPTIONAL_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.once  # sums of fixed numbers


MOST = 2**63 - 1

COMMANDS = [
    *(
        ["view", *([] if name == "text" else [f"--{name}"])]
        for name, view in VIEWS.items()
        if view.value is None or view.value.attribute == "lines"
    ),
    ["view", "-u", "auto", "-m", "--columns", "min,max,cpu,wait,python,native"],
    ["view", "-u", "1e-9", "--raw", "--gpu-columns", "all", "--top-kernels", "9"],
    ["view", "--gpu-trace", "--csv", "--occupancy"],
    ["view", "--gpu-summary", "--csv"],
    ["view", "--drill", "*fit*", "--depth", "9", "--min-percent", "0"],
    ["view", "--callers", "fib"],
    *(["export", "-o", "-", "-f", name] for name in EXPORTS),
]

# Their numbers have 64 bits.
BINARY = {"sqlite", "pprof", "perfetto"}


def integer_columns() -> Iterator[str]:
    """Yield an UPDATE to MOST of each column of integers in the schema."""
    for table in (*TABLES, *(one for group in OPTIONAL_TABLES for one in group)):
        for column in table.columns:
            if column.kind is int and column.name != "id":
                yield f"UPDATE {table.name} SET {column.name} = {MOST}"  # noqa: S608


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Give a file with rows in every table."""
    file = tmp_path_factory.mktemp("content") / "one.lprof"
    save(full_profile(), file)
    return file.read_bytes()


@pytest.fixture(scope="module")
def accepted(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Give those changes of the file with which it can be read."""
    found = []
    file = tmp_path_factory.mktemp("accepted") / "one.lprof"
    for change in integer_columns():
        file.write_bytes(content)
        execute(file, change)
        try:
            load(file)
        except LineprofError:
            continue
        found.append(change)
    return found


def check_all(
    file: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    commands: list[list[str]] = COMMANDS,
) -> dict[str, bytes]:
    """Run all views and exports: each has output, or one line that says why not."""
    found = {}
    for command in commands:
        status = main([*command, str(file)])
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        if command[0] == "export" and command[-1] in BINARY and status:
            assert status == 1
            (line,) = err.decode().splitlines()
            assert "64 bits" in line
            assert "; " in line
        else:
            assert (status, bool(out)) == (0, True), (command, err)
        found[" ".join(command)] = out
    return found


def test_every_number_may_be_the_greatest(
    content: bytes,
    accepted: list[str],
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert "UPDATE cells SET hits = 9223372036854775807" in accepted
    file = tmp_path / "all.lprof"
    file.write_bytes(content)
    execute(file, *accepted)
    check_all(file, capfdbinary)


@pytest.mark.parametrize("name", sorted(BINARY))
def test_each_number_alone_may_be_the_greatest(
    content: bytes,
    accepted: list[str],
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    name: str,
) -> None:
    """All at once have one error: the first number beyond 64 bits is refused."""
    file = tmp_path / "one.lprof"
    for change in accepted:
        file.write_bytes(content)
        execute(file, change)
        check_all(file, capfdbinary, [["export", "-o", "-", "-f", name]])


def test_sums_of_threads_and_files_are_exact(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "a.lprof"
    save(full_profile(), file)
    execute(
        file,
        f"UPDATE cells SET hits = {MOST}, time_ns = {MOST}",  # noqa: S608
        "INSERT INTO cells SELECT function_id, line, "  # noqa: S608
        "(SELECT max(id) FROM threads WHERE id IS NOT thread_id),"
        f"{MOST - 1}, {MOST - 2}, await_ns, raw_ns, min_ns, max_ns FROM cells",
    )
    out = check_all(file, capfdbinary)
    assert main(["view", "--json", str(file), str(file)]) == 0
    twice = json.loads(capfdbinary.readouterr().out)
    for text, times in ((json.loads(out["view --json"]), 1), (twice, 2)):
        lines = [line for one in text["functions"] for line in one["lines"]]
        hits = {line["hits"] for line in lines}
        assert times * (MOST + MOST - 1) in hits
        assert times * (MOST + MOST - 2) in {line["time_ns"] for line in lines}
    csv = out["export -o - -f csv"].decode()
    assert f",{MOST + MOST - 1},{MOST + MOST - 2}," in csv
    assert main(["export", "-f", "sqlite", "-o", "-", str(file)]) == 1
    assert capfdbinary.readouterr().err.endswith(
        b" is beyond the 64 bits of a number in the file;"
        b" choose another format: csv and json are exact\n"
    )
