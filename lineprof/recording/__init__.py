"""Recording: LineProfiler, and its session with the C core."""
