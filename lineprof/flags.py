"""Flags of the commands: how each is declared, and how their values are read.

A table of `Flag` serves the parser, the help, completion and the files of
configuration. Readers are functions from a word to a value; they raise LineprofError.
"""

from __future__ import annotations

from collections import namedtuple

from lineprof.config import parse_bool
from lineprof.errors import LineprofError
from lineprof.model.units import AUTO_UNIT, BYTES_OF_UNIT, NS_OF_UNIT
from lineprof.patterns import near

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PAGES = (".html", ".htm")  # ends of names of pages

# Kinds of flags, by the value that they take.
SWITCH = "switch"  # no value: it sets its attribute to True
COUNT = "count"  # no value: it adds one
BOOLEAN = "boolean"  # the long form has an optional value; --no-NAME is the opposite
OPTIONAL = "optional"  # an optional value
VALUE = "value"  # a value
LIST = "list"  # a value, which is appended
PROGRAM = "program"  # a value; the program's arguments follow


class Flag(
    namedtuple(
        "Flag",
        "short long attribute text kind value read bare words separator default",
        defaults=(VALUE, "", str, "", (), "", False),
    )
):
    """One flag: its names, its value, and the attribute of the options that it sets."""

    __slots__ = ()

    short: str
    long: str
    attribute: str
    text: str  # for the help
    kind: str
    value: str  # the name of its value in the help
    read: Callable[[str], object]
    bare: str  # the value if none is given; "": a value is required
    words: tuple[str, ...]  # values that a shell can complete
    separator: str  # between several of them
    default: object  # where the options have no such attribute

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it has, the long one last."""
        return tuple([name for name in (self.short, self.long) if name])

    @property
    def usage(self) -> str:
        """The flag as the help writes it."""
        names = ", ".join(self.names)
        if self.kind == OPTIONAL or (self.kind == BOOLEAN and self.value):
            return f"{names} [{self.value}]"
        return f"{names} {self.value}" if self.value else names

    @property
    def name(self) -> str:
        """The flag without dashes: its key in a file of configuration."""
        return self.long[2:]

    @property
    def opposite(self) -> str:
        """The long flag that is the opposite of one of kind BOOLEAN."""
        return opposite_of(self.long)

    def from_file(self, value: object) -> object:
        """Return what a `value` in a file of configuration means; LineprofError."""
        return self.read(self._word(value))

    def _word(self, value: object) -> str:
        """Return a value of a file as a word of a command line."""
        if isinstance(value, bool) and self.kind == OPTIONAL:
            return self.bare if value else "0"
        if isinstance(value, bool):
            on, off = ("on", "off") if self.value == "on|off" else ("yes", "no")
            return on if value else off
        if isinstance(value, list) and self.separator:
            return self.separator.join(map(str, value))
        if isinstance(value, (int, float)) and self.read is not str:
            return repr(value)
        if isinstance(value, str):
            return value
        raise LineprofError(f"bad value {value!r}", hint=f"give what {self.long} takes")


def switch(long: str, text: str, short: str = "") -> Flag:
    """Return a flag of kind BOOLEAN; its attribute is called as the long form is."""
    attribute = _attribute(long)
    return Flag(short, long, attribute, text, BOOLEAN, read=boolean, bare="yes")


def valued(  # noqa: PLR0913  # all but the first four are rare
    long: str,
    text: str,
    value: str,
    read: Callable[[str], object] = str,
    short: str = "",
    *,
    kind: str = VALUE,
    attribute: str = "",
    **more: object,
) -> Flag:
    """Return a flag with a value, which the help calls `value`.

    `more` are further fields. The attribute is called as the long form is.
    """
    name = attribute or _attribute(long)
    return Flag(short, long, name, text, kind, value, read, **more)


def _attribute(long: str) -> str:
    return long[2:].replace("-", "_")


def opposite_of(long: str) -> str:
    """Return the long flag that is the opposite of another one."""
    return f"--no-{long[2:]}"


_CLOSE = 0.8  # ratio of difflib
_SAME_START = 3  # letters


def near_flags(flag: str, known: Iterable[str]) -> list[str]:
    """Return the long flags in `known` that look most like `flag`, at most two."""
    from difflib import get_close_matches  # noqa: PLC0415  # for errors alone

    names = [one[2:] for one in known if one.startswith("--")]
    name = flag.lstrip("-")
    found = get_close_matches(name, names, n=1, cutoff=_CLOSE)
    if not (found or len(name) < _SAME_START or name.startswith("no-")):
        begun = [one for one in names if one.startswith(name[:_SAME_START])]
        found = list(dict.fromkeys([*begun, *near(name, names)]))[:2]
    return [f"--{one}" for one in found]


def is_page(word: str) -> bool:
    """Return whether a word has the end of the name of a page."""
    return word.lower().endswith(PAGES)


# Readers.


def boolean(word: str) -> bool:
    """Return the meaning of yes, no and their synonyms, in any case; "" is False."""
    value = parse_bool(word)
    if value is None:
        raise LineprofError(f"bad value {word!r}", hint="give yes or no")
    return value


def boolean_or(word: str) -> Callable[[str], object]:
    """Return a reader of `boolean`, and of one more word, which stands for itself."""
    return lambda given: given if given == word else boolean(given)


def number(
    what: str,
    hint: str,
    least: float = 0.0,
    most: float = float("inf"),
    *,
    above: bool = False,
) -> Callable[[str], float]:
    """Return a reader of finite numbers from `least` to `most`, or `above` `least`.

    `what` is what the number is, and `hint` what to give, for error messages.
    """

    def read(word: str) -> float:
        try:
            value = float(word)
        except ValueError:
            value = float("nan")
        is_least = value > least if above else value >= least
        if is_least and value <= most and value < float("inf"):
            return value
        raise LineprofError(f"bad {what} {word!r}", hint=hint)

    return read


def whole(
    what: str, hint: str, least: int = 0, most: int = 999_999_999
) -> Callable[[str], int]:
    """Return a reader of whole numbers, in digits alone, from `least` to `most`."""

    def read(word: str) -> int:
        digits = word.lstrip("0") or "0"  # int() refuses thousands of digits
        if word.isascii() and word.isdigit() and len(digits) <= len(str(most)):
            value = int(digits)
            if least <= value <= most:
                return value
        raise LineprofError(f"bad {what} {word!r}", hint=hint)

    return read


_MAX_SIZE = 10**12  # bytes


def size(word: str) -> int:
    """Return a size in bytes: a whole number, or one with a unit, like 512KB, 1.5 MB.

    A unit is one of `BYTES_OF_UNIT`, in any case of letters.
    """
    digits = word.rstrip("kKmMgGtTiIbB")
    name = word[len(digits) :].upper() or "B"
    units = {unit.upper(): factor for unit, factor in BYTES_OF_UNIT.items()}
    try:
        value = float(digits) * units[name]
    except (KeyError, ValueError):
        value = -1.0
    if not 0 <= value <= _MAX_SIZE or value != int(value):
        raise LineprofError(f"bad size {word!r}", hint="give bytes, or as in 512KB")
    return int(value)


def one_of(*words: str) -> Callable[[str], str]:
    """Return a reader that accepts one of `words`."""

    def read(word: str) -> str:
        if word in words:
            return word
        raise LineprofError(f"bad value {word!r}", hint=f"give {' or '.join(words)}")

    return read


def on_or_off(word: str) -> bool:
    """Return True for on and False for off."""
    return one_of("on", "off")(word) == "on"


_seconds = number("unit", "give seconds above 0, as in -u 1e-3, or auto", above=True)


def unit(word: str) -> float:
    """Return a unit of time in s, or AUTO_UNIT for auto."""
    if word in NS_OF_UNIT:
        hint = f"give seconds above 0: -u {NS_OF_UNIT[word] / NS_OF_UNIT['s']:g}"
        raise LineprofError(f"bad unit {word!r}", hint=hint)
    return AUTO_UNIT if word == "auto" else _seconds(word)
