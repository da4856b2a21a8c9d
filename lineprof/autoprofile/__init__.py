"""Profiling by name: whole files, modules, classes and functions, undecorated."""
