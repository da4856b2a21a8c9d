"""Programs to profile: one per file, each with `PROFILED` and `run()`.

`PROFILED` names the functions that a tool decorates; `run()` is plain code
that does one round of a few milliseconds and returns a checkable result.
"""
