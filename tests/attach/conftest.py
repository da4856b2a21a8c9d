"""Tests of joining processes, which do not depend on where events come from."""

from __future__ import annotations

import sys

import pytest
from running import hook_name

_OF_ATTACHING = "test_attach.py"  # the one file whose tests count lines


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that run with the other hook of this Python."""
    if hook_name() == ("monitoring" if sys.version_info >= (3, 12) else "settrace"):
        return
    for item in items:
        if item.path.parent.name == "attach" and item.path.name != _OF_ATTACHING:
            item.add_marker(pytest.mark.skip("joining does not depend on the hook"))
