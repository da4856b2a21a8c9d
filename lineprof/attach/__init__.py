"""Attaching to a running Python process: a source text that runs in another process.

`refusal.check` finds the interpreter of a process, or says why and what to do;
`injection.run_in` makes it run the text. Linux alone.
"""
