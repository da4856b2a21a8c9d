"""The JSON view, as docs/json.md describes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import example_calls
from example_stats import example
from view_text import text_of

from lineprof.line_stats import LineStats

if TYPE_CHECKING:
    from collections.abc import Iterable


def shown(stats: LineStats, **options: bool) -> str:
    return text_of(stats, "json", **options)


def documented(names: Iterable[str]) -> list[str]:
    text = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    return [name for name in names if f"`{name}`" not in text]


def test_json_has_the_documented_fields() -> None:
    profile = json.loads(shown(example()))
    assert list(profile) == ["format", "unit", "functions", "processes", "warnings"]
    assert (profile["format"], profile["unit"]) == (1, "ns")
    function = profile["functions"][2]
    assert list(function) == ["file", "name", "line", "total_ns", "calls", "lines"]
    assert function["lines"][0] == {
        "line": 16,
        "hits": 152,
        "time_ns": 30_400,
        "await_ns": 0,
        "raw_ns": 33_000,
        "source": "        for batch in data:",
    }
    assert profile["processes"][0]["argv"] == ["train.py", "--fast"]
    for part in (profile, function, function["lines"][0], profile["processes"][0]):
        assert documented(part) == []


def test_json_skips_and_sorts_and_is_ascii() -> None:
    text = shown(example(), skip_zero=True, sort=True)
    names = [function["name"] for function in json.loads(text)["functions"]]
    assert names == ["Model.size", "Model.fit", "fib", "load"]
    assert text.isascii()


def test_json_of_an_empty_profile_and_of_big_numbers_is_valid() -> None:
    assert json.loads(shown(LineStats({}, 1e-9)))["functions"] == []
    stats = LineStats({("a.py", 1, "f"): [(1, 2**63 - 1, 2**63 - 1)]}, 1e-9)
    (line,) = json.loads(shown(stats))["functions"][0]["lines"]
    assert (line["time_ns"], line["hits"]) == (2**63 - 1, 2**63 - 1)


def test_json_has_null_for_unknown_source() -> None:
    stats = LineStats({("/no/file", 1, "f"): [(2, 1, 1)]}, 1e-9)
    (line,) = json.loads(shown(stats))["functions"][0]["lines"]
    assert line["source"] is None


def test_json_has_calls_if_they_were_recorded() -> None:
    profile = json.loads(shown(example_calls.example()))
    assert list(profile)[2:4] == ["functions", "calls"]
    for part in (profile, *profile["calls"], *profile["functions"]):
        assert documented(part) == []
    outside, first, *_ = profile["calls"]
    assert (outside["caller"], outside["line"]) == (None, 0)
    assert first == {
        "caller": list(example_calls.MODULE),
        "line": 29,
        "callee": list(example_calls.MAIN),
        "calls": 1,
        "primitive_calls": 1,
        "total_ns": 6_242_436,
        "inclusive_ns": 6_242_436,
        "gpu_ns": 600_000,
    }
    assert profile["calls"][-1]["callee"] == ["", 0, "builtins.len"]
    assert "gpu_ns" not in profile["calls"][-1]
    main = profile["functions"][1]
    assert (main["primitive_calls"], main["self_ns"]) == (1, 1_675_329)
    joined = main["lines"][5]
    assert documented(joined) == []
    assert joined["self_ns"] == 1_540_879
    assert joined["off_cpu_ns_by_cause"] == {"lock": 1_500_000, "gil": 20_000}
    for function in profile["functions"]:
        own = sum(line["self_ns"] for line in function["lines"])
        assert own == function["self_ns"]
        into = [one for one in profile["calls"] if one["callee"][2] == function["name"]]
        assert sum(one["total_ns"] for one in into) == function["total_ns"]


def test_raw_times_are_without_self_times() -> None:
    profile = json.loads(shown(example_calls.example(), raw=True))
    assert not any("self_ns" in one for f in profile["functions"] for one in f["lines"])
    assert profile["calls"]
