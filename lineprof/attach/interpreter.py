"""The interpreter of a running process: its file, its version, and where it is mapped.

All of it comes from /proc and from ELF files; the process is not touched.
"""

from __future__ import annotations

import os
import re
import stat
from typing import NamedTuple

from lineprof.attach import elf
from lineprof.errors import LineprofError

_FUNCTIONS = ("Py_AddPendingCall", "PyRun_SimpleString")
_VERSION = "Py_Version"  # an unsigned long, from 3.11 on
_FREE_THREADED = "_Py_DecRefShared"  # only builds without the GIL export it
_DEBUG = "_Py_NegativeRefcount"  # and only debug builds this one
_NAMES = (*_FUNCTIONS, _VERSION, _FREE_THREADED, _DEBUG)
_NAMED_VERSION = re.compile(r"python(\d)\.(\d+)(\w*)")
_DELETED = " (deleted)"
UNKNOWN = (0, 0)  # the version of a Python before 3.11 whose file has another name
CODE_BYTES = 16  # of a function, to compare memory with the file
_VERSION_BYTES = 8


class Mapping(NamedTuple):
    """One line of /proc/PID/maps."""

    start: int
    end: int
    permissions: str
    offset: int  # in the file
    device: int
    inode: int  # 0 without a file
    path: str

    @property
    def is_code(self) -> bool:
        """Whether its bytes can be executed."""
        return "x" in self.permissions


class Interpreter(NamedTuple):
    """A Python interpreter in a running process. Addresses are those in the process."""

    pid: int
    version: tuple[int, int]
    file: str  # the ELF file, as the process names it
    bias: int  # the load address less the address in the file
    executable: str
    machine: int  # of elf.py
    is_debug: bool
    is_free_threaded: bool
    add_pending_call: int
    run_simple_string: int
    code: bytes  # the first bytes of Py_AddPendingCall


def find(pid: int) -> Interpreter:
    """Return the one interpreter in a process.

    Raises LineprofError if the process has none or several, or does not exist, and
    PermissionError if its memory may not be read.
    """
    mappings = read_maps(pid)
    files = {m.path: m for m in mappings if m.inode and m.is_code}
    by_name = [path for path in files if "python" in os.path.basename(path).lower()]
    others = [path for path in files if path not in by_name]
    for paths in (by_name, others):
        found = [one for path in paths if (one := _in_file(pid, path, mappings))]
        if len(found) > 1:
            names = " and ".join(one.file for one in found)
            raise LineprofError(
                f"process {pid} has several Python interpreters: {names}",
                hint="profile it from its start with kernprof",
            )
        if found:
            return found[0]
    read_maps(pid)  # raises if it ended meanwhile
    raise LineprofError(
        f"process {pid} ({executable(pid)}) is not Python, or is one that exports no"
        " functions of Python's C API",
        hint="check the number with 'ps'; a launcher has the program as its child",
    )


