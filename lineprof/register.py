"""A code object and all that the core has to know of it, handed over."""

from __future__ import annotations

from lineprof.shape import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    from lineprof._core import Tracer


def add_code(
    tracer: Tracer, code: CodeType, key: object = None, text: str | None = None
) -> bool:
    """Register `code`; False where it was already, or its lines can't be told.

    `text` is its file's source where no file has it.
    """
    shape = describe(code, text)
    if shape is None:
        return False
    return tracer.add_code(
        code,
        key,
        shape.first_line,
        shape.n_lines,
        shape.flags,
        shape.awaits,
        shape.start,
        shape.statements,
        shape.instructions,
        shape.marks,
        shape.resumes,
    )
