"""What a command is: its name, its flags, and what it does."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence


def as_they_are(words: Sequence[str]) -> Sequence[str]:
    """Return `words`."""
    return words


class Command(NamedTuple):
    """One command; ``lineprof NAME --help`` shows its flags."""

    name: str
    help: str
    add_flags: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.ArgumentParser, argparse.Namespace], None]
    # What the words after the name are for `argparse`; LineprofError.
    prepare: Callable[[Sequence[str]], Sequence[str]] = as_they_are
    # Takes those words instead of all that, and returns the exit status.
    take_over: Callable[[Sequence[str]], int] | None = None
