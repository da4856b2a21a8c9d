"""Source text of profiled files, as it ran.

A program may edit, replace or delete its files while it runs. The content of a file is
therefore read when its first function is registered, and kept as bytes until the
profile is made.

That content is what Python compiled if the file did not change after the process began,
or if kernprof itself compiled it. In any other case it is compiled again, and each
function of the file is looked for in the result. Where one is not found, the profile
has no text of the file, and says why.

Code may also name a file of another language: Hy and xonsh compile their own files line
by line, and template engines compile a text that they generate. The profile has the
text of such a file with a remark, unless the code has lines that the file does not.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib_external import cache_from_source
from types import CodeType

from lineprof import process_info
from lineprof.decorate.code_copies import OwnCopying
from lineprof.files import SOURCE, normal_path
from lineprof.recording.descriptors import with_descriptors
from lineprof.source_files import (
    FileContent,
    content_of,
    disk_state,
    in_linecache,
    text_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lineprof.model.records import SourceFile
    from lineprof.recording.live_file import LiveFile

    State = tuple[int, ...]

_GRANULE_NS = 20_000_000  # by which the time of a change may lag behind the clock
_UNCHECKED = b"\1\0\0\0"  # flags of a .pyc file that is used whatever its source is
_FUTURE = 0x1FE0000  # flags of code with `__future__` imports
_IMPORTERS = frozenset(
    ("_frozen_importlib_external", "importlib._bootstrap_external", "zipimport")
)
_EDITED = (
    "is not the text that Python compiled: it was edited before its functions were"
    " profiled, or its .pyc file is of another text; the profile leaves its text out"
)
_FOREIGN = (
    "is not Python: beside each number of a line is that line of the file, which was"
    " not measured if the code was generated, as from a template"
)
_GENERATED = (
    "is not Python, and has fewer lines than the code that names it: that was"
    " generated, as from a template, and the numbers of lines are those of the"
    " generated text; the profile leaves the text of the file out"
)
_RELOADED = (
    "was edited and loaded again while it was profiled; the profile leaves its text"
    " out, because functions of both versions are in it"
)


class RecordedSources:
    """Source of the code objects that are registered with one profiler."""

    def __init__(self, live: LiveFile | None = None) -> None:
        """Start without files; those that are read are noted in the `live` file."""
        self._live = live
        self.texts: Mapping[str, str] = {}  # source that is in no file (``python -c``)
        self._files: dict[str, _File] = {}
        self._missing: set[str] = set()  # files that were not there
        process_info.started_unix_ns()  # now: a forked process began later

    def of(self, code: CodeType) -> FileContent | str | None:
        """Return the source of `code`, which is about to be registered.

        "" if the text that ran cannot be had; None if there is no file, and
        `source_files.text_of` may know a text.
        """
        file = code.co_filename
        text = self.texts.get(file)
        if text is not None:
            return text
        state, known = disk_state(file), self._files.get(file)
        if known is not None and known.is_certain and known.state == state:
            known.is_used = True
            return known.content
        if in_linecache(file):
            return None
        if known is None:
            found = _script if _script and _script.file == file else _content_of(file)
            if found is None:
                self._missing.add(file)
                return None
            known = self._files.setdefault(file, _File(found))
            if self._live:
                self._live.note(file=file, state=known.state)
            if known.is_certain and known.state == state:
                known.is_used = True
                return known.content
        before = (known.why, known.remark)
        source = known.source_of(code)
        if self._live and (known.why, known.remark) != before:
            self._live.note(
                file=file, state=known.state, why=known.why, remark=known.remark
            )
        return source

    def has_code(self, code: CodeType) -> bool:
        """Return whether the file that `code` names has a function with this code."""
        known = self._files.get(code.co_filename)
        content = known.content if known else _content_of(code.co_filename)
        if content is None:
            return False
        return (known or _File(content)).has(content, code)

    def read(self, file: str) -> SourceFile:
        """Return `file` as it ran, for a profile."""
        from lineprof.source import left_out, source_file  # noqa: PLC0415  # at the end

        return (
            source_file(file, self.text(file)) if self.keeps(file) else left_out(file)
        )

    def keeps(self, file: str) -> bool:
        """Return whether a profile has the text of `file`; else it leaves it out."""
        return not self._why_left_out(file)

    def text(self, file: str) -> str | None:
        """Return the text of `file` as it ran; None if there is none."""
        known = self._files.get(file)
        if known is None or known.content is None:
            return text_of(file)
        return known.content.text()

    def has(self, file: str) -> bool:
        """Return whether the content of `file` was read when it was registered."""
        return file in self._files

    def warnings(self, files: Iterable[str]) -> Iterator[str]:
        """Yield a sentence for each of `files` whose text is left out or another's."""
        for file in files:
            known = self._files.get(file)
            remark = known.remark if known else ""
            if why := self._why_left_out(file) or remark:
                yield f"{normal_path(file)} {why}"

    def _why_left_out(self, file: str) -> str:
        known = self._files.get(file)
        if known is not None:
            return known.why
        # A file that is there now, and was not when its functions were registered.
        # A relative name may be one of another folder.
        appeared = file in self._missing and os.path.isabs(file) and disk_state(file)
        return _EDITED if appeared else ""


