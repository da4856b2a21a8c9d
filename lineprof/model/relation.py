"""Relations: what each field of a record refers to, and how records are added up.

A relation is declared once for a class of records, a NamedTuple beside it. From it
follow the table in the file and its checks (`lineprof.storage`), and the sum of
profiles: references move up, and records that are alike become one (`merge`).
"""

# Without annotations from __future__, as in `records`.
from collections.abc import Callable, Iterable, Mapping
from operator import add, attrgetter
from typing import Any, NamedTuple, TypeVar

Record = TypeVar("Record", bound=tuple[Any, ...])

NONE = -1  # in place of the index of a record: there is none, or it is unknown

# What a field refers to: the index of a record in the profile, or a function's key.
PROCESS, THREAD, PATH, DEVICE = "process", "thread", "path", "device"
FUNCTION = "function"
NAME = "name"  # a text that many records share


def least(one: int | None, other: int | None) -> int | None:
    """Return the lesser of two numbers, of which None is unknown."""
    return other if one is None else one if other is None else min(one, other)


def greatest(one: int | None, other: int | None) -> int | None:
    """Return the greater of two numbers, of which None is unknown."""
    return other if one is None else one if other is None else max(one, other)


class Field(NamedTuple):
    """One field of a record."""

    name: str  # of the record's attribute
    kind: type = int  # of its value in a file; bool is 0 or 1 there
    column: str = ""  # its name in a file
    refers: str = ""  # to what, if it does
    optional: bool = False  # may be None; a reference may be NONE
    added: bool = False  # files of earlier versions lack it
    absent: object = None  # its value where a file has NULL
    natural: bool = False  # is 0 or more
    add: Callable[[Any, Any], Any] | None = None  # of records that are alike but for it


class Relation(NamedTuple):
    """The fields of a class of records."""

    name: str  # of its table in a file
    record: Any  # the class
    owner: str  # "a wait"
    fields: tuple[Field, ...]

    def moved(
        self, records: Iterable[Record], offsets: Mapping[str, int]
    ) -> list[Record]:
        """Return records with references moved up, by what these refer to."""
        moves = [
            (one.name, offsets[one.refers])
            for one in self.fields
            if offsets.get(one.refers)
        ]
        if not moves:
            return [*records]
        return [
            record._replace(  # type: ignore[attr-defined]
                **{
                    name: index if index == NONE else index + offset
                    for name, offset in moves
                    for index in [getattr(record, name)]
                }
            )
            for record in records
        ]

    def without(self, to: str, records: Iterable[Record]) -> list[Record]:
        """Return records that refer to nothing of that kind."""
        names = [one.name for one in self.fields if one.refers == to]
        return [one._replace(**dict.fromkeys(names, NONE)) for one in records]  # type: ignore[attr-defined]

    def sum(self, one: Record, other: Record) -> Record:
        """Return the record `one` with the numbers of `other` added to its own."""
        return one._replace(  # type: ignore[attr-defined,no-any-return]
            **{
                field.name: field.add(
                    getattr(one, field.name), getattr(other, field.name)
                )
                for field in self.fields
                if field.add
            }
        )

    def added_up(self, records: Iterable[Record]) -> tuple[Record, ...]:
        """Return records with one for all that are alike but for their numbers."""
        identity = attrgetter(*(one.name for one in self.fields if not one.add))
        sums: dict[object, Record] = {}
        for one in records:
            key = identity(one)
            known = sums.get(key)
            sums[key] = one if known is None else self.sum(known, one)
        return tuple(sums.values())


def refers(to: str, name: str = "", *, optional: bool | None = None) -> Field:
    """Return a field that refers to a record; to a thread it is NONE if unknown."""
    is_optional = to in {THREAD, PATH, DEVICE} if optional is None else optional
    name = name or to
    return Field(name, column=f"{name}_id", refers=to, optional=is_optional)


def naturals(*names: str, **options: Any) -> tuple[Field, ...]:  # noqa: ANN401  # of Field
    """Return fields of numbers from 0 on."""
    return tuple([Field(name, natural=True, **options) for name in names])


def summed(*names: str) -> tuple[Field, ...]:
    """Return fields of numbers that are added up."""
    return naturals(*names, add=add)


def others(kind: type, *names: str, **options: Any) -> tuple[Field, ...]:  # noqa: ANN401  # of Field
    """Return fields of any values of a kind."""
    return tuple([Field(name, kind, **options) for name in names])
