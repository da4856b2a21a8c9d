"""Tests of calls of C functions, for which one event source has no events."""

from __future__ import annotations

import sys

import pytest
from running import hook_name

HAS_C_EVENTS = sys.version_info < (3, 12) or hook_name() != "settrace"

needs_c_events = pytest.mark.skipif(
    not HAS_C_EVENTS,
    reason="the trace function of 3.12 and later has no events for C functions",
)
