"""Alignment of two versions of a program: files, functions and lines."""

from __future__ import annotations

import pytest

from lineprof.comparison.alignment import (
    LineMatcher,
    block_of,
    paired_files,
    paired_functions,
)

pytestmark = pytest.mark.once  # text beside text

Key = tuple[str, int, str]


def pairs(before: str, after: str) -> dict[str, str]:
    """Return the lines that match, by their texts."""
    one, other = before.split("\n"), after.split("\n")
    found = LineMatcher().pairs(one, other)
    return {one[index]: other[same] for index, same in found.items()}


def functions(before: dict[Key, str], after: dict[Key, str]) -> dict[Key, Key]:
    """Return the functions that match; the values are their sources."""
    return paired_functions(
        before,
        after,
        lambda key: before[key].split("\n") if before[key] else None,
        lambda key: after[key].split("\n") if after[key] else None,
    )


# Files.


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (["/a/x.py"], ["/a/x.py", "/b/x.py"], {"/a/x.py": "/a/x.py"}),
        (["/old/p/x.py"], ["/new/p/x.py"], {"/old/p/x.py": "/new/p/x.py"}),
        (
            ["/o/a/x.py", "/o/b/x.py"],
            ["/n/b/x.py", "/n/a/x.py"],
            {"/o/a/x.py": "/n/a/x.py", "/o/b/x.py": "/n/b/x.py"},
        ),
        (["/o/a/x.py"], ["/n/b/x.py"], {"/o/a/x.py": "/n/b/x.py"}),
        (["/o/a/__init__.py"], ["/n/b/__init__.py"], {}),
        (["/o/a/__main__.py"], ["/n/__main__.py"], {}),
        (["/a/__init__.py"], ["a/__init__.py"], {"/a/__init__.py": "a/__init__.py"}),
        (["/o/x.py"], ["/o/y.py"], {}),
    ],
)  # fmt: skip
def test_files_match_by_the_longest_common_end(
    before: list[str], after: list[str], expected: dict[str, str]
) -> None:
    assert paired_files(before, after) == expected
    assert paired_files(before[::-1], after[::-1]) == expected


# Functions.

BODY = "    rows = read(path)\n    rows.sort(key=len)\n    return rows[:10]"


def test_a_name_goes_before_the_source() -> None:
    before = {
        ("a.py", 1, "f"): f"def f():\n{BODY}",
        ("a.py", 9, "g"): "def g():\n    1",
    }
    after = {("a.py", 1, "f"): "def f():\n    2", ("a.py", 9, "h"): f"def h():\n{BODY}"}
    assert functions(before, after) == {("a.py", 1, "f"): ("a.py", 1, "f")}


def test_functions_of_one_name_match_by_their_source_and_then_in_order() -> None:
    before = {
        ("a.py", 1, "<lambda>"): "f = lambda: one(1)",
        ("a.py", 2, "<lambda>"): "g = lambda: two(2)",
        ("a.py", 3, "<lambda>"): "h = lambda: three(3)",
    }
    after = {
        ("a.py", 11, "<lambda>"): "g = lambda: two(2)",
        ("a.py", 12, "<lambda>"): "f = lambda: one(0)",
        ("a.py", 13, "<lambda>"): "h = lambda: three(3)",
    }
    found = functions(before, after)
    assert {one[1]: other[1] for one, other in found.items()} == {2: 11, 1: 12, 3: 13}


def test_a_renamed_and_edited_function_matches_the_most_similar_one() -> None:
    before = {("a.py", 1, "f"): f"def f(path):\n{BODY}"}
    edited = BODY.replace("[:10]", "[:20]")
    after = {
        ("b.py", 1, "other"): "def other():\n    return rows[:10]",
        ("b.py", 9, "loaded"): f"def loaded(path):\n{edited}",
    }
    assert functions(before, after) == {("a.py", 1, "f"): ("b.py", 9, "loaded")}


def test_short_functions_match_none_by_chance() -> None:
    before = {("a.py", 1, "A.size"): "def size(self):\n    return 1"}
    after = {("b.py", 1, "B.one"): "def one(self):\n    return 1"}
    assert functions(before, after) == {}


def test_without_source_a_name_that_is_there_once_matches() -> None:
    before = {("a.py", 1, "f"): "", ("a.py", 5, "<lambda>"): ""}
    after = {("b.py", 7, "f"): "", ("b.py", 9, "<lambda>"): ""}
    assert functions(before, after) == {("a.py", 1, "f"): ("b.py", 7, "f")}


# Lines.


def test_blanks_and_comments_do_not_count() -> None:
    before = "def f():\n    x = g( 1 )  # one\n    s = '# two'"
    after = "def f():\n  if y:\n      x = g(1)\n  s = '# three'"
    assert pairs(before, after) == {
        "def f():": "def f():",
        "    x = g( 1 )  # one": "      x = g(1)",
        "    s = '# two'": "  s = '# three'",  # similar: s =
    }


def test_similar_lines_match_between_their_neighbours() -> None:
    before = "a()\nloss = model(batch)\nlog(loss)\nb()"
    after = "a()\nprint(1)\nloss = model(batch, mask)\nb()"
    assert pairs(before, after) == {
        "a()": "a()",
        "loss = model(batch)": "loss = model(batch, mask)",
        "b()": "b()",
    }


def test_other_lines_match_none() -> None:
    assert pairs("a()\nx = 1\nb()", "a()\nraise ValueError\nb()") == {
        "a()": "a()",
        "b()": "b()",
    }


def test_a_line_that_changed_places_matches_if_its_text_is_there_once() -> None:
    before = "first()\nsecond()\nthird()\nlast()"
    after = "third()\nlast()\nfirst()\nsecond()"
    assert pairs(before, after) == {line: line for line in before.split("\n")}


def test_long_functions_match_around_their_edits() -> None:
    # 3,000 lines are more than difflib compares at once.
    before = [f"x{n} = f({n})" for n in range(3000)]
    after = [f"x{n} = {'f' if n % 7 else 'g'}({n})" for n in range(3000)]
    after[100:100] = ["inserted()"] * 50
    found = LineMatcher().pairs(before, after)
    assert found == {n: n if n < 100 else n + 50 for n in range(3000)}


def test_many_equal_lines_are_matched_in_bounded_work() -> None:
    before, after = ["x += 1", "y += 1"] * 20_000, ["y += 1", "z += 1"] * 20_000
    found = LineMatcher().pairs(before, after)
    assert list(found.values()) == sorted(found.values())


def test_no_line_matches_twice() -> None:
    before = ["a", "b", "c", "a", "d e f", "b"]
    after = ["b", "a", "d e g", "a", "b", "c"]
    found = LineMatcher().pairs(before, after)
    assert len({*found.values()}) == len(found)


# Blocks.


@pytest.mark.parametrize(
    ("text", "first", "last", "size"),
    [
        ("def f():\n    a\n\n    b\n\nc", 1, 0, 5),
        ("@cached\n@other\ndef f():\n    a\nb", 1, 0, 4),
        ("def f(\n    x,\n):\n    a\nb", 1, 0, 4),
        ("def f():\n# comment\n    a\nb", 1, 0, 3),
        ('def f():\n    s = """\ntext\n"""\n    a\nb', 1, 5, 5),
        ("class A:\n    def f(self):\n        a\n    def g(self):\n        b", 2, 0, 2),
        ("f = lambda: 1\nb", 1, 0, 1),
        ("a", 9, 0, 0),
    ],
)
def test_a_block_ends_where_the_indentation_does(
    text: str, first: int, last: int, size: int
) -> None:
    assert len(block_of(text.split("\n"), first, last)) == size
