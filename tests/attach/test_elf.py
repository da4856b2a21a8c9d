"""ELF files: names that they export, and files that are damaged."""

from __future__ import annotations

import os
import random
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lineprof.attach import elf, interpreter
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="ELF files are those of Linux"
)
NAMES = ("Py_AddPendingCall", "PyRun_SimpleString", "Py_Version")


@pytest.fixture(scope="module")
def python() -> Iterator[int]:
    """Yield a descriptor of the file that has this interpreter."""
    descriptor = os.open(interpreter.find(os.getpid()).file, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def read_bytes(folder: Path, data: bytes) -> elf.Elf:
    """Read a file of these bytes."""
    path = folder / "file"
    path.write_bytes(data)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return elf.read(descriptor, ("first", "st"))
    finally:
        os.close(descriptor)


def small_file(*, machine: int = elf.X86_64) -> bytes:
    """Return a file that exports `first` at 0x1000, and `st`, its end, at 0x2000.

    It imports a name `first` as well.
    """
    strings = b"\0first\0"
    symbols = b"".join(
        struct.pack("<IBBHQQ", name, 0x12, 0, section, value, 0)
        for name, section, value in (
            (0, 0, 0),
            (1, 0, 9),
            (1, 1, 0x1000),
            (4, 1, 0x2000),
        )
    )
    program = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0, 64, 64, 4096)
    at = 64 + len(program)
    sections = b"".join(
        struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, offset, size, link, 0, 1, 24)
        for kind, offset, size, link in (
            (11, at, len(symbols), 1),
            (3, at + len(symbols), len(strings), 0),
        )
    )
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01",
        elf.SHARED,
        machine,
        *(1, 0, 64, at + len(symbols) + len(strings), 0, 64, 56, 1, 64, 2, 1),
    )
    return header + program + symbols + strings + sections


def test_addresses_and_segments_of_a_file(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, small_file()) == elf.Elf(
        machine=elf.X86_64,
        type=elf.SHARED,
        segments=(elf.Segment(offset=0, address=0x400000, size=64),),
        addresses={"first": 0x1000, "st": 0x2000},
    )
    assert read_bytes(tmp_path, small_file(machine=elf.AARCH64)).machine == elf.AARCH64


def test_the_interpreter_of_this_test_and_its_version(python: int) -> None:
    facts = elf.read(python, (*NAMES, "no such name"))
    assert sorted(facts.addresses) == sorted(NAMES)
    number = elf.bytes_at(python, facts, facts.addresses["Py_Version"], 8)
    assert int.from_bytes(number, "little") == sys.hexversion
    found = interpreter.find(os.getpid())
    assert found.version == sys.version_info[:2]
    assert found.is_free_threaded == ("t" in sys.abiflags)
    assert Path(found.executable).samefile(sys.executable)


def test_an_address_outside_of_the_file_is_an_error(python: int) -> None:
    facts = elf.read(python, ())
    last = facts.segments[-1]
    for address in (last.address + last.size - 4, 1 << 60, -1):
        with pytest.raises(LineprofError, match="outside of the file"):
            elf.bytes_at(python, facts, address, 8)


@pytest.mark.parametrize(
    "data", [b"", b"#!/bin/sh\n" * 20, b"\x7fELF\x01\x01" + bytes(100), b"\x7fELF\2\2"]
)
def test_other_files_are_an_error(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(LineprofError):
        read_bytes(tmp_path, data)


def test_a_truncated_file_is_an_error_at_each_length(tmp_path: Path) -> None:
    whole = small_file()
    for length in range(len(whole)):
        with pytest.raises(LineprofError):
            read_bytes(tmp_path, whole[:length])


@pytest.mark.once
def test_a_damaged_file_is_an_error_or_has_other_addresses(tmp_path: Path) -> None:
    whole = small_file()
    choice = random.Random(1)  # noqa: S311  # guards nothing
    for _ in range(3000):
        data = bytearray(whole)
        for _ in range(choice.randrange(1, 5)):
            data[choice.randrange(len(data))] = choice.choice((0, 1, 127, 128, 255))
        try:
            assert read_bytes(tmp_path, bytes(data))
        except LineprofError as error:
            assert error.message  # noqa: PT017


def test_the_name_of_a_mapped_file_may_have_blanks() -> None:
    line = b"7f00-7f10 r-xp 00001000 fd:01 77 /a file (deleted)"
    assert interpreter._mapping(line) == interpreter.Mapping(
        start=0x7F00,
        end=0x7F10,
        permissions="r-xp",
        offset=0x1000,
        device=os.makedev(0xFD, 1),
        inode=77,
        path="/a file (deleted)",
    )
