"""Reading the pickle of one plain object, without the module `pickle`.

A pickle is a program for a small machine. This machine knows the instructions
that make texts, numbers, lists, tuples, dicts and objects of classes that are
named to it, of which it makes none: it gives back what they would be filled
with. It has no instruction that calls, imports, or asks for anything, so that
nothing in a file can act; what a file can cost is limited by its length, by
the number of instructions and by the size of each number.

Known are protocols 2 to 5, with the texts of Python 2 among them.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    Name = tuple[str, str]  # of a class: its module and itself

_MOST_STEPS = 1 << 22  # instructions: 800,000 lines; each makes one small object
_MOST_DIGITS = 16  # bytes of a number
_MOST_LINES = 1 << 31  # of a file
_LONGEST_TEXT = 1 << 15  # bytes
_LONGEST_NAME = 256  # of a class or module
_PROTOCOLS = range(2, 6)
_MARK = object()


class NotAllowed(Exception):  # noqa: N818  # it is a reason, not an error
    """What in the pickle is damaged, or not for us."""


class Instance:
    """An object that the pickle describes, and that is not made."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: object = None


class _Class:
    """One of the classes that may be named."""

    __slots__ = ()


def read_instance(data: bytes, classes: Collection[Name]) -> Mapping[Any, Any]:
    """Return the attributes of the object that `data` is a pickle of.

    `classes` are those it may be of, by module and name. The values are
    dicts, lists, tuples, texts, numbers, booleans or None, and may be nested
    to any depth or hold themselves; keys of dicts are texts, or tuples of
    text, number and text. Raises NotAllowed for anything else.
    """
    machine = _Machine(data, classes)
    try:
        found = machine.run()
    except (IndexError, struct.error):
        raise NotAllowed("it is cut off or damaged") from None
    except UnicodeDecodeError:
        raise NotAllowed("a text in it is damaged") from None
    state = found.state if type(found) is Instance else None
    if type(state) is not dict:
        raise NotAllowed("it holds no profile")
    return state


