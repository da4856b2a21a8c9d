"""Tracebacks of the program without kernprof's frames, shown by python itself.

An exception that the program does not catch goes all the way up, so that python
ends as without kernprof: exit status, ``sys.last_exc``, death by SIGINT after a
KeyboardInterrupt. On the way kernprof's frames join the traceback; a
`sys.excepthook` for one use takes them off again and calls the program's own hook.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_WRAPPERS = "lineprof.decorate.wrappers"  # the module of the wrappers that -b makes

_python_hook = sys.__excepthook__


def hide_our_frames(error: BaseException, then: Callable[[], None]) -> None:
    """Have `error`, about to leave `__main__`, shown without kernprof's frames.

    Calls `then` once it has been shown.
    """
    hook = getattr(sys, "excepthook", None)
    if hook is None:
        return  # python handles that, and shows all frames
    _hide_in_between(error)
    traceback = _skip_our_frames(error.__traceback__)

    def show(
        kind: type[BaseException],
        value: BaseException,
        _traceback: TracebackType | None,
    ) -> None:
        sys.excepthook = hook
        value.__traceback__ = sys.last_traceback = traceback
        try:
            hook(kind, value, traceback)
        except SystemExit:
            raise
        except BaseException as error_in_hook:  # noqa: BLE001  # as python does
            _show_both(value, error_in_hook)
        then()

    sys.excepthook = show


def _skip_our_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Return the part of `traceback` that begins with a frame of the program."""
    while traceback and _is_ours(traceback):
        traceback = traceback.tb_next
    return traceback


def _hide_in_between(error: BaseException) -> None:
    """Remove the frames of -b's wrappers from `error` and its causes and contexts."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        pending += (one.__cause__, one.__context__)
        if one is not error:  # its first frames are removed when it is shown
            one.__traceback__ = _skip_our_frames(one.__traceback__)
        shown = one.__traceback__
        while shown:
            shown.tb_next = _skip_our_frames(shown.tb_next)
            shown = shown.tb_next


def _is_ours(traceback: TracebackType) -> bool:
    name = str(traceback.tb_frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] == "kernprof" or name == _WRAPPERS


def _show_both(value: BaseException, error_in_hook: BaseException) -> None:
    """Show what `sys.excepthook` raised, and then `value`, as python does."""
    traceback = error_in_hook.__traceback__
    in_hook = traceback.tb_next if traceback else None
    error_in_hook.__traceback__ = in_hook
    sys.stderr.write("Error in sys.excepthook:\n")
    _python_hook(type(error_in_hook), error_in_hook, in_hook)
    sys.stderr.write("\nOriginal exception was:\n")
    _python_hook(type(value), value, value.__traceback__)