def executable(pid: int) -> str:
    """Return the path of a process's executable file, '?' if it is unknown."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return "?"


def read_maps(pid: int) -> list[Mapping]:
    """Return the mappings of a process, by address."""
    try:
        with open(f"/proc/{pid}/maps", "rb") as stream:
            text = stream.read()
    except (FileNotFoundError, ProcessLookupError):
        text = b""
    if not text:
        raise LineprofError(f"process {pid} has ended")
    return [_mapping(line) for line in text.splitlines()]


def exported(pid: int, path: str, mappings: list[Mapping], name: str) -> int:
    """Return the address of a name that a mapped file exports, 0 if it has none."""
    own = [mapping for mapping in mappings if mapping.path == path]
    fd = _open(pid, own[0]) if own else -1
    if fd < 0:
        return 0
    try:
        facts = elf.read(fd, (name,))
        address = facts.addresses.get(name)
        return 0 if address is None else _bias(facts, own) + address
    except LineprofError:
        return 0
    finally:
        os.close(fd)


def _mapping(line: bytes) -> Mapping:
    span, permissions, offset, device, inode, *path = line.split(None, 5)
    start, end = (int(part, 16) for part in span.split(b"-"))
    major, minor = (int(part, 16) for part in device.split(b":"))
    return Mapping(
        start=start,
        end=end,
        permissions=permissions.decode(),
        offset=int(offset, 16),
        device=os.makedev(major, minor),
        inode=int(inode),
        path=os.fsdecode(b"".join(path)),
    )


def _in_file(pid: int, path: str, mappings: list[Mapping]) -> Interpreter | None:
    """Return the interpreter that is in the mapped file `path`."""
    own = [mapping for mapping in mappings if mapping.path == path]
    fd = _open(pid, own[0])
    if fd < 0:
        return None
    try:
        facts = elf.read(fd, _NAMES)
        if not all(name in facts.addresses for name in _FUNCTIONS):
            return None
        return _interpreter(pid, fd, facts, own)
    except LineprofError as error:
        if "python" not in os.path.basename(path).lower():
            return None  # data, or a library that is no concern of ours
        raise LineprofError(f"{path} of process {pid}: {error.message}") from error
    finally:
        os.close(fd)


def _open(pid: int, mapping: Mapping) -> int:
    """Return a descriptor of the file that is mapped, below 0 if it cannot be read.

    A container has other files at the same paths, and an update replaces files: the
    inode tells. Some file systems (overlayfs, btrfs) have another device in `maps`
    than in `stat`, so that the device decides only where it can.
    """
    places = [f"/proc/{pid}/map_files/{mapping.start:x}-{mapping.end:x}"]
    if not mapping.path.endswith(_DELETED):
        places[:0] = [f"/proc/{pid}/root{mapping.path}", mapping.path]
    similar = -1
    for place in places:
        try:
            fd = _open_regular(place)
        except OSError:
            continue
        status = os.fstat(fd)
        if (status.st_ino, status.st_dev) == (mapping.inode, mapping.device):
            if similar >= 0:
                os.close(similar)
            return fd
        if status.st_ino == mapping.inode and similar < 0:
            similar = fd
        else:
            os.close(fd)
    return similar


def _open_regular(path: str) -> int:
    """Return a descriptor of a regular file; OSError.

    Another file, to which the process may have let its path lead, is not opened: that
    does something to some devices.
    """
    found = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(found).st_mode):
            raise FileNotFoundError(path)
        return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(found)


def _interpreter(
    pid: int, fd: int, facts: elf.Elf, mappings: list[Mapping]
) -> Interpreter:
    path = mappings[0].path.removesuffix(_DELETED)
    bias = _bias(facts, mappings)
    named = _NAMED_VERSION.search(os.path.basename(path))
    flags = named[3] if named else ""
    add = facts.addresses["Py_AddPendingCall"]
    code = elf.bytes_at(fd, facts, add, CODE_BYTES)
    try:
        in_memory = read_memory(pid, bias + add, CODE_BYTES)
    except PermissionError:
        in_memory = code  # compared again before anything is called
    if code != in_memory:
        raise LineprofError("the file is not the one that the process runs")
    return Interpreter(
        pid=pid,
        version=_version(fd, facts, named),
        file=path,
        bias=bias,
        executable=executable(pid),
        machine=facts.machine,
        is_debug="d" in flags or _DEBUG in facts.addresses,
        is_free_threaded="t" in flags or _FREE_THREADED in facts.addresses,
        add_pending_call=bias + add,
        run_simple_string=bias + facts.addresses["PyRun_SimpleString"],
        code=code,
    )


def _bias(facts: elf.Elf, mappings: list[Mapping]) -> int:
    """Return the load address less the address in the file, a multiple of a page."""
    page = os.sysconf("SC_PAGE_SIZE")
    for segment in facts.segments[:1]:
        into = segment.offset % page
        for mapping in mappings:
            if mapping.offset == segment.offset - into:
                return mapping.start - (segment.address - into)
    raise LineprofError("its first segment is not mapped")


def _version(fd: int, facts: elf.Elf, named: re.Match[str] | None) -> tuple[int, int]:
    """Return major and minor version, which before 3.11 only the file's name has."""
    if _VERSION in facts.addresses:
        at = facts.addresses[_VERSION]
        value = int.from_bytes(elf.bytes_at(fd, facts, at, _VERSION_BYTES), "little")
        return value >> 24 & 0xFF, value >> 16 & 0xFF
    return (int(named[1]), int(named[2])) if named else UNKNOWN


def read_memory(pid: int, address: int, size: int) -> bytes:
    """Return bytes of a process's memory; OSError if they are not to be read."""
    fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(fd, size, address)
    finally:
        os.close(fd)
