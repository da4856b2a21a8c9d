"""Budget files in TOML: reading and checking of every key."""

from __future__ import annotations

import os
import re
from fractions import Fraction
from typing import TYPE_CHECKING

from lineprof.config import BUDGET, LINEPROF, ConfigError, UnreadableError, find, read
from lineprof.errors import LineprofError
from lineprof.model.budgets import (
    COUNT,
    FUNCTION,
    LIMITS,
    LINE,
    PROGRAM,
    SHARE,
    SIZE,
    TIME,
    Budget,
    Budgets,
    Limit,
)
from lineprof.model.units import BYTES_OF_UNIT, NS_OF_UNIT
from lineprof.patterns import check, did_you_mean, near, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import NoReturn

    Table = Mapping[str, object]

_TABLES = ("tool", LINEPROF, BUDGET)  # of a file that has other tables

_HEADER = f"[{'.'.join(_TABLES)}]"

_NUMBER = re.compile(r"(\d{1,18}(?:_\d+)*(?:\.\d{1,18})?)\s*(\S*)", re.ASCII)

_UNITS: Mapping[str, Mapping[str, int]] = {
    TIME: {**NS_OF_UNIT, "min": 60 * 10**9},
    SHARE: {"%": 1},
    SIZE: BYTES_OF_UNIT,
}

_EXAMPLES = {TIME: "'30 ms'", SHARE: "'40 %'", COUNT: "1000", SIZE: "'10 MB'"}

_NAMES = {FUNCTION: ("name",), LINE: ("at", "file", "text")}

_MAX_COUNT = 10**18


def read_budgets(file: str | None) -> Budgets:
    """Return the budgets in `file`, else in the configuration; ConfigError.

    A file has them in its tables ``[program]``, ``[[function]]`` and ``[[line]]``, or
    in those below ``[tool.lineprof.budget]``.
    """
    prefix = f"{'.'.join(_TABLES)}."
    if file is None:
        file, table = _found()
    else:
        content = _content(file)
        nested = _nested(content)
        if nested is None and os.path.basename(file) == "pyproject.toml":
            raise ConfigError(f"{file} has no table {_HEADER}", hint="add one")
        table = content if nested is None else nested
        prefix = "" if nested is None else prefix
    reader = _Reader(file, prefix)
    budgets = tuple(reader.budgets(table))
    if not budgets:
        raise ConfigError(
            f"{file} has no budget",
            hint="add [program], [[function]] or [[line]] with limits",
        )
    return Budgets(file=file, budgets=budgets)


def _found() -> tuple[str, Table]:
    """Return the file of configuration that has budgets, and these."""
    found = find(program=os.curdir)
    if found.fault:
        raise ConfigError(found.fault, hint="correct it, or name one with --budget")
    table = _nested(found.content)
    if table is None:
        where = f"{found.path} has no {_HEADER}" if found.path else "there is no budget"
        refused = "".join(f"; {remark}" for remark in found.refused)
        hint = "name a file with --budget, or an earlier run with --baseline"
        raise ConfigError(f"{where}{refused}", hint=hint)
    return found.path, table


def _content(file: str) -> Table:
    try:
        return read(file, whole=True)
    except OSError as error:
        raise ConfigError(
            f"cannot read the budget {file!r}: {error.strerror}",
            hint="name a file of TOML with --budget",
        ) from None
    except (UnreadableError, ValueError) as error:
        raise ConfigError(f"{file}: {error}", hint="correct it") from None


def _nested(content: Table) -> Table | None:
    """Return the table [tool.lineprof.budget]; None if there is none."""
    table: object = content
    for name in _TABLES:
        if not isinstance(table, dict) or name not in table:
            return None
        table = table[name]
    if not isinstance(table, dict):
        raise ConfigError(f"{'.'.join(_TABLES)} is no table", hint=f"write {_HEADER}")
    return table


