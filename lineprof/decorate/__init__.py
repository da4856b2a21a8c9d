"""Decoration: the functions in any callable, and the wrappers around them."""
