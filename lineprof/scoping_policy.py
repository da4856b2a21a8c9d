"""Alias of line_profiler's module: see `lineprof.scoping`."""

from lineprof.scoping import DEFAULT_SCOPING_POLICIES, ScopingPolicy, ScopingPolicyDict

__all__ = ["DEFAULT_SCOPING_POLICIES", "ScopingPolicy", "ScopingPolicyDict"]
