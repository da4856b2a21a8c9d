"""Comparison of programs: what two profiles have in common, and what changed."""
