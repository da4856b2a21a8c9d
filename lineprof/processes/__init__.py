"""Programs of several processes: recovery, children, ranks."""
