"""What an export is: a name, and a function from a profile to a file's content."""

from __future__ import annotations

from lineprof.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lineprof.stats import LineStats


def _nothing(_: LineStats) -> Iterable[str]:
    """Have nothing to remark."""
    return ()


class Export(Value):
    """One format that other programs read."""

    name: str
    suffix: str  # of a file in it
    help: str
    content: Callable[[LineStats], Iterable[bytes]]
    is_text: bool = True  # that a person can read
    remarks: Callable[[LineStats], Iterable[str]] = _nothing  # a line each
