"""Tests of line_profiler that lineprof does not pass, and why.

A pattern names tests as check_upstream.py shows them; ``*`` stands for anything.
"""

from __future__ import annotations

_AST = "of the classes that rewrite a program's syntax tree; ours watches its code"
_INTERNALS = "of line_profiler's own compiled module"

# Whole files, which are not even collected.
LEFT_OUT = {
    "test_windows_wheel_repair.py": "of a script that repairs line_profiler's wheels",
    "test_docs_conf.py": "of the configuration of line_profiler's documentation",
    "test_cython.py": _INTERNALS,
}

REASONS: dict[str, str] = {}
