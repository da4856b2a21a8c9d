"""Memory of random programs under lineprof, compared with that of their own model.

    python tests/programs/compare_memory.py --seeds 1000 --core settrace

Each kind of statement is forced in turn. Prints the differences, and at the end the
numbers of programs, call paths and blocks; exits with 1 if any program differs.
`make check-memory` does this with every Python and core.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "helpers")]

from compiled_doubles import double  # noqa: E402 - on that path
from memory_runs import Compared, blocks_module  # noqa: E402
from programs.memory import KINDS, program  # noqa: E402


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--seeds", type=int, default=300, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--core", default="auto")
    parser.add_argument("--show", type=int, default=20, help="programs to list")
    parser.add_argument("--print", action="store_true", help="their source as well")
    return parser.parse_args()


def main() -> int:
    """Compare programs; return 1 if any of them differs."""
    options = arguments()
    os.environ["LINEPROF_CORE"] = options.core
    gc.freeze()  # what is collected at each turn is small
    with tempfile.TemporaryDirectory(prefix="lineprof-blocks-") as folder:
        blocks = blocks_module(double(Path(folder), "python/blocks.c"))
    paths = taken = wrong = 0
    for seed in range(options.first, options.first + options.seeds):
        text = program(seed, KINDS[seed % len(KINDS)])
        one = Compared(text, blocks)
        paths, taken = paths + one.paths, taken + one.blocks
        if not one.wrong:
            continue
        wrong += 1
        if wrong <= options.show:
            print(f"{seed}: {one.wrong[0]} ({len(one.wrong)} differences)")
            if options.print:
                lines = enumerate(text.splitlines(), 1)
                print(*(f"{number:4} {line}" for number, line in lines), sep="\n")
    version = ".".join(map(str, sys.version_info[:3]))
    counts = f"{options.seeds} programs, {paths} call paths, {taken} blocks"
    print(f"{version} {options.core}: {counts}, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
