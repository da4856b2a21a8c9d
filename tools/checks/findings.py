"""Findings of a check: a mismatch of numbers, or a reader that is missing."""

from __future__ import annotations


class Mismatch(Exception):  # noqa: N818  # a finding, not an error of the check
    """A reader refused a file, or read other numbers than expected."""


class MissingReader(Exception):  # noqa: N818  # the same
    """A reader is not installed; the message says how to install it."""

    def __init__(self, name: str, remedy: str) -> None:
        super().__init__(f"{name} is not on this machine: {remedy}")
        self.name = name


def same(what: str, theirs: float, expected: float, tolerance: float = 0) -> None:
    """Raise Mismatch unless a reader's number is the expected one, to a tolerance."""
    if abs(theirs - expected) > tolerance:
        raise Mismatch(f"{what}: the reader has {theirs}, expected {expected}")
