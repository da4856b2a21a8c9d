"""Values by key, each made when it is first looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K")
V = TypeVar("V")


class MadeOnce(dict[K, V]):
    """Values by key; `make` makes the value of a new key.

    `make` must not hold the object that has these values, as a bound method would:
    they would be a reference cycle, which keeps the profile in memory after an export
    until the next full collection.
    """

    def __init__(self, make: Callable[[K], V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: K) -> V:
        value = self[key] = self._make(key)
        return value
