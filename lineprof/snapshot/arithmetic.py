"""Arithmetic on the packed numbers of a snapshot, in C: functions without state."""

from __future__ import annotations

from lineprof import _core

call_times = _core.call_times
line_records = _core.line_records
