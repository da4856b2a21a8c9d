"""Arithmetic on packed numbers, in C, without state: of snapshots, traces, files."""

from __future__ import annotations

from lineprof import _core

call_times = _core.call_times
count_slices = _core.count_slices
idle_sums = _core.idle_sums
line_records = _core.line_records
live_clock = _core.live_clock
live_notes = _core.live_notes
live_read = _core.live_read
select_slices = _core.select_slices
