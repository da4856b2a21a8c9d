"""Source lines of a profile: its files' text, and the blocks of their functions."""

from __future__ import annotations

import os
import warnings
from functools import lru_cache
from token import NAME
from types import FunctionType
from typing import TYPE_CHECKING, Any

from lineprof.later import Later
from lineprof.model.records import SourceFile
from lineprof.source_files import (
    disk_text,
    linecache_text,
    lines_of,
    text_hash,
    text_of,
)

if TYPE_CHECKING:
    import ast
    import inspect
    import tempfile
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lineprof.model.profile import Profile
else:  # each takes some ms, and a run that only writes its profile needs none
    ast, inspect, tempfile = map(Later, ("ast", "inspect", "tempfile"))

_PYTHON = (".py", ".pyw")  # ends of names of source that has to be valid Python
_CYTHON = (".pyx", ".pxd", ".pxi")  # ends of names of source that Python cannot parse
_MAX_CHECKED = 1 << 28  # characters of one profile's files: more take seconds
_COST_OF_PARSING = 32  # of a character, if that of hashing is 1
_WITH = ("with ", "with(", "with\t", "async with ")
_NEVER_WITH = frozenset({None, "<lambda>"})  # names of blocks that are no `with`
# The block of a function whose text a profile leaves out; an empty list is one that
# begins after the end of its file.
LEFT_OUT: tuple[str, ...] = ()
WHOLE_FILE = frozenset({"<module>", "<lprof_cell>"})  # code of all lines of a file


# A source file as a profile keeps it.


def read_source(file: str) -> SourceFile:
    """Return `file`, a code object's file name, with its text: see `text_of`."""
    return source_file(file, text_of(file))


def source_file(file: str, text: str | None) -> SourceFile:
    """Return a file with its text, None if it has none."""
    found = "" if text is None else text_hash(text)
    return SourceFile(file=file, text=text, sha256=found)


def left_out(file: str) -> SourceFile:
    """Return a file whose text a profile leaves out: it is empty, without a hash."""
    return SourceFile(file=file, text="", sha256="")


def changed(source: SourceFile) -> bool:
    """Tell whether the file on disk has another text than the profile.

    False if either is unknown, or left out of the profile.
    """
    if source.is_left_out or (source.text is None and not source.sha256):
        return False
    text = disk_text(source.file)
    if text is None:
        return False
    if source.text is not None:
        return text != source.text
    return text_hash(text) != source.sha256


def size_of(file: str) -> int:
    """Return the size (bytes) of a file; 0 if there is none."""
    try:
        return os.stat(file).st_size
    except (OSError, ValueError):
        return 0


def is_generated_code(filename: str) -> bool:
    """Tell whether the name is one that notebooks and code generators give."""
    folder = tempfile.gettempdir()
    notebooks = [os.path.join(folder, name) for name in ("ipykernel_", "xpython_")]
    return filename.startswith(("<generated", "<ipython-input-", *notebooks))


def sources_of(profile: Profile) -> Sources:
    """Return the source lines of a profile's files."""
    return Sources(profile.sources, roots=profile.source_roots)


