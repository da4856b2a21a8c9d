"""ELF files: addresses of exported names, and bytes at an address.

Files of other users may be read, so each offset and size in a file is checked against
the size of the file. Files of 64 bits in little-endian order are understood: those of
x86-64 and aarch64.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, NamedTuple

from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

X86_64, AARCH64 = 62, 183  # e_machine
EXECUTABLE, SHARED = 2, 3  # e_type

_IDENTITY = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_HEADER = struct.Struct("<16xHH4xQQQ6xHHHHH")
_PROGRAM_HEADER = struct.Struct("<I4xQQ8xQ16x")
_SECTION_HEADER = struct.Struct("<4xI8xQQQI20x")
_SYMBOL = struct.Struct("<IBxHQ8x")
_PT_LOAD, _SHT_DYNSYM = 1, 11
_TABLE_LIMIT = 1 << 28  # bytes; the largest libraries have tables of 2 ** 27


class Segment(NamedTuple):
    """One PT_LOAD: a part of the file that is mapped into memory."""

    offset: int  # in the file
    address: int  # before the bias is added
    size: int  # bytes in the file


class Elf(NamedTuple):
    """Facts of an ELF file."""

    machine: int
    type: int
    segments: tuple[Segment, ...]  # in the order of the file
    addresses: dict[str, int]  # of exported names, before the bias is added


def read(fd: int, names: Collection[str]) -> Elf:
    """Return the facts of the ELF file `fd`, with the addresses of `names`.

    Names that the file does not export are left out. Raises LineprofError if the file
    is damaged, or is of another kind.
    """
    header = _read(fd, 0, _HEADER.size)
    if not header.startswith(_IDENTITY):
        raise LineprofError("it is not an ELF file of 64 bits in little-endian order")
    (kind, machine, _entry, programs_at, sections_at, programs_size, programs,
     sections_size, sections, _names) = _HEADER.unpack(header)  # fmt: skip
    if programs_size != _PROGRAM_HEADER.size or (
        sections and sections_size != _SECTION_HEADER.size
    ):
        raise LineprofError("its ELF header is damaged")
    table = _read(fd, programs_at, programs * _PROGRAM_HEADER.size)
    found = tuple(
        Segment(offset=offset, address=address, size=size)
        for type_, offset, address, size in _PROGRAM_HEADER.iter_unpack(table)
        if type_ == _PT_LOAD
    )
    table = _read(fd, sections_at, sections * _SECTION_HEADER.size)
    addresses: dict[str, int] = {}
    headers = list(_SECTION_HEADER.iter_unpack(table))
    for type_, _address, offset, size, link in headers:
        if type_ == _SHT_DYNSYM:
            if link >= len(headers):
                raise LineprofError("its table of dynamic symbols is damaged")
            strings = _read(fd, headers[link][2], headers[link][3])
            wanted = dict(_offsets(strings, names))
            if wanted:
                addresses |= _addresses(_read(fd, offset, size), wanted)
    return Elf(machine=machine, type=kind, segments=found, addresses=addresses)


def bytes_at(fd: int, elf: Elf, address: int, size: int) -> bytes:
    """Return `size` bytes at an address before the bias; LineprofError outside."""
    for segment in elf.segments:
        start = address - segment.address
        if 0 <= start <= segment.size - size:
            return _read(fd, segment.offset + start, size)
    raise LineprofError("an address is outside of the file")


def _offsets(strings: bytes, names: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield offset and name: a linker lets a name begin inside of a longer one."""
    for name in names:
        text = name.encode() + b"\0"
        at = strings.find(text)
        while at >= 0:
            yield at, name
            at = strings.find(text, at + 1)


def _addresses(symbols: bytes, wanted: dict[int, str]) -> dict[str, int]:
    """Return the addresses of the names that are at the offsets of `wanted`."""
    whole = len(symbols) - len(symbols) % _SYMBOL.size
    return {
        wanted[name]: value
        for name, _info, section, value in _SYMBOL.iter_unpack(symbols[:whole])
        if name in wanted and section  # 0: imported
    }


def _read(fd: int, offset: int, size: int) -> bytes:
    """Return bytes of the file; LineprofError if it does not have all of them."""
    if size > _TABLE_LIMIT or offset + size > os.fstat(fd).st_size:
        raise LineprofError("the ELF file is truncated, or damaged")
    data = b""
    while len(data) < size:
        try:
            part = os.pread(fd, size - len(data), offset + len(data))
        except OSError as error:
            raise LineprofError(f"the ELF file cannot be read: {error}") from error
        if not part:
            raise LineprofError("the ELF file is truncated, or damaged")
        data += part
    return data
