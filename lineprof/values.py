"""Frozen values: what `dataclasses` gives, without the 9 ms of importing it.

A program under kernprof waits for all that is imported before its first line
and after its last.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, NoReturn, TypeVar

    from typing_extensions import dataclass_transform

    V = TypeVar("V", bound="Value")
else:

    def dataclass_transform(**_options):  # noqa: ANN003, ANN201
        """Leave a class as it is: only type checkers want to know."""
        return lambda cls: cls


@dataclass_transform(frozen_default=True)
class Value:
    """What its class annotates, set once, by position or by name.

    Equal are values of one class whose fields are equal. A field that the
    class gives a value has that as its default.
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[dict[str, object]] = {}

    def __init_subclass__(cls) -> None:
        own = vars(cls)
        cls._fields = tuple(cls.__annotations__)
        cls._defaults = {name: own[name] for name in cls._fields if name in own}

    def __init__(self, *values: object, **named: object) -> None:
        if named or len(values) != len(self._fields):
            values = self._in_order(values, named)
        self.__dict__.update(zip(self._fields, values))

    def _in_order(
        self, values: tuple[object, ...], named: dict[str, object]
    ) -> tuple[object, ...]:
        """Return the value of every field; TypeError unless each has one."""
        fields = self._fields
        given = {**dict(zip(fields, values)), **named}
        whole = {**self._defaults, **given}
        if len(given) != len(values) + len(named) or whole.keys() != set(fields):
            raise TypeError(
                f"{type(self).__name__} takes {', '.join(fields)}, each of them once"
            )
        return tuple([whole[name] for name in fields])

    def __setattr__(self, name: str, value: object) -> NoReturn:
        self._stay(name)

    def __delattr__(self, name: str) -> NoReturn:
        self._stay(name)

    def _stay(self, name: str) -> NoReturn:
        from dataclasses import FrozenInstanceError  # noqa: PLC0415  # only now

        raise FrozenInstanceError(f"{type(self).__name__} is frozen: {name} stays")

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


def replace(value: V, **changes: object) -> V:
    """Return a value like `value` but for `changes`."""
    return type(value)(**{**vars(value), **changes})
