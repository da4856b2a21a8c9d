"""What a check can find: a thing that is wrong, or a reader that is not there."""

from __future__ import annotations


class Wrong(Exception):  # noqa: N818  # a finding, no fault of the checker
    """A reader refused a file, or read other numbers than ours."""


class Missing(Exception):  # noqa: N818  # the same
    """A reader is not on this machine; the message says what to install."""

    def __init__(self, name: str, remedy: str) -> None:
        super().__init__(f"{name} is not on this machine: {remedy}")
        self.name = name


def same(what: str, theirs: float, ours: float, tolerance: float = 0) -> None:
    """Raise Wrong unless a reader's number is ours, to a tolerance."""
    if abs(theirs - ours) > tolerance:
        raise Wrong(f"{what}: the reader has {theirs}, we have {ours}")
