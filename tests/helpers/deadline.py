"""The deadline of waits: no machine is so busy that a sound program reaches it.

It is shorter than the silence after which the suite ends a process of tests
(``tools/dev/sessions.py``), so a wait says itself what did not come.
"""

DEADLINE = 180  # s
