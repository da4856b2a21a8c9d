"""Tracebacks without kernprof's frames, shown by python itself.

An exception that the program does not catch goes all the way up, so that
python ends as it would: exit status, ``sys.last_exc``, death by SIGINT after a
KeyboardInterrupt. On the way kernprof's frames join the traceback; a
`sys.excepthook` of one use takes them off again and calls the program's own.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    Hook = Callable[
        [type[BaseException], BaseException, "TracebackType | None"], object
    ]

_WRAPPERS = "lineprof.counted_calls"  # the functions that -b puts around others
_python_hook = sys.__excepthook__


def hide_our_frames(error: BaseException, then: Callable[[], None]) -> None:
    """Have `error`, about to leave `__main__`, shown as if kernprof were not there.

    Calls `then` once it has been shown.
    """
    hook = getattr(sys, "excepthook", None)
    if hook is None:
        return  # python copes with that, and shows all frames
    _hide_in_between(error)
    traceback = _beyond_us(error.__traceback__)

    def show(
        kind: type[BaseException],
        value: BaseException,
        _whole: TracebackType | None,
    ) -> None:
        sys.excepthook = hook
        value.__traceback__ = sys.last_traceback = traceback
        try:
            hook(kind, value, traceback)
        except SystemExit:
            raise
        except BaseException as second:  # noqa: BLE001  # whatever the hook raises
            _show_both(value, second)
        then()

    sys.excepthook = show


def _beyond_us(traceback: TracebackType | None) -> TracebackType | None:
    """Return the part of `traceback` that begins with the program's frames."""
    while traceback and _is_ours(traceback):
        traceback = traceback.tb_next
    return traceback


def _hide_in_between(error: BaseException) -> None:
    """Take the frames of -b's wrappers out of the tracebacks of `error`."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        left += (one.__cause__, one.__context__)
        if one is not error:  # whose first frames are taken off when it is shown
            one.__traceback__ = _beyond_us(one.__traceback__)
        shown = one.__traceback__
        while shown:
            shown.tb_next = _beyond_us(shown.tb_next)
            shown = shown.tb_next


def _is_ours(traceback: TracebackType) -> bool:
    name = str(traceback.tb_frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] == "kernprof" or name == _WRAPPERS


def _show_both(value: BaseException, second: BaseException) -> None:
    """Show what `sys.excepthook` raised, and then `value`, as python does."""
    after = second.__traceback__.tb_next if second.__traceback__ else None
    second.__traceback__ = after
    sys.stderr.write("Error in sys.excepthook:\n")
    _python_hook(type(second), second, after)
    sys.stderr.write("\nOriginal exception was:\n")
    _python_hook(type(value), value, value.__traceback__)
