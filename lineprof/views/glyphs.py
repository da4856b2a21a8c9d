"""The characters that trees and trails are drawn with, or their like in ASCII."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.views.screen import Screen


class Glyphs(NamedTuple):
    """One set of them: the first four are as wide as one another."""

    tee: str  # before a branch that others follow
    elbow: str  # before the last one
    bar: str  # beside what is below the former
    blank: str  # beside what is below the latter
    arrow: str
    dots: str  # for what is left out


_BOXES = Glyphs("├─ ", "└─ ", "│  ", "   ", "→", "…")
_ASCII = Glyphs("|- ", "`- ", "|  ", "   ", "->", "...")


def glyphs_of(screen: Screen) -> Glyphs:
    """Return those that `screen` can show."""
    return _BOXES if screen.boxes else _ASCII
