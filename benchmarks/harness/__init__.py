"""What the benchmarks share: baselines, copies of programs, tools, paired timing."""
