"""Placeholders in the names of files: %p, %h, %q{VAR} and their like."""

from __future__ import annotations

import os

from lineprof.errors import LineprofError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def expand(
    template: str,
    letters: Mapping[str, Callable[[], str]],
    error: type[LineprofError] = LineprofError,
) -> str:
    """Return `template` with its placeholders replaced.

    ``%x`` gives what `letters` has for ``x``, ``%q{VAR}`` a variable of the
    environment and ``%%`` a per cent sign. Raises `error` for any other and
    for a variable that is not set.
    """
    done, rest = "", template
    while rest:
        plain, percent, rest = rest.partition("%")
        done += plain
        if not percent:
            break
        letter, rest = rest[:1], rest[1:]
        if letter == "q" and rest.startswith("{") and "}" in rest:
            name, _, rest = rest[1:].partition("}")
            done += _variable(name, template, error)
        elif letter == "%":
            done += "%"
        elif letter in letters:
            done += letters[letter]()
        else:
            known = "".join(f"%{one}, " for one in letters)
            raise error(
                f"unknown placeholder '%{letter}' in the output name {template!r}",
                hint=f"use {known}%q{{VAR}} or %%",
            )
    return done


def _variable(name: str, template: str, error: type[LineprofError]) -> str:
    value = os.environ.get(name)
    if value is None:
        raise error(
            f"variable {name!r} in the output name {template!r} is not set",
            hint="set it, or leave the placeholder out",
        )
    return value
