"""The code that `runpy` runs as ``__main__``, told of before it runs."""

from __future__ import annotations

import runpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType


def tell(before: Callable[[CodeType, str], None], *, as_module: bool) -> None:
    """Have `before` called with code and module's name, once, by runpy's next run.

    The name is "" but `as_module`, as ``python -m`` runs it. Nothing of it is
    on the stack when the code runs.
    """
    name = "_get_module_details" if as_module else "_get_main_module_details"
    find = getattr(runpy, name)

    def find_and_tell(*arguments: object) -> tuple[str, object, CodeType]:
        setattr(runpy, name, find)
        found: tuple[str, object, CodeType] = find(*arguments)
        before(found[2], found[0] if as_module else "")
        return found

    setattr(runpy, name, find_and_tell)
