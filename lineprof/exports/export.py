"""What an export is: a name, and a module that makes a file's content of a profile."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from lineprof.stats import Profile


@dataclass(frozen=True)
class Export:
    """One format that other programs read.

    Its module is imported once it is asked for its content: the formats are
    many, and a command writes one.
    """

    name: str
    suffix: str  # of a file in it
    help: str
    is_text: bool = True  # that a person can read
    module: str = ""  # of lineprof.exports; "": of the same name

    def content(self, stats: Profile) -> Iterable[bytes]:
        """Yield the file's content, piece by piece."""
        made: Iterable[bytes] = self._loaded().content(stats)
        return made

    def remarks(self, stats: Profile) -> Iterable[str]:
        """Yield what the file says otherwise than the profile, a line each."""
        said = getattr(self._loaded(), "remarks", None)
        return () if said is None else said(stats)

    def _loaded(self) -> ModuleType:
        from importlib import import_module  # noqa: PLC0415  # not for --help

        return import_module(f"lineprof.exports.{self.module or self.name}")
