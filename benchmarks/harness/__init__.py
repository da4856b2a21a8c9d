"""What the benchmarks share: floors, copies of programs, tools, paired timing."""
