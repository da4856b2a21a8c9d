"""Arithmetic on packed numbers of snapshots and traces, in C, without state."""

from __future__ import annotations

from lineprof import _core

call_times = _core.call_times
count_slices = _core.count_slices
idle_sums = _core.idle_sums
line_records = _core.line_records
select_slices = _core.select_slices
