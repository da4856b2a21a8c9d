"""Registration of code objects with a tracer of the core."""

from __future__ import annotations

from lineprof.shape import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    from lineprof._core import Tracer
    from lineprof.shape import Shape

_CODE_ENABLES = 2  # in csrc/lp_code.h


def register(  # noqa: PLR0913  # the properties of a code object
    tracer: Tracer,
    code: CodeType,
    key: object = None,
    text: str | None = None,
    *,
    labelled: bool = True,
    enables: bool = False,
) -> bool:
    """Register `code` with `tracer`; False if its line numbers make no sense.

    A code object that is already registered, perhaps by another thread just now,
    stays as it is. `text` is the source of code that is in no file. If NVTX ranges
    are on and `labelled` is true, calls and lines of `code` are ranges. With
    `enables`, calls of `code` enable the tracer, from the first call on.
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
        shape.lookups,
    )
