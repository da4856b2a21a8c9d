"""Labels of functions and lines in the timeline of an NVTX tool."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from lineprof.source_files import FileContent, text_of

if TYPE_CHECKING:
    from types import CodeType

_MAX_SOURCE = 80  # characters of a line


def labels_of(
    code: CodeType, source: FileContent | str | None = None
) -> tuple[bytes, list[bytes | None]]:
    """Return the label of `code` and those of its lines, as UTF-8.

    The label of a line without code is None. `source` is the content of its file, or
    the text of code that is in no file; None reads the file.
    """
    file = os.path.basename(code.co_filename)
    if isinstance(source, FileContent):
        source = source.text()
    text = _lines_of(text_of(code.co_filename) if source is None else source)
    lines_with_code = {line for _, _, line in code.co_lines() if line and line > 0}
    lines = {*lines_with_code, max(1, code.co_firstlineno)}
    labels = [
        _encoded(f"{file}:{line}", _source_line(text, line))
        if line in lines_with_code
        else None
        for line in range(min(lines), max(lines) + 1)
    ]
    return _encoded(f"{code.co_name} ({file}:{code.co_firstlineno})"), labels


def _source_line(source: list[str], line: int) -> str:
    return source[line - 1].strip()[:_MAX_SOURCE] if line <= len(source) else ""


def _encoded(name: str, source: str = "") -> bytes:
    label = f"{name}  {source}" if source else name
    return label.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")


@lru_cache(maxsize=16)  # a module's functions are registered in a row
def _lines_of(text: str | None) -> list[str]:
    return text.split("\n") if text else []
