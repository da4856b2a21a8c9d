"""Bytecode: tables by which the C core reads events, and the code a file defines."""
