"""What kernprof has to say of an exception that is its own flags' doing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kernprof.options import Plan

_NO_PROFILE = "name 'profile' is not defined"


def advice(error: BaseException, plan: Plan) -> str:
    """Return a line on `error`, which the program did not catch; mostly ""."""
    if plan.line_by_line or plan.builtin or not isinstance(error, NameError):
        return ""
    if not str(error).startswith(_NO_PROFILE):
        return ""
    return (
        "'profile' is a builtin with -l (every line) or -b (every call) alone;"
        f" try: kernprof -l {plan.target}"
    )