class Sources:
    """Source lines of a profile's files: the kept text first, then the disk.

    A profile that was read from a file may come from anyone, and name any file of this
    machine. Its reader must not show, or put into an export, a file that has nothing to
    do with the profile. So without a kept text, the disk is read only for a file

    - that has the hash in the profile,
    - that is Python, by its name and by its syntax, if the profile has no hash,
    - that is below a folder that the user names (``--source-root``).

    `remarks` says which files were not read.
    """

    def __init__(
        self, kept: Mapping[str, SourceFile], *, roots: Sequence[str] | None = None
    ) -> None:
        """Take the texts that the profile has, by file, and its `source_roots`."""
        self._kept = kept
        self._roots = roots
        self._remarks: dict[str, str] = {}  # by file
        self._changed: set[str] = set()  # files whose text is not that of their hash
        self._vouched: set[str] = set()  # files without a hash, from a folder named
        self._room = _MAX_CHECKED
        self._files: dict[str, list[str] | None] = {}
        self._blocks: dict[tuple[str, int, str | None], list[str] | None] = {}

    def lines(self, file: str) -> list[str] | None:
        """Return the lines of a file; None if the file cannot be found."""
        if file not in self._files:
            kept = self._kept.get(file)
            text = kept.text if kept else None
            if text is None and self._roots is None:
                text = text_of(file)
            elif text is None:
                text = self._checked_text(file, kept.sha256 if kept else "")
            if text is None and file not in self._remarks:
                is_somewhere = os.path.exists(file) or is_generated_code(file)
                text = "" if is_somewhere else None
            self._files[file] = None if text is None else lines_of(text)
        return self._files[file]

    def remarks(self) -> list[str]:
        """Return why files were not read so far, or may differ, one line each."""
        return list(self._remarks.values())

    def is_known(self, file: str) -> bool:
        """Return whether the lines of a file are surely those that ran.

        They are if the profile has the text or its hash, or was never in a file.
        """
        kept = self._kept.get(file)
        if kept is None:
            return self._roots is None
        if kept.is_left_out or not (kept.text is not None or kept.sha256):
            return False
        return self.lines(file) is not None and file not in self._changed

    def is_vouched(self, file: str) -> bool:
        """Return whether a file without a hash is from a folder that the user names."""
        return self.lines(file) is not None and file in self._vouched

    def _checked_text(self, file: str, sha256: str) -> str | None:
        """Return the text of a file that a profile from elsewhere names, if it may."""
        text = linecache_text(file)
        if text is not None:
            return text
        for root in self._roots or ():
            text = _text_below(root, file, sha256)
            if text is not None:
                if not sha256:
                    self._vouched.add(file)
                elif text_hash(text) != sha256:
                    self._changed.add(file)
                    self._remarks[file] = (
                        f"{file} has changed since it was profiled; the lines shown may"
                        " not be those measured"
                    )
                return text
        text, why = _harmless_text(file, sha256, self._room)
        if text is not None:
            self._room -= _cost(text, sha256)
        if why:
            self._remarks[file] = (
                f"{file} was not read: {why}, and the profile has no text of it;"
                " --source-root FOLDER reads the files below FOLDER"
            )
        return text

    def line(self, file: str, number: int) -> str | None:
        """Return one line without its end; None if there is no such line."""
        lines = self.lines(file) or []
        return lines[number - 1] if 0 < number <= len(lines) else None

    def block(
        self, file: str, first_line: int, name: str | None = None
    ) -> Sequence[str] | None:
        """Return the lines of the function `name` that starts at `first_line`.

        A module and a notebook's cell have all lines from there on. None if the
        file cannot be found, `LEFT_OUT` if the profile leaves out its text.
        """
        kept = self._kept.get(file)
        if kept is not None and kept.is_left_out:
            return LEFT_OUT
        key = (file, first_line, name)
        if key not in self._blocks:
            lines = self.lines(file)
            if lines is None or name in WHOLE_FILE:
                self._blocks[key] = lines and lines[first_line - 1 :]
            else:
                self._blocks[key] = _block_of(lines, first_line, name)
        return self._blocks[key]


def _cost(text: str, sha256: str) -> int:
    """Return the cost (characters) of a check; text without a hash is parsed."""
    return len(text) * (1 if sha256 else _COST_OF_PARSING)


def _harmless_text(file: str, sha256: str, room: int) -> tuple[str | None, str]:
    """Return the text of a file on the disk, or why it may not be shown.

    Both are empty if there is no such file. `room` is the greatest cost of the check.
    """
    text, why = None, "its name is not that of Python source"
    if sha256 or file.endswith(_PYTHON + _CYTHON):
        text = disk_text(file)
        why = "it is not a regular file of source text"
    if text is not None:
        why = _why_hidden(file, text, sha256, room)
        return (None, why) if why else (text, "")
    return None, why if os.path.exists(file) else ""