class _Reader:
    """The budgets of one file; errors name the place of the key."""

    def __init__(self, file: str, prefix: str) -> None:
        self._file = file
        self._prefix = prefix
        self._lines = _lines_of(file)

    def budgets(self, table: Table) -> Iterator[Budget]:
        """Yield all budgets; ConfigError for anything that is none."""
        for key, value in table.items():
            if key not in LIMITS:
                self._unknown(key, LIMITS, self._prefix.rstrip(".") or "the file")
            elif key == PROGRAM:
                place = f"[{self._prefix}{key}]"
                if not isinstance(value, dict):
                    self._fail(place, "it is no table", f"write {place}")
                yield self._budget(PROGRAM, "", value, place)
            else:
                yield from self._several(key, value)

    def _several(self, key: str, value: object) -> Iterator[Budget]:
        header = f"[[{self._prefix}{key}]]"
        if not isinstance(value, list):
            self._fail(header, "it is no list of tables", f"write {header}")
        for number, one in enumerate(value, 1):
            place = f"{header} {number}"
            if not isinstance(one, dict):
                self._fail(place, "it is no table", f"write {header}")
            names = {name: one[name] for name in _NAMES[key] if name in one}
            for name, text in names.items():
                if not isinstance(text, str) or not text.strip():
                    self._fail(place, f"{name} = {text!r} is no text", "quote a name")
            title = str(names.get("name") or names.get("at") or names.get("file", ""))
            place = f"{place} ({title})" if title else place
            if key == LINE:
                self._check_line(names, place)
            elif not names:
                self._fail(place, "name is missing", "name a function, as view does")
            try:
                check(title)
            except LineprofError as error:
                self._fail(place, error.message, error.hint)
            text = str(names.get("text", "")).strip()
            yield self._budget(key, title, one, place, text=text)

    def _check_line(self, names: Table, place: str) -> None:
        """Raise ConfigError unless a line is named by its number or by its text."""
        hint = "write at = 'train.py:12', or file and text"
        if "at" in names:
            if len(names) > 1:
                self._fail(place, "it has at and file or text", "leave one out")
            if not parse(str(names["at"])).line:
                self._fail(place, f"at = {names['at']!r} names no line", hint)
        elif len(names) < len(_NAMES[LINE]) - 1:
            self._fail(place, "it names no line", hint)

    def _budget(
        self, what: str, name: str, table: Table, place: str, text: str = ""
    ) -> Budget:
        limits: list[Limit] = []
        known = LIMITS[what]
        own = (*_NAMES.get(what, ()), *(("optional",) if what != PROGRAM else ()))
        for key, value in table.items():
            if key in known:
                limits.append(self._limit(key, known[key], value, place))
            elif key not in own:
                self._unknown(key, {**known, **dict.fromkeys(own, "")}, place)
        optional = table.get("optional", False)
        if not isinstance(optional, bool):
            self._fail(place, f"optional = {optional!r}", "write true or false")
        if not limits:
            self._fail(place, "it has no limit", f"add one of {', '.join(known)}")
        return Budget(
            what=what,
            name=name,
            limits=tuple(limits),
            text=text,
            optional=optional,
            place=place,
            line=self._line_of(text or name or place),
        )

    def _limit(self, key: str, kind: str, value: object, place: str) -> Limit:
        example = f"{key} = {_EXAMPLES[kind]}"
        shown = f"{key} = {value!r}"
        if kind == COUNT:
            if isinstance(value, bool) or not isinstance(value, int):
                self._fail(place, f"{shown} is no whole number", f"write {example}")
            if not 0 <= value <= _MAX_COUNT:
                self._fail(place, f"{shown} is no number of {key}", f"write {example}")
            return Limit(key=key, kind=kind, value=Fraction(value), text=f"{value:,}")
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            what = "is negative" if value < 0 else "has no unit"
            self._fail(place, f"{shown} {what}", f"write {example}")
        if not isinstance(value, str):
            self._fail(place, f"{shown} is no {kind}", f"write {example}")
        text = value.strip()
        if text.startswith("-"):
            self._fail(place, f"{shown} is negative", f"write {example}")
        found = _NUMBER.fullmatch(text)
        units = _UNITS[kind]
        if found is None or found[2] not in units:
            hint = f"write {example}; units are {', '.join(dict.fromkeys(units))}"
            no_unit = found is not None and not found[2]
            what = "has no unit" if no_unit else f"is no {kind}"
            self._fail(place, f"{shown} {what}", hint)
        amount = Fraction(found[1].replace("_", "")) * units[found[2]]
        return Limit(key=key, kind=kind, value=amount, text=text)

    def _unknown(self, key: str, known: Mapping[str, object], place: str) -> NoReturn:
        question = did_you_mean(near(key, known)[:1])
        hint = question or f"known are: {', '.join(known)}"
        self._fail(place, f"there is no key {key!r}", hint)

    def _fail(self, place: str, message: str, hint: str) -> NoReturn:
        raise ConfigError(f"{self._file}: {place}: {message}", hint=hint)

    def _line_of(self, text: str) -> int:
        """Return the first line of the file that has a text, or 1."""
        return next(
            (number for number, line in enumerate(self._lines, 1) if text in line), 1
        )


def _lines_of(file: str) -> list[str]:
    """Return the lines of a file that was read before; [] if it is gone."""
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read().split("\n")
    except OSError:
        return []
