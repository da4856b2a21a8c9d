"""What a reader of the views of calls should know beside their rows, a line each."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.stats import Profile
    from lineprof.views.view import Options

NO_CALLS = (
    "the profile does not say who called whom: a function's time is that of all its"
    " lines, with what these called"
)


def of_calls(stats: Profile, _: Options) -> Iterator[str]:
    """Yield what the profile does not know of calls."""
    if not stats.calls.nodes:
        if not stats.why_empty:  # that will be said, and is enough
            yield NO_CALLS
    elif stats.calls.folded:
        yield (
            f"there were too many ways to keep them all: {stats.calls.folded} calls"
            " count where another way to the same function stands"
        )
