"""Many texts that grow side by side, in a bounded memory."""

from __future__ import annotations

from tempfile import TemporaryFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator
    from typing import IO

_MOST = 1 << 22  # characters in memory; above that they go to a file
_READ = 1 << 18  # bytes that are read at once


class Pieces:
    """Texts by key, each of pieces that come one after the other.

    What JSON wants in one array after the other comes for all of them at once,
    and there may be too much of it to keep.
    """

    def __init__(self) -> None:
        self._new: dict[Hashable, list[str]] = {}
        self._size = 0
        self._file: IO[bytes] | None = None
        self._places: dict[Hashable, list[tuple[int, int]]] = {}  # start, length

    def add(self, key: Hashable, piece: str) -> None:
        """Put a piece, in ASCII, at the end of a text."""
        self._new.setdefault(key, []).append(piece)
        self._size += len(piece)
        if self._size > _MOST:
            self._spill()

    def take(self, key: Hashable) -> Iterator[bytes]:
        """Yield a text."""
        for start, length in self._places.pop(key, ()):
            assert self._file is not None  # noqa: S101  # it has these places
            for at in range(start, start + length, _READ):
                self._file.seek(at)
                yield self._file.read(min(_READ, start + length - at))
        yield "".join(self._new.pop(key, ())).encode()

    def close(self) -> None:
        """Forget all."""
        self._new.clear()
        if self._file is not None:
            self._file.close()

    def _spill(self) -> None:
        """Write to the file what is in memory."""
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115  # `close` does it
        at = self._file.seek(0, 2)
        for key, pieces in self._new.items():
            data = "".join(pieces).encode()
            self._file.write(data)
            self._places.setdefault(key, []).append((at, len(data)))
            at += len(data)
        self._new.clear()
        self._size = 0
