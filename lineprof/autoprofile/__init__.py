"""Profiling by name: whole files, modules, classes and functions, undecorated."""

from __future__ import annotations
