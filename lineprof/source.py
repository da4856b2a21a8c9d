"""The source of a profile: the lines of its files, and the functions in them."""

from __future__ import annotations

import ast
import hashlib
import inspect
import io
import linecache
import os
import stat
import sys
import tempfile
import tokenize
from token import NAME
from types import FunctionType
from typing import TYPE_CHECKING

from lineprof.model.records import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

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


# A source file as a profile keeps it: its text, and what tells it from others.


def read_source(file: str) -> SourceFile:
    """Return `file`, a code object's file name, with its text: see `text_of`."""
    text = text_of(file)
    return SourceFile(
        file=file, text=text, sha256="" if text is None else text_hash(text)
    )


def text_hash(text: str) -> str:
    """Return the SHA-256 of `text` in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# What few sources need: an encoding of their own, or the loader of their module.


def declared(data: bytes) -> str:
    """Return the encoding that source `data` declares, or raise SyntaxError."""
    return tokenize.detect_encoding(io.BytesIO(data).readline)[0]


def loaded_text(file: str) -> str | None:
    """Return the text that the module's loader has, or that `sys.path` leads to."""
    try:
        spaces = [getattr(module, "__dict__", {}) for module in [*sys.modules.values()]]
        names = next((d for d in spaces if d.get("__file__") == file), None)
        return "".join(linecache.getlines(file, names)) or None
    except Exception:  # noqa: BLE001  # modules and loaders are anyone's code
        return None


# The text of a source file, from wherever Python got it.


_MARK = b"\xef\xbb\xbf"  # some editors put it before UTF-8
_MOST_BYTES = 1 << 26  # of one source file; what is bigger is data


def text_of(file: str) -> str | None:
    """Return the text of `file`, a code object's file name; None if there is none.

    Looked for in this order: what was entered into `linecache` without a file
    (notebook cells, doctests), the disk, the loader of the module (zip files),
    and for a relative name the folders of `sys.path`. Never raises.
    """
    text = _entered_text(file)
    if text is None:
        text = disk_text(file)
    if text is None and not os.path.exists(file):  # linecache would wait for a FIFO
        text = loaded_text(file)
    return text


def file_state(file: str) -> tuple[int, ...] | None:
    """Return what tells a file's content from another; None where it is no file's.

    Of a name that a program entered into `linecache`, too.
    """
    if file in getattr(sys.modules.get("linecache"), "cache", {}):
        return None
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev)


def disk_text(file: str) -> str | None:
    r"""Return the text of a regular file, in the encoding it declares, or None.

    Line ends are those of Python (``\n``). Bytes that are not of the
    encoding come as backslash escapes.
    """
    try:
        status = os.stat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return None
        with open(file, "rb") as stream:
            return _decoded(stream.read())
    except (OSError, ValueError):  # ValueError: a name with a null character
        return None


def _decoded(data: bytes) -> str:
    """Return source `data` as text, in the encoding that it declares."""
    try:
        if any(b"coding" in line for line in data.split(b"\n", 2)[:2]):
            text = data.decode(declared(data))
        else:
            text = data.removeprefix(_MARK).decode()
    except (SyntaxError, ValueError, LookupError):
        text = data.decode("utf-8", "backslashreplace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _entered_text(file: str) -> str | None:
    """Return what a program put into `linecache` for a name without a file."""
    entries = getattr(sys.modules.get("linecache"), "cache", {})  # or not yet imported
    entry = entries.get(file)
    if entry is None or len(entry) == 1 or entry[1] is not None:
        return None
    return "".join(entry[2])
