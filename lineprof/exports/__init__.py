"""Files for other programs, by the name of their format."""

from __future__ import annotations

from lineprof.exports import csv_, json_, line_profiler
from lineprof.exports.export import Export

__all__ = ["EXPORTS", "Export"]

EXPORTS = {one.name: one for one in (line_profiler.EXPORT, csv_.EXPORT, json_.EXPORT)}
