"""Registration of code objects with a tracer of the core.

The core builds the tables by which it interprets the events of a code object; see
csrc/bytecode/code_tables.h. For the statements that span several lines it needs the
file's text, which is read here.
"""

from __future__ import annotations

import sys

from lineprof.bytecode.opcodes import OPCODES
from lineprof.source_files import FileContent, content_of, in_linecache, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from lineprof._core import Tracer

    FindSpans = Callable[[bytes], bytes]

_MAX_FILES = 4096  # whose statements are kept
_ESCAPED = ("'", '"', "\n", "N{")  # what may follow a backslash
_PYTHON = (".py", ".pyw")  # ends of names of files whose text is Python
_ONLY_AST = 0x400  # `ast.PyCF_ONLY_AST`; importing ast takes 8 ms

# They hold no statements, so that their file need not be read.
_EXPRESSIONS = frozenset(
    ("<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")
)

# What `Tracer.add_code` returns; see csrc/module/tracer_type.c.
_NOT_ADDED, _ADDED, _ADDED_UNREAD, _INVALID_LINES = range(4)

_unread: list[bool] = []  # [True] if some bytecode could not be read


def register(  # noqa: PLR0913  # the properties of a code object
    tracer: Tracer,
    code: CodeType,
    key: object = None,
    source: FileContent | str | None = None,
    *,
    labelled: bool = True,
    enables: bool = False,
    file: str = "",
) -> bool:
    """Register `code` with `tracer`; False if its line numbers are invalid.

    A code object that is already registered, perhaps by another thread just now,
    stays as it is. `source` is the content of its file, or the text of code that is in
    no file; None reads the file. If NVTX ranges are on and `labelled` is true, calls
    and lines of `code` are ranges. With `enables`, calls of `code` enable the tracer,
    from the first call on. `file` is in place of the name of the file that `code` has.
    """
    spans = None
    if code.co_name not in _EXPRESSIONS:
        spans = file_spans(file or code.co_filename, source, tracer.statement_spans)
    result = tracer.add_code(code, key, enables, spans, OPCODES)
    if result == _ADDED_UNREAD:
        _unread[:] = [True]
    if result in {_NOT_ADDED, _INVALID_LINES}:
        return result == _NOT_ADDED
    if labelled and tracer.has_nvtx_ranges:
        from lineprof.bytecode.labels import labels_of  # noqa: PLC0415  # for NVTX tools only

        tracer.set_labels(code, *labels_of(code, source))
    return True


def unread() -> list[str]:
    """Return the warning about bytecode that could not be read, if there is one."""
    if not _unread:
        return []
    version = ".".join(map(str, sys.version_info[:2]))
    warning = (
        f"the bytecode of Python {version} is unknown to this version of lineprof: "
        "hits of comprehensions and of statements over several lines may be wrong"
    )
    return [warning]


def file_spans(
    file: str, source: FileContent | str | None, find_spans: FindSpans
) -> bytes:
    """Return the spans of the statements of `file`: see `statement_spans`.

    Functions of a whole program are registered at their first call, in any order, and
    each file is read once. The result is kept, the content is not.
    """
    if source is None and not in_linecache(file):
        source = content_of(file)
    if source is None:
        source = text_of(file)
    if not source:
        return b""
    if isinstance(source, FileContent):
        key: object = (file, source.state, hash(source.data))
    else:
        key = (file, hash(source))  # a cell of a notebook, for example
    spans = _spans.get(key)
    if spans is None:
        if len(_spans) >= _MAX_FILES:
            _spans.clear()
        spans = _spans[key] = statement_spans(file, source, find_spans)
    return spans


_spans: dict[object, bytes] = {}  # by the state of a file


def statement_spans(
    file: str, source: FileContent | str, find_spans: FindSpans
) -> bytes:
    """Return (first line, last line) of each simple statement of several lines.

    They are pairs of uint32 in native byte order. Statements that share a line make one
    span. There are none if `source` is not Python.
    """
    if file.endswith(_PYTHON) and isinstance(source, FileContent) and source.is_utf8:
        return find_spans(source.data)
    text = source.text() if isinstance(source, FileContent) else source
    if not file.endswith(_PYTHON) and not _is_python(text):
        return b""  # a template, whose code has the template's name
    return find_spans(text.encode("utf-8", "surrogatepass"))


def _is_python(text: str) -> bool:
    try:
        compile(
            _without_invalid_escapes(text), "?", "exec", _ONLY_AST, dont_inherit=True
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _without_invalid_escapes(text: str) -> str:
    """Return `text` with the same tokens and lines, and no invalid escapes.

    Python has warned of them when it compiled the program. To switch warnings off for
    a second time is not safe: the program may do the same in another thread.
    """
    first, *parts = text.split("\\")
    made = [first]
    is_escaped = False  # by another backslash
    for part in parts:
        may_be_valid = part.startswith(_ESCAPED) or is_escaped
        made.append(f"\\{part}" if part == "" or may_be_valid else f"x{part}")
        is_escaped = part == "" and not is_escaped
    return "".join(made)