def _why_hidden(file: str, text: str, sha256: str, room: int) -> str:
    """Return why the text of a file may not be shown, "" if it may."""
    if _cost(text, sha256) > room:
        return "the profile names more source files than are checked"
    if sha256:
        return (
            "" if text_hash(text) == sha256 else "it has changed since it was profiled"
        )
    if file.endswith(_PYTHON) and not _is_python(text):
        return "it is no Python that this version can parse"
    return ""


def _is_python(text: str) -> bool:
    """Tell whether `text` is valid Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the syntax
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _text_below(root: str, file: str, sha256: str) -> str | None:
    """Return the text of `file`, or of the same file in another tree, below `root`.

    It is looked for by the whole path, then by fewer and fewer of the last parts of the
    path; a file with the hash in the profile goes before others. Links that lead out of
    the folder are not followed.
    """
    top = os.path.realpath(root)
    parts = [part for part in file.split(os.sep) if part not in {"", ".", ".."}]
    names = [os.path.join(top, *parts[index:]) for index in range(len(parts))]
    found = None
    for name in [file, *names]:
        try:
            path = os.path.realpath(name)
        except ValueError:  # a null character
            return None
        text = disk_text(path) if path.startswith(os.path.join(top, "")) else None
        if text is not None and (not sha256 or text_hash(text) == sha256):
            return text
        found = text if found is None else found
    return found


# The block of lines of a function.


def block(text: str, first_line: int, name: str | None = None) -> list[str]:
    """Return the lines of the function, class or lambda that starts at `first_line`.

    With a `name` it may also be a ``with`` statement. The text need not be Python:
    text that cannot be tokenized is cut by its indentation.
    """
    return _block_of(lines_of(text), first_line, name)


def start_of_with(text: str, line: int) -> int:
    """Return the first line of the ``with`` statement that has a manager on `line`.

    Since Python 3.13 a frame that enters a manager is on the manager's line. Returns
    `line` if no such statement started before it.
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

    The list is empty if the file or the line cannot be found.
    """
    found = Sources({}).block(os.fspath(filename), lineno)
    return [f"{line}\n" for line in found or ()]


def _block_of(lines: Sequence[str], first_line: int, name: str | None) -> list[str]:
    """Return the block of `lines` that starts at `first_line`: see `block`."""
    rest = _Rest(lines, first_line - 1)
    first = "".join(rest[:1])
    is_with = name not in _NEVER_WITH and first.lstrip().startswith(_WITH)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of invalid escapes
        try:
            return _getblock(is_with=is_with)(rest)
        except Exception:  # noqa: BLE001  # depends on the version: SystemError, too
            return _indented(rest[:])


class _Rest:
    """The lines of a file from a start on, as `inspect.getblock` takes them.

    They get their ends one by one: the tokenizer stops at the end of the block, which
    is seldom that of the file. It has to see all lines up to there: a block cut
    short looks like one that ends with its last line of code.
    """

    def __init__(self, lines: Sequence[str], start: int) -> None:
        self._lines = lines
        self._start, _, _ = slice(start, None).indices(len(lines))  # it may be below 0

    def __iter__(self) -> Iterator[str]:
        return (f"{self._lines[n]}\n" for n in range(self._start, len(self._lines)))

    def __getitem__(self, part: slice) -> list[str]:
        """Return the lines up to `part`'s stop, without their ends."""
        end = None if part.stop is None else self._start + part.stop
        return list(self._lines[self._start : end])


@lru_cache(maxsize=2)
def _getblock(*, is_with: bool) -> Callable[[_Rest], list[str]]:
    """Return `inspect.getblock` that also knows Cython's words, or ``with``, too."""
    words = {"cdef", "cpdef", "property", *(["with"] if is_with else [])}

    class Finder(inspect.BlockFinder):
        def tokeneater(self, type: int, token: str, *place: Any) -> None:  # noqa: A002, ANN401
            """Take one token."""
            if not self.started and type == NAME and token in words:
                token = "def"  # noqa: S105
            super().tokeneater(type, token, *place)

    getblock = inspect.getblock
    return FunctionType(
        getblock.__code__, {**getblock.__globals__, "BlockFinder": Finder}
    )


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