class _Machine:
    """A stack, a memo, and a place in the program."""

    def __init__(self, data: bytes, classes: Collection[Name]) -> None:
        self._data = data
        self._place = 0
        self._classes = classes
        self._stack: list[Any] = []
        self._marks: list[int] = []  # where on the stack the marks are
        self._memo: dict[int, object] = {}

    def run(self) -> object:
        """Return what is left on the stack at the end."""
        data, most = self._data, _MOST_STEPS
        while most:
            most -= 1
            code = data[self._place]
            self._place += 1
            if code == _STOP:
                (found,) = self._stack[-1:] or (None,)
                return found
            action = _ACTIONS.get(code)
            if action is None:
                raise NotAllowed(f"it has an instruction that no profile has: {code}")
            action(self)
        raise NotAllowed("it is too long")

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes of the program."""
        start, self._place = self._place, self._place + size
        found = self._data[start : self._place]
        if len(found) != size:
            raise IndexError
        return found

    def number(self, size: int) -> int:
        """Return the next `size` bytes as a number from 0."""
        return int.from_bytes(self.take(size), "little")

    def line(self) -> str:
        """Return the text up to the end of the line."""
        end = self._data.find(b"\n", self._place, self._place + _LONGEST_NAME)
        if end < 0:
            raise IndexError
        text = self.take(end - self._place).decode("utf-8", "surrogatepass")
        self._place += 1
        return text

    def push(self, value: object) -> None:
        """Put `value` onto the stack."""
        self._stack.append(value)

    def pop(self) -> Any:  # noqa: ANN401
        """Take a value from the stack; never one from below the last mark."""
        if self._marks and self._marks[-1] >= len(self._stack):
            raise IndexError
        return self._stack.pop()

    def popped(self, count: int) -> list[Any]:
        """Take `count` values from the stack."""
        return [self.pop() for _ in range(count)][::-1]

    def to_mark(self) -> list[Any]:
        """Take all from the last mark on."""
        mark = self._marks.pop()
        found = self._stack[mark:]
        del self._stack[mark:]
        return found

    def protocol(self) -> None:
        number = self.number(1)
        if number not in _PROTOCOLS:
            raise NotAllowed(f"it is of protocol {number}")

    def frame(self) -> None:
        self.take(8)  # its length, which helps those who read from a stream

    def mark(self) -> None:
        self._marks.append(len(self._stack))

    def text(self, length: int, errors: str = "surrogatepass") -> None:
        size = self.number(length)
        if size > _LONGEST_TEXT:
            raise NotAllowed("a text in it is too long")
        self.push(self.take(size).decode("utf-8", errors))

    def old_text(self, length: int) -> None:
        self.text(length, "surrogateescape")  # of Python 2: any bytes

    def signed(self) -> None:
        self.push(int.from_bytes(self.take(4), "little", signed=True))

    def long(self) -> None:
        size = self.number(1)
        if size > _MOST_DIGITS:
            raise NotAllowed("a number in it is too big")
        self.push(int.from_bytes(self.take(size), "little", signed=True))

    def real(self) -> None:
        self.push(struct.unpack(">d", self.take(8))[0])

    def append(self) -> None:
        (value,) = self.popped(1)
        self._top(list).append(value)

    def extend(self) -> None:
        values = self.to_mark()
        self._top(list).extend(values)

    def fill(self, values: list[Any]) -> None:
        target = self._top(dict)
        for place in range(0, len(values), 2):
            target[_key(values[place])] = values[place + 1]

    def _top(self, kind: type) -> Any:  # noqa: ANN401
        """Return the value on top of the stack, which stays there."""
        top = self.pop()
        self.push(top)
        if type(top) is not kind:
            raise NotAllowed(f"a {type(top).__name__} where another thing is due")
        return top

    def put(self, size: int) -> None:
        self._memo[self.number(size)] = self._stack[-1]

    def memoize(self) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def get(self, size: int) -> None:
        place = self.number(size)
        if place not in self._memo:
            raise IndexError
        self.push(self._memo[place])

    def named(self) -> None:
        self._class(self.line(), self.line())

    def stacked_name(self) -> None:
        module, name = self.popped(2)
        self._class(module, name)

    def _class(self, module: object, name: object) -> None:
        if type(module) is not str or type(name) is not str:
            raise NotAllowed("it names a class by something else than text")
        if (module, name) not in self._classes:
            what = f"{module[:_LONGEST_NAME]}.{name[:_LONGEST_NAME]}"
            raise NotAllowed(f"it asks for {what}, which no profile needs")
        self.push(_Class())

    def new(self) -> None:
        kind, arguments = self.popped(2)
        if type(kind) is not _Class or type(arguments) is not tuple or arguments:
            raise NotAllowed("it makes an object that no profile has")
        self.push(Instance())

    def build(self) -> None:
        (state,) = self.popped(1)
        target = self._top(Instance)
        if target.state is not None:
            raise NotAllowed("it fills an object twice")
        target.state = state


def _key(value: object) -> Any:  # noqa: ANN401
    """Return what may be a key: a text, or the place of a function.

    No other, for the hash of what is nested goes deep, that of what is long
    takes long, and that of several numbers can be made to be that of others.
    """
    kinds = tuple(map(type, value[:4])) if type(value) is tuple else type(value)
    if kinds is str:
        return value
    if kinds == (str, int, str) and abs(value[1]) < _MOST_LINES:  # type: ignore[index]
        return value
    raise NotAllowed("a key in it is neither text nor the place of a function")


_STOP = ord(".")
_ACTIONS: dict[int, Callable[[_Machine], None]] = {
    0x80: _Machine.protocol,
    0x95: _Machine.frame,
    ord("("): _Machine.mark,
    ord("N"): lambda machine: machine.push(None),
    0x88: lambda machine: machine.push(True),
    0x89: lambda machine: machine.push(False),
    ord("K"): lambda machine: machine.push(machine.number(1)),
    ord("M"): lambda machine: machine.push(machine.number(2)),
    ord("J"): _Machine.signed,
    0x8A: _Machine.long,
    ord("G"): _Machine.real,
    0x8C: lambda machine: machine.text(1),
    ord("X"): lambda machine: machine.text(4),
    0x8D: lambda machine: machine.text(8),
    ord("U"): lambda machine: machine.old_text(1),
    ord("T"): lambda machine: machine.old_text(4),
    ord("}"): lambda machine: machine.push({}),
    ord("]"): lambda machine: machine.push([]),
    ord(")"): lambda machine: machine.push(()),
    0x85: lambda machine: machine.push(tuple(machine.popped(1))),
    0x86: lambda machine: machine.push(tuple(machine.popped(2))),
    0x87: lambda machine: machine.push(tuple(machine.popped(3))),
    ord("t"): lambda machine: machine.push(tuple(machine.to_mark())),
    ord("a"): _Machine.append,
    ord("e"): _Machine.extend,
    ord("s"): lambda machine: machine.fill(machine.popped(2)),
    ord("u"): lambda machine: machine.fill(machine.to_mark()),
    ord("q"): lambda machine: machine.put(1),
    ord("r"): lambda machine: machine.put(4),
    ord("h"): lambda machine: machine.get(1),
    ord("j"): lambda machine: machine.get(4),
    0x94: _Machine.memoize,
    ord("c"): _Machine.named,
    0x93: _Machine.stacked_name,
    0x81: _Machine.new,
    ord("b"): _Machine.build,
}
