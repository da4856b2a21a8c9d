"""python -m lineprof: the same as the command `lineprof`."""

from __future__ import annotations

import sys

from lineprof.cli.main import main

if __name__ == "__main__":
    status = main()
    if status:  # else who runs this module goes on, as with line_profiler's
        sys.exit(status)
