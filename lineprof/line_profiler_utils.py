"""An enumeration of words, as line_profiler offers one."""

from __future__ import annotations

import enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class StringEnum(enum.StrEnum):
    """Members are strings, and are found by their value in capitals or not."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        wanted = value.casefold()
        members = cls.__members__.items()
        return next((one for name, one in members if name.casefold() == wanted), None)
