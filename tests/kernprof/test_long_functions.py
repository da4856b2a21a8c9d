"""Cost of a line event does not grow with the number of lines of the function."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof_forked
from running import plain

from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = plain(
    """
    from time import process_time

    def make(lines):
        text = "def f():\\n" + "    x = 1\\n" * lines
        names = {}
        exec(compile(text, f"of_{lines}_lines.py", "exec"), names)
        return names["f"]

    @profile
    def near():
        return 1

    def seconds(lines):
        f = profile(make(lines))
        found = []
        for _ in range(3):
            began = process_time()
            f()
            found.append(process_time() - began)
        return min(found)

    near()
    print(seconds(20_000) / seconds(2_000))
    """
)


@pytest.mark.serial
@pytest.mark.skipif(
    sys.version_info < (3, 13), reason="sys.settrace itself is quadratic in 3.12"
)
@pytest.mark.parametrize("core", ["settrace", "monitoring"])
def test_ten_times_the_lines_take_about_ten_times_as_long(
    tmp_path: Path, core: str
) -> None:
    (tmp_path / "long.py").write_text(PROGRAM)
    argv = ("-lq", "--core", core, "-o", "p.lprof", "long.py")
    done = kernprof_forked(*argv, cwd=tmp_path)
    assert float(done.out) < 30
    stats = load_stats(str(tmp_path / "p.lprof"))
    hits = [{row.hits for row in f.rows if row.line > 1} for f in stats.functions]
    assert sorted(map(sorted, hits)) == [[1], [3], [3]]
