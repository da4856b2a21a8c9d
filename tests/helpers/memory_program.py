"""A program whose function `keep` allocates blocks, and where memory is measured."""

from __future__ import annotations

import sys

import pytest

ON_LINUX = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="memory is measured on Linux"
)

PROGRAM = """\
import os, resource, signal, subprocess, sys, threading
profile = vars(__import__("builtins")).get("profile", lambda function: function)

@profile
def keep(kept):
    for place in range(len(kept)):
        kept[place] = bytes(1000)
    return kept

"""
KEEP_LINE = 7  # of PROGRAM, which allocates
KEEP = 3  # its distance from the decorator