class _File:
    """One file: the content that all of its registered functions were compiled from."""

    def __init__(self, content: FileContent) -> None:
        """Take the content of before the first function is registered."""
        self.content: FileContent | None = content  # None: left out of the profile
        self.why = ""  # it is left out
        self.remark = ""  # on a text that is not left out
        self.state = content.state
        # Whether code from a file in this state has this content for sure.
        self._is_named_as_python = content.file.endswith(SOURCE)
        self.is_certain = content is _script or (
            self._is_named_as_python
            and content.changed_ns < process_info.started_unix_ns() - _GRANULE_NS
            and not _has_stale_bytecode(content)
        )
        self.is_used = False  # by a registered function
        self._compiled: _Codes | None = None  # the latest

    def source_of(self, code: CodeType) -> FileContent | str:
        """Return the content that `code` was compiled from, "" if it is not known."""
        if self.remark or self.why == _GENERATED:
            return self._foreign_source_of(code)
        is_used, self.is_used = self.is_used, True
        if self.content is not None and self.has(self.content, code):
            return self.content
        latest = _content_of(code.co_filename)
        if latest is not None and self.has(latest, code):
            if self.content is not None and is_used:
                self.content, self.why = None, _RELOADED
            elif self.content is not None:
                self.content = latest
            return latest
        if not self._is_named_as_python and not is_used:
            return self._foreign_source_of(code)
        self.content, self.why = None, self.why or _EDITED
        return ""

    def _foreign_source_of(self, code: CodeType) -> str:
        """Return "": the text is not Python, and may not be that of `code`."""
        content = self.content
        last = max(_lines(code), default=0)
        if content is not None and last <= content.data.count(b"\n") + 1:
            self.remark = _FOREIGN
        else:
            self.content, self.why, self.remark = None, _GENERATED, ""
        return ""

    def has(self, content: FileContent, code: CodeType) -> bool:
        """Return whether `code` was compiled from `content`."""
        flags, compiled = code.co_flags & _FUTURE, self._compiled
        try:
            if compiled is None or not compiled.are_of(content, flags):
                compiled = self._compiled = _Codes(content, flags)
            return compiled.has(code)
        except Exception:  # noqa: BLE001  # a stack that is nearly full, for example
            return False


def _content_of(file: str) -> FileContent | None:
    """Return the content of a regular file, also without descriptors, or None."""
    found = content_of(file)
    if found is not None or disk_state(file) is None:
        return found
    again: list[FileContent | None] = []
    with_descriptors(lambda: again.append(content_of(file)))
    return again[0]


# The source file that kernprof compiled as the program, as it was then.
_script: FileContent | None = None


def keep_script(content: FileContent | None) -> None:
    """Take `content` as the source of its file, because it is about to be compiled."""
    global _script  # noqa: PLW0603  # one program a process
    _script = content


def _has_stale_bytecode(content: FileContent) -> bool:
    """Return whether Python imports bytecode of another content than that of a file.

    It does if the .pyc file has a hash of its source that is not to be checked.
    """
    try:
        with open(cache_from_source(content.file), "rb") as stream:
            head = stream.read(16)
    except (OSError, ValueError, NotImplementedError):
        return False
    if head[4:8] != _UNCHECKED:
        return False
    from importlib.util import source_hash  # noqa: PLC0415  # such files are rare

    return head[8:] != source_hash(content.data)


class _Codes:
    """All code objects of one content."""

    def __init__(self, content: FileContent, flags: int) -> None:
        """Compile the content; `flags` are those of `__future__` imports.

        Code that a program compiles may have them from the program.
        """
        self._content, self._flags = content, flags
        self._codes: dict[tuple[str, int], list[CodeType]] = {}
        for code in _tree(_compiled(content, flags)):
            place = (code.co_name, code.co_firstlineno)
            self._codes.setdefault(place, []).append(code)

    def are_of(self, content: FileContent, flags: int) -> bool:
        """Return whether these are the code objects of `content`."""
        return self._content.data == content.data and self._flags == flags

    def has(self, code: CodeType) -> bool:
        """Return whether `code` is one of them.

        If an importer changes what it compiles, as pytest does, the lines have to be
        within those of one.
        """
        found = self._codes.get((code.co_name, code.co_firstlineno), ())
        if any(_is_same(code, one) for one in found):
            return True
        return (
            bool(found)
            and _is_rewritten(code)
            and any(_lines(code) <= _lines(one) for one in found)
        )


def _compiled(content: FileContent, flags: int) -> CodeType:
    import warnings  # noqa: PLC0415  # only in doubt

    with warnings.catch_warnings(), OwnCopying():
        warnings.simplefilter("ignore")
        code: CodeType = compile(
            content.data, content.file, "exec", flags, dont_inherit=True
        )
    return code


def _tree(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _tree(part)


_ATTRIBUTES = (
    *("co_qualname", "co_code", "co_linetable", "co_exceptiontable", "co_names"),
    *("co_varnames", "co_cellvars", "co_freevars", "co_flags"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
)


def _is_same(one: CodeType, other: CodeType) -> bool:
    """Return whether two code objects are equal, their columns and constants too.

    ``==`` does not tell in 3.11: it compares the caches of instructions that ran.
    """
    return (
        all(getattr(one, name) == getattr(other, name) for name in _ATTRIBUTES)
        and len(one.co_consts) == len(other.co_consts)
        and all(map(_is_same_constant, one.co_consts, other.co_consts))
    )


def _is_same_constant(one: object, other: object) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return _is_same(one, other)
    if type(one) is not type(other):
        return False
    return repr(one) == repr(other) or (isinstance(one, frozenset) and one == other)


def _is_rewritten(code: CodeType) -> bool:
    """Return whether the file's module has an importer that is not Python's own."""
    for module in [*sys.modules.values()]:
        names = getattr(module, "__dict__", {})
        if names.get("__file__") == code.co_filename:
            loader = names.get("__loader__")
            return loader is not None and type(loader).__module__ not in _IMPORTERS
    return False


def _lines(code: CodeType) -> set[int]:
    """Return the numbers of all lines that `code` and its statements extend over."""
    spans = {(start, end) for start, end, _, _ in code.co_positions()}
    return {
        line
        for start, end in spans
        if start is not None and end is not None
        for line in range(start, end + 1)
    }
