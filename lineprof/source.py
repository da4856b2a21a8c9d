"""The source of a profile: the lines of its files, and the functions in them."""

from __future__ import annotations

import ast
import inspect
import os
import tempfile
from token import NAME
from types import FunctionType

from lineprof.source_file import read_source, text_hash
from lineprof.source_text import disk_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from lineprof.records import SourceFile

_WITH = ("with ", "with(", "with\t", "async with ")
_NO_WITH = frozenset({None, "<lambda>"})  # what may stand on the line of a `with`
_WHOLE = frozenset({"<module>", "<lprof_cell>"})  # what runs the lines of a whole file


def changed(source: SourceFile) -> bool:
    """Tell whether the file on disk is another text than that of the profile.

    False where either is unknown: nothing can be said.
    """
    if source.text is None and not source.sha256:
        return False
    text = disk_text(source.file)
    if text is None:
        return False
    if source.text is not None:
        return text != source.text
    return text_hash(text) != source.sha256


def lines_of(text: str) -> list[str]:
    """Return the lines of `text` as Python counts them, without their ends."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if not lines[-1] else lines


def block(text: str, first_line: int, name: str | None = None) -> list[str]:
    """Return the lines of the function, class or lambda that starts there.

    With the name of what starts there it may be a ``with`` statement, too. Any
    text will do: what Python cannot tokenize is cut by its indentation.
    """
    return block_of(lines_of(text), first_line, name)


def start_of_with(text: str, line: int) -> int:
    """Return where the ``with`` statement starts that has a manager on `line`.

    From Python 3.13 on, a frame that enters a manager is on the manager's line.
    `line` is returned where no such statement started before it.
    """
    if "".join(lines_of(text)[line - 1 : line]).lstrip().startswith(_WITH):
        return line
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return line
    for node in nodes:
        if isinstance(node, (ast.With, ast.AsyncWith)):
            managers = [item.context_expr for item in node.items]
            if any(one.lineno <= line <= (one.end_lineno or 0) for one in managers):
                return node.lineno
    return line


def get_code_block(filename: str | os.PathLike[str], lineno: int) -> list[str]:
    r"""Return the block of a file that starts at a line, each line with its ``\n``.

    None are returned where the file or the line cannot be found.
    """
    found = Sources({}).block(os.fspath(filename), lineno)
    return [f"{line}\n" for line in found or ()]


_MOSTLY_ENOUGH = 300  # lines: of what comes after a function, most is not looked at


def block_of(
    lines: Sequence[str], first_line: int, name: str | None = None
) -> list[str]:
    """Return the block of `lines` that starts at `first_line`: see `block`."""
    start = first_line - 1
    for end in (start + _MOSTLY_ENOUGH, len(lines)):
        rest = lines[start:end]
        is_with = rest and name not in _NO_WITH and rest[0].lstrip().startswith(_WITH)
        try:
            getblock = _with_block if is_with else _getblock
            found = getblock([f"{line}\n" for line in rest])
        except Exception:  # noqa: BLE001  # depends on the version: SystemError, too
            found = None
        if found is not None and (len(found) < len(rest) or end >= len(lines)):
            return [line.rstrip("\n") for line in found]
    return _indented(rest)


class _BlockFinder(inspect.BlockFinder):
    """Takes what Cython calls a function or class for one, too."""

    words = frozenset({"cdef", "cpdef", "property"})

    def tokeneater(self, type: int, token: str, *place: Any) -> None:  # noqa: A002, ANN401
        """Take one token."""
        if not self.started and type == NAME and token in self.words:
            token = "def"  # noqa: S105
        super().tokeneater(type, token, *place)


class _WithFinder(_BlockFinder):
    """Takes a ``with`` statement for a function, too."""

    words = _BlockFinder.words | {"with"}


def _using(finder: type[_BlockFinder]) -> Callable[[list[str]], list[str]]:
    """Return `inspect.getblock` with another finder than its own."""
    names = {**vars(inspect), "BlockFinder": finder}
    return FunctionType(inspect.getblock.__code__, names)


_getblock, _with_block = _using(_BlockFinder), _using(_WithFinder)


def _indented(lines: Sequence[str]) -> list[str]:
    """Return the first line and those after it that are indented deeper."""

    def indent(line: str) -> int:
        return len(line) - len(line.lstrip())

    end = next(
        (
            index
            for index, line in enumerate(lines)
            if index and line.strip() and indent(line) <= indent(lines[0])
        ),
        len(lines),
    )
    while end and not lines[end - 1].strip():
        end -= 1
    return list(lines[:end])


def is_generated_code(filename: str) -> bool:
    """Tell whether the name is one that notebooks and code generators give."""
    folder = tempfile.gettempdir()
    notebooks = [os.path.join(folder, name) for name in ("ipykernel_", "xpython_")]
    return filename.startswith(("<generated", "<ipython-input-", *notebooks))


class Sources:
    """The source of a profile's functions: what was kept first, then the disk."""

    def __init__(self, kept: Mapping[str, SourceFile]) -> None:
        """Take the texts that the profile has."""
        self._kept = kept
        self._files: dict[str, list[str] | None] = {}
        self._blocks: dict[tuple[str, int, str | None], list[str] | None] = {}

    def lines(self, file: str) -> list[str] | None:
        """Return the lines of a file; None where the file cannot be found."""
        if file not in self._files:
            kept = self._kept.get(file)
            text = kept.text if kept else None
            if text is None:
                text = read_source(file).text
            if text is None and (os.path.exists(file) or is_generated_code(file)):
                text = ""
            self._files[file] = None if text is None else lines_of(text)
        return self._files[file]

    def line(self, file: str, number: int) -> str | None:
        """Return one line without its end; None where there is none."""
        lines = self.lines(file) or []
        return lines[number - 1] if 0 < number <= len(lines) else None

    def block(
        self, file: str, first_line: int, name: str | None = None
    ) -> list[str] | None:
        """Return the lines of the function `name` that starts there, or None.

        Those of a module or a notebook's cell are all from there on. None is as
        for `lines`.
        """
        whole = name in _WHOLE
        key = (file, first_line, name)
        if key not in self._blocks:
            lines = self.lines(file)
            if lines is None or whole:
                self._blocks[key] = lines and lines[first_line - 1 :]
            else:
                self._blocks[key] = block_of(lines, first_line, name)
        return self._blocks[key]
