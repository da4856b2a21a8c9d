"""Live files with chosen bytes changed: all readers read them, or say so."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import viewer, write
from memory_program import ON_LINUX

from lineprof.errors import LineprofError
from lineprof.line_stats import LineStats
from lineprof.live.reading import Program
from lineprof.snapshot.live_file import profile_of_counts, read_counts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.once  # bytes of files are the same with each Python
PROGRAM = """
    import os, signal, threading
    def fib(n):
        return 1 if n < 2 else fib(n - 1) + fib(n - 2)
    def numbers():
        yield 1
    def main():
        fib(4)
        sorted(numbers(), key=lambda x: x)
        thread = threading.Thread(target=fib, args=(3,))
        thread.start()
        thread.join()
        os.kill(os.getpid(), signal.SIGKILL)
    main()
    """
HEAD = 64  # bytes of the head of a block: see csrc/record/live_file.h
_SCALE = 112  # offset of the length of a tick in the file
COUNTERS, NODES, SITES = 5, 7, 8  # kinds of blocks
ROWS_AT, SITES_AT = 16 * 1024, 64 * 1024  # parts of a block of sites
NODE, NODE_KIND = 144, 140  # bytes of a node, and the offset of its kind
EXTREMES = (0, 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Give the live file of a program that was killed."""
    folder = tmp_path_factory.mktemp("killed")
    write(folder, "killed.py", PROGRAM)
    words = [sys.executable, "-m", "kernprof", "-lq", "--memory", "killed.py"]
    env = {**os.environ, "LINEPROF_LIVE": str(folder / "live")}
    subprocess.run(words, cwd=folder, env=env, check=False)
    [path] = (folder / "live").glob("*.live")
    return path.read_bytes()


def blocks(content: bytes, kind: int) -> Iterator[range]:
    """Yield the bytes in use of each block of a kind, its head left out."""
    offset = 0
    while content[offset : offset + 4] == b"llpb":
        found, size, used = struct.unpack_from("<IQQ", content, offset + 4)
        if found == kind:
            yield range(offset + HEAD, offset + used)
        offset += size


class Reader:
    """All ways to read a live file in which some numbers were changed."""

    def __init__(self, content: bytes, folder: Path) -> None:
        self._content = content
        self._folder = folder
        self.refused = 0

    def read(self, *changes: tuple[int, str, int]) -> None:
        """Read the file with the changes: at which byte, in which format, to what."""
        data = bytearray(self._content)
        for place, kind, value in changes:
            struct.pack_into(kind, data, place, value)
        path = self._folder / "damaged.live"
        path.write_bytes(data)
        for read in (self._sample, self._profile):
            try:
                read(str(path))
            except LineprofError:
                self.refused += 1

    @staticmethod
    def _sample(path: str) -> None:
        """Read it as `lineprof top` does."""
        program = Program(path)
        try:
            program.sample()
        finally:
            program.close()

    def _profile(self, path: str) -> None:
        """Read it as `lineprof recover` does."""
        stats = LineStats.of(profile_of_counts(read_counts(path)))
        stats.to_file(str(self._folder / "recovered.lprof"))


@pytest.fixture
def reader(content: bytes, tmp_path: Path) -> Reader:
    """Give a reader of the file."""
    return Reader(content, tmp_path)


def test_a_header_may_have_any_numbers(reader: Reader) -> None:
    for place in range(HEAD, 144, 4):
        for value in EXTREMES:
            reader.read((place, "<Q", value))
    assert reader.refused


@pytest.mark.seldom
@pytest.mark.parametrize(
    ("ns_per_tick", "values"),
    [(1, (2**62, 2**63 - 1)), (41, (2**62,))],  # a greater one is refused as well
)
def test_counters_and_nodes_may_have_any_numbers(
    content: bytes, reader: Reader, ns_per_tick: int, values: tuple[int, ...]
) -> None:
    scale = (_SCALE, "<Q", ns_per_tick << 32)
    for kind in (COUNTERS, NODES):
        [*found] = blocks(content, kind)
        assert found
        for block in found:
            for place in block[:512:8]:
                for value in values:
                    reader.read(scale, (place, "<Q", value))
    assert reader.refused


def test_nodes_may_be_of_any_kind(content: bytes, reader: Reader) -> None:
    [*found] = blocks(content, NODES)
    kinds = [place for block in found for place in block[NODE_KIND::NODE]]
    assert {struct.unpack_from("<I", content, place) for place in kinds} == {(0,)}
    assert len(kinds) == sum(map(len, found)) // NODE
    for place in kinds:
        for value in (1, 2, 3, 2**32 - 1):
            reader.read((place, "<I", value))


@pytest.mark.seldom
def test_half_a_number_of_a_node_may_have_any_bits(
    content: bytes, reader: Reader
) -> None:
    for block in blocks(content, NODES):
        for place in block[:320:4]:
            for value in (1, 2**32 - 1):
                reader.read((place, "<I", value))


@ON_LINUX
def test_memory_and_call_paths_may_have_any_numbers(
    content: bytes, reader: Reader
) -> None:
    [block] = blocks(content, SITES)
    start = block.start - HEAD
    parts = ((HEAD, 72), (ROWS_AT, 60), (SITES_AT, 128), (SITES_AT + 512, 128))
    for offset, size in parts:
        for place in range(start + offset, start + offset + size, 4):
            for value in (2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1):
                reader.read((place, "<Q", value))
    assert reader.refused


def test_a_damaged_file_is_refused_in_one_line(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytearray(content)
    struct.pack_into("<Q", data, _SCALE, 2**64 - 1)
    folder = tmp_path / "live"
    folder.mkdir(mode=0o700)
    (folder / "1-0123456789ab.live").write_bytes(data)
    monkeypatch.setenv("LINEPROF_LIVE", str(folder))
    done = viewer("recover", cwd=tmp_path)
    said = "it has times that no program takes: it is damaged"
    assert done.err.count(said) == 1
    assert "Traceback" not in done.err
