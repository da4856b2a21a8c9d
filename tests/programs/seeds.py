"""Numbers of random programs: each Python and core tries other ones.

A number runs again in any of them, as
``LINEPROF_TEST_SEED=123456 pytest tests/behaviour/test_hits_random.py -k '[123456]'``.
"""

from __future__ import annotations

import os
import sys
import zlib

from running import core_name

STEP = 7  # so that programs of each size are among them, with ways out of each kind


def seeds(count: int, after: int = 0) -> range:
    """Return `count` numbers for `programs.generate.program`, STEP apart.

    A test that shifts them by `after`, less than STEP, has none that others have.
    """
    configuration = f"{sys.version_info[:3]} {core_name()}"
    given = os.environ.get("LINEPROF_TEST_SEED")
    first = int(given or zlib.crc32(configuration.encode()) % 10**6) + after
    return range(first, first + STEP * count, STEP)
