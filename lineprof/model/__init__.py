"""A profile as values: records, sums and merging; no files, no clock."""
