"""`argparse` as our commands use it: what is wrong is said in one line."""

from __future__ import annotations

import argparse

from lineprof.commands.output import say
from lineprof.errors import LineprofError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with status 2."""
        say(f"{message}; see {self.prog} --help", name=self.prog)
        self.exit(2)


def checked(parse: Callable[[str], object]) -> Callable[[str], object]:
    """Return `parse`, which raises LineprofError, as argparse wants it."""

    def parsed(text: str) -> object:
        try:
            return parse(text)
        except LineprofError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed
