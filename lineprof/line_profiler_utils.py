"""An enumeration of words, as line_profiler offers one."""

from __future__ import annotations

import enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    E = TypeVar("E", bound="StringEnum")


class StringEnum(str, enum.Enum):
    """Members are strings, and are found by their value in capitals or not."""

    @staticmethod
    def _generate_next_value_(name: str, *_: object) -> str:
        return name.lower()

    def __str__(self) -> str:
        """Return the value."""
        return str(self.value)

    @classmethod
    def _missing_(cls: type[E], value: object) -> E | None:
        if not isinstance(value, str):
            return None
        wanted = value.casefold()
        members = cls.__members__.items()
        return next((one for name, one in members if name.casefold() == wanted), None)
