"""Methods, properties, a closure, and exceptions that pass through."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PROFILED = ("Account.deposit", "Account.balance", "adder", "trade")
ROUNDS = 250


class Account:
    """A sum of money."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.cents = 0

    def deposit(self, cents: int) -> None:
        """Add money; an odd amount is refused."""
        if cents % 2:
            raise ValueError  # slow
        self.cents += cents  # slow

    @property
    def balance(self) -> int:
        """Return the sum."""
        cents = self.cents
        return cents  # slow  # noqa: RET504 - two lines are wanted


def adder(n: int) -> Callable[[int], int]:
    """Make a function that adds `n`."""
    result = n + 1  # slow
    return result.__add__


def trade(rounds: int) -> int:
    """Deposit, read the sum, and catch refusals."""
    account = Account()
    for i in range(rounds):
        add = adder(i)
        try:
            account.deposit(add(1))
        except ValueError:
            account.cents -= 1  # slow
        account.cents += account.balance & 1
    return account.cents


def run() -> int:
    """Run the program once."""
    return trade(ROUNDS)
