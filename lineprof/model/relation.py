"""Relations: what each field of a record refers to, and how records are added up.

A relation is declared once for a class of records, a NamedTuple beside it. From it
follow the table in the file and its checks (`lineprof.storage`), and the sum of
profiles: references move up, and records that are alike become one (`merge`).
"""

# Without annotations from __future__, as in `records`.
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

Record = TypeVar("Record", bound=tuple[Any, ...])

NONE = -1  # in place of the index of a record: there is none, or it is unknown

# What a field refers to: the index of a record in the profile, or a function's key.
PROCESS, THREAD, PATH, DEVICE = "process", "thread", "path", "device"
FUNCTION, FILE = "function", "file"
NAME = "name"  # a text that many records share


# How references change, by what is referred to: a function of the index that is not
# NONE. References to other things stay as they are.
Places = Mapping[str, Callable[[int], int]]


def least(numbers: Iterable[int | None]) -> int | None:
    """Return the least of the numbers that are known; None if none is."""
    return min((one for one in numbers if one is not None), default=None)


def greatest(numbers: Iterable[int | None]) -> int | None:
    """Return the greatest of the numbers that are known; None if none is."""
    return max((one for one in numbers if one is not None), default=None)


def placed(index: int, refers: str, places: Places) -> int:
    """Return the index that a reference has in `places`; NONE stays."""
    return index if index == NONE or refers not in places else places[refers](index)


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
    # Adds up this field of records that differ only in fields that have `add`.
    add: Callable[[Iterable[Any]], Any] | None = None


class Relation:
    """The fields of a class of records."""

    def __init__(
        self, name: str, record: type, owner: str, fields: tuple[Field, ...]
    ) -> None:
        """Take the name of the table in a file, and the class: `owner` is "a wait"."""
        self.name = name
        self.record: Any = record
        self.owner = owner
        self.fields = fields
        # Equal for records that are added up. Made once: a profile adds up the
        # records of each function.
        self.identity: Callable[[Any], object] = attrgetter(
            *(one.name for one in fields if not one.add)
        )

    def moved(self, records: Iterable[Record], places: Places) -> list[Record]:
        """Return records with their references as in `places`."""
        moves = [(one.name, one.refers) for one in self.fields if one.refers in places]
        if not moves:
            return [*records]
        return [
            record._replace(  # type: ignore[attr-defined]
                **{
                    name: placed(getattr(record, name), refers, places)
                    for name, refers in moves
                }
            )
            for record in records
        ]

    def total(self, records: Sequence[Record]) -> Record:
        """Return the first of the records, with the numbers of all."""
        first = records[0]
        if len(records) == 1:
            return first
        return first._replace(  # type: ignore[attr-defined,no-any-return]
            **{
                field.name: field.add([getattr(one, field.name) for one in records])
                for field in self.fields
                if field.add
            }
        )

    def added_up(self, records: Iterable[Record]) -> tuple[Record, ...]:
        """Return `records` with one for all that are alike but for their numbers."""
        every = tuple(records)
        identities = [*map(self.identity, every)]
        if len({*identities}) == len(every):
            return every  # the usual case
        groups: dict[object, list[Record]] = {}
        for identity, one in zip(identities, every):
            groups.setdefault(identity, []).append(one)
        return tuple(map(self.total, groups.values()))


class RecordSum(Generic[Record]):
    """The sum of records that come in many parts.

    Only about twice as many records are kept as the sum has.
    """

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._records: list[Record] = []
        self._max = 0  # of these, before they are added up

    def add(self, records: Iterable[Record]) -> None:
        """Add a part."""
        self._records += records
        if len(self._records) > self._max:
            self._records = [*self.records]
            self._max = 2 * len(self._records)

    @property
    def records(self) -> tuple[Record, ...]:
        """The sum so far."""
        return self._relation.added_up(self._records)


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
    return naturals(*names, add=sum)


def others(kind: type, *names: str, **options: Any) -> tuple[Field, ...]:  # noqa: ANN401  # of Field
    """Return fields of any values of a kind."""
    return tuple([Field(name, kind, **options) for name in names])
