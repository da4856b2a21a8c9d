"""pstats files: the numbers of ``view --functions``, and callers."""

from __future__ import annotations

import ast
import io
import pstats
import re
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from example_calls import FIB, FORWARD, IS_EVEN, LEN, MAIN, REPORT, SOLVE, WORK, example
from export_shapes import content, remarks, shapes

from lineprof.model.call_graph import function_totals

if TYPE_CHECKING:
    from pathlib import Path

    from lineprof.line_stats import LineStats

SERVER = """
import sys, tornado.httpserver, tornado.ioloop, tornado.netutil
from snakeviz.main import app
sockets = tornado.netutil.bind_sockets(0, "127.0.0.1")
tornado.httpserver.HTTPServer(app).add_sockets(sockets)
print(sockets[0].getsockname()[1], flush=True)
tornado.ioloop.IOLoop.current().start()
"""


def written(stats: LineStats, folder: Path) -> str:
    file = folder / "out.pstats"
    file.write_bytes(content(stats, "pstats"))
    return str(file)


def loaded(stats: LineStats, folder: Path) -> dict[Any, Any]:
    """Return the statistics that the module pstats reads."""
    return cast("Any", pstats.Stats(written(stats, folder))).stats  # type: ignore[no-any-return]


@pytest.mark.parametrize("shape", list(shapes()))
def test_functions_have_calls_and_times(shape: str, tmp_path: Path) -> None:
    stats = shapes()[shape]
    found = loaded(stats, tmp_path)
    numbers = function_totals(stats)
    assert len(found) == max(1, len(numbers))  # pstats cannot open an empty file
    for (file, line, name), one in numbers.items():
        key = (file, line, name.replace("\udcff", "\\udcff"))
        place = key if file else ("~", 0, f"<{name}>")
        assert found[place][:4] == (
            *(one.primitive_calls, one.calls),
            *(one.self_ns / 1e9, one.total_ns / 1e9),
        )


def test_callers_have_their_share_of_calls_and_time(tmp_path: Path) -> None:
    found = loaded(example(), tmp_path)
    assert found[FORWARD][4] == {
        MAIN: (3, 3, 3_450 / 1e9, 4_564_877 / 1e9),
        WORK: (1, 1, 1_150 / 1e9, 1_532_779 / 1e9),
    }
    assert found[FIB][4] == {
        FORWARD: (4, 4, 4_414 / 1e9, 33_450 / 1e9),
        FIB: (28, 0, 29_036 / 1e9, 0.0),
    }
    assert found[IS_EVEN][4][SOLVE][:2] == (4, 4)
    assert found["~", 0, f"<{LEN[2]}>"][4] == {REPORT: (1, 1, 60 / 1e9, 60 / 1e9)}
    assert found[WORK][4] == {}


def test_pstats_prints_the_file(tmp_path: Path) -> None:
    file = written(example(), tmp_path)
    stream = io.StringIO()
    stats = pstats.Stats(file, stream=stream)
    stats.sort_stats("cumulative").print_stats().print_callers().print_callees()
    text = stream.getvalue()
    assert "77 function calls (35 primitive calls) in 0.008 seconds" in text
    assert "{builtins.len}" in text
    assert text.encode()
    words = [sys.executable, "-m", "pstats", file]
    run = subprocess.run(words, input=b"stats\n", capture_output=True, check=True)
    assert b"solve.py:1(fib)" in run.stdout


def test_pstats_adds_two_files(tmp_path: Path) -> None:
    file = written(example(), tmp_path)
    stats = cast("Any", pstats.Stats(file, file))
    assert stats.total_calls == 2 * 77


def test_gprof2dot_reads_the_file(tmp_path: Path) -> None:
    gprof2dot = pytest.importorskip("gprof2dot")
    profile = gprof2dot.PstatsParser(written(example(), tmp_path)).parse()
    functions = {f.name: f for f in profile.functions.values()}
    fib = functions["solve:1:fib"]
    assert fib.called == 32
    assert fib[gprof2dot.TOTAL_TIME] == 33_450 / 1e9
    main = functions["main:6:main"]
    assert main[gprof2dot.TIME] == 1_675_329 / 1e9


def test_snakeviz_serves_the_file(tmp_path: Path) -> None:
    if find_spec("snakeviz") is None:  # importing snakeviz changes the process
        pytest.skip("snakeviz is not installed")
    file = written(example(), tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout
            port = int(server.stdout.readline())
            address = f"http://127.0.0.1:{port}/snakeviz/{quote(file, safe='')}"
            with urlopen(address, timeout=300) as answer:
                page = answer.read().decode()
        finally:
            server.kill()
    assert "Model.forward" in page
    found = re.search(r"var table_data = (\[.*\]);", page)
    assert found
    rows = {row[-1]: row for row in ast.literal_eval(found[1])}
    numbers = function_totals(example())
    for key in (MAIN, FORWARD, FIB):
        file_, line, name = key
        calls, own, _, whole, *_ = rows[f"{file_}:{line}({name})"]
        one = numbers[key]
        assert calls[1] == one.calls
        assert own == f"{one.self_ns / 1e9:.4g}"
        assert whole == f"{one.total_ns / 1e9:.4g}"


def test_missing_data_is_remarked_on() -> None:
    assert remarks(example(), "pstats") == [
        "GPU time is left out: pstats has no place for it"
    ]
    assert "the profile is empty" in remarks(shapes()["nothing"], "pstats")[0]
