"""A code object and all that the core has to know of it, handed over."""

from __future__ import annotations

from lineprof.shape import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    from lineprof._core import Tracer
    from lineprof.shape import Shape

_CODE_ENABLES = 2  # in csrc/engine/code.h


def add_code(  # noqa: PLR0913  # what there is to say of one
    tracer: Tracer,
    code: CodeType,
    key: object = None,
    text: str | None = None,
    *,
    labelled: bool = True,
    enables: bool = False,
) -> bool:
    """Register `code`; False where its lines can't be told.

    One that is registered, by another thread just now, say, stays as it is.
    `text` is its file's source where no file has it. While NVTX ranges are on,
    calls and lines of `code` are ranges, but not those of one that is not
    `labelled`. Calls of one that `enables` enable the tracer, from the first on.
    """
    shape = describe(code, text)
    if shape is None or not _add(tracer, code, key, shape, enables=enables):
        return tracer.has_code(code)
    if labelled and tracer.ranged:
        from lineprof.labels import labels_of  # noqa: PLC0415  # seldom needed

        lines = range(shape.first_line, shape.first_line + shape.n_lines)
        tracer.set_labels(code, *labels_of(code, lines, text))
    return True


def _add(
    tracer: Tracer, code: CodeType, key: object, shape: Shape, *, enables: bool
) -> bool:
    return tracer.add_code(
        code,
        key,
        shape.first_line,
        shape.n_lines,
        shape.flags | _CODE_ENABLES * enables,
        shape.awaits,
        shape.start,
        shape.statements,
        shape.instructions,
        shape.marks,
        shape.resumes,
    )
