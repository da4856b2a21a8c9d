"""Some rounds of `lineprof attach`; ``make check-attach`` runs many beside a load."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from attach_rounds import KINDS, fault
from target_process import why_not

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.serial
ROUNDS = 2


@pytest.mark.parametrize("flags", [(), ("--memory",)], ids=["lines", "memory"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_client_waits_and_no_child_gets_a_thread(
    kind: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("processes are joined on Linux only")
    if reason := why_not():
        pytest.skip(reason)
    for number in range(ROUNDS):
        assert fault(kind, 7 * number, tmp_path, *flags) == ""
