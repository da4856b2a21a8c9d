"""Alias of line_profiler's module: see `lineprof.decorate.callables`."""

from lineprof.decorate.callables import (
    DEFAULT_SCOPING_POLICIES,
    ScopingPolicy,
    ScopingPolicyDict,
)

__all__ = ["DEFAULT_SCOPING_POLICIES", "ScopingPolicy", "ScopingPolicyDict"]
