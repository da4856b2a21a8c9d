"""Tests of the files that are released: with the first hook of each Python alone."""

from __future__ import annotations

import os

# The suite runs once per hook; a wheel is the same with each, and takes long to build.
collect_ignore = (
    ["test_wheel.py"] if os.environ.get("LINEPROF_CORE") == "monitoring" else []
)
