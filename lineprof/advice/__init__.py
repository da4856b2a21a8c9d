"""Advice: facts that a profile proves about its lines, and the usual remedies."""
