"""Hits of whole functions: long, far down, nested, or created in unusual ways."""

from __future__ import annotations

import pytest
from check import check_lines

pytestmark = pytest.mark.usefixtures("hook")


def test_a_function_with_a_long_docstring() -> None:
    check_lines(
        '''
        @profile
        def f(n):
            """Do nothing.

            In many lines.
            """
            # A comment.

            x = n  #> 1
            """A string that stands alone,
            over lines."""
            # Another.
            return x  #> 1

        result = f(1)
        ''',
        hits=dict.fromkeys((3, 4, 5, 6, 7, 8, 11, 12), 0),
    )


def test_decorator_lines_above_a_function_have_no_hits_in_it() -> None:
    check_lines(
        """
        import functools

        def twice(function):
            @functools.wraps(function)
            def call(*args):
                function(*args)
                return function(*args)
            return call

        @twice
        @profile
        @functools.lru_cache(
            maxsize=None,
        )
        def cached(n):
            return n

        @twice
        @profile
        def f(n):  #> 0
            return n  #> 2

        result = f(1), cached(2)
        """
    )


def test_nested_functions_and_classes_are_lines_of_their_own() -> None:
    check_lines(
        """
        @profile
        def f(n):
            def inner(x):
                return x + n  #> 0
            class Local:
                y = n  #> 0
                def method(self):
                    return self.y  #> 0
            return inner(1) + Local().method()  #> 1

        result = f(2)
        """
    )


def test_imports_del_global_assert_and_augmented_targets() -> None:
    check_lines(
        """
        g = 0

        @profile
        def f(d, *args, key=None, **more):
            global g
            import os.path  #> 2
            from os import sep  #> 2
            g += 1  #> 2
            d["a"] += 1  #> 2
            d["b"]: int = g  #> 2
            del d["a"]  #> 2
            assert args, "message"  #> 2
            (a, *rest), b = args, key  #> 2
            return g, a, rest, b, more  #> 2

        result = f({"a": 0}, 1, 2, key=3, z=4), f({"a": 0}, *[1], **{"key": 2})
        """
    )


def test_walrus_conditional_and_boolean_expressions() -> None:
    check_lines(
        """
        @profile
        def f(items):
            while (item := items.pop()) is not None:
                x = item if item > 1 else -item  #> 3
                y = x and item or x  #> 3
            return x, y  #> 1

        result = f([None, 1, 2, 3])
        """
    )


def test_a_function_that_was_never_called_has_an_entry_without_hits() -> None:
    outcome = check_lines(
        """
        @profile
        def f():
            pass
        """
    )
    assert len(outcome.hits) == 1


def test_functions_registered_from_outside() -> None:
    check_lines(
        """
        def helper(n):
            return n + 1  #> 3

        def other(n):
            return n - 1  #> 0

        def main():
            for i in range(3):
                print(helper(i), other(i))

        helper(0)
        """,
        functions=["helper"],
    )


def test_functions_made_by_exec() -> None:
    check_lines(
        """
        namespace = {}
        exec("def f(n):\\n    x = n\\n    return x\\n", namespace)
        plain = namespace["f"]

        @profile
        def g(n):
            return plain(n)  #> 1

        result = g(1)
        """
    )


def test_lines_beyond_256_and_far_from_the_first() -> None:
    body = [f"    x{i} = {i}" for i in range(400)]
    body[200:200] = ["    # nothing here"] * 300
    lines = ["@profile", "def f():", "    for i in range(2):"]
    lines += ["    " + line for line in body]
    lines += ["    return x399", "", "result = f()"]
    hits = {number: 2 for number, line in enumerate(lines, 1) if " = " in line}
    del hits[len(lines)]
    check_lines("\n".join(lines), hits=hits)


def test_a_very_long_line() -> None:
    terms = " + ".join(f"n * {i}" for i in range(600))
    check_lines(
        f"@profile\ndef f(n):\n    return {terms}\n\nresult = f(2)", hits={3: 1}
    )


def test_a_line_far_down_a_file() -> None:
    blank = "\n" * 70_000
    program = f"{blank}@profile\ndef f(n):\n    return n\n\nresult = f(2)"
    check_lines("pass\n" + program, hits={70_004: 1})


def test_lines_before_the_first_and_out_of_order() -> None:
    check_lines(
        """
        @profile
        def f(a,
              b=1):
            x = (a  #> 1
                 + b)
            return (
                x
            )

        result = f(1)
        """
    )
