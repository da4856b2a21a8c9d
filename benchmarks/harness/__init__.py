"""Measuring code of the benchmarks: tools, baselines, paired timing, goals, tables."""
