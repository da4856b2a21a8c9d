"""Spans of statements of several lines: the core finds those that `ast` finds."""

from __future__ import annotations

import random
import sys
import warnings

import pytest
from oracle import spans_of
from standard_library import files_of_library

from lineprof import _core
from lineprof.source_files import disk_text

Span = tuple[int, int]

# Files of the standard library with unusual text.
UNUSUAL = "fstring tstring grammar patma tokenize string_literals unparse syntax"
MIN_STATEMENTS = 6000

TEXTS = {
    "heads": """
if (a and
   b): y = (1,
   2); z = 3
while (lambda x: x): y = f(
 3)
for x in lambda: 1, lambda: 2: y = (1,
 2)
def f(x: (1,
  2)) -> lambda: 3: return (1,
  2)
class A: x: int = (1,
  2)
with (a as b,
   c as d): x = (1,
  2)
if x := f(
  1): y = [1,
  2]
try: x = (1,
 2)
except (A,
 B) as e: y = (1,
 2)
else: z = (1,
 2)
finally: w = (1,
 2)
@foo(1,
  2)
async def f(a,
   b):
    async with a as (b,
      c): await (d,
      e)
""",
    "soft keywords": """
match x:
    case 1: y = (1,
      2)
    case {"a": [1,
       2]}: z = (3,
        4); w = (5,
        6)
    case _:
        case = (1,
          2)
        match = (3,
          4)
        case: int = (5,
          6)
        match a: # (
            case (1 |
                2): pass
        match[1]: int = (1,
           2)
case: int = (1,
  2)
match: int = (1,
  2)
match (x):
\tcase 1 if (y := 1): x = (
\t  2)
""",
    "joined": """
x = (1,
2); y = (3,
4)
z = 1; w = (
 5)
x = 1; \\
y = (2,
 3)
\\

x = 1 + \\
 2
""",
    "strings": r'''
"""doc
string"""
x = rb"\"" + (
 b'\'')
x = 'a\
b'
x = u"#" + (1 # comment )
)
x = [1if a else"b", 1or"c",
  2]
''',
    "fields": r'''
x = f"""
{a:{b}
} """
x = f"{{" + (
 "}")
x = f"\N{DIGIT ONE}" + (
 "a")
x = fr"\{6:\d}" + (
 "a")
x = f'{a!r:{b}{c}}' f"{'x' + y}" + (
 1)
x = f'{x:%H:%M:%S}' f'{x=:{"a"}}' f'{x!s}' f"{x != y}" + (
 1)
''',
}
if sys.version_info >= (3, 12):
    TEXTS["quotes in fields"] = r"""
x = f'{a!r:{b}{c:{d}}}' f"{'x' + f'{y}'}" + (
 1)
f(f"{a["b"]}{(
 1)!r:>{width}}"
)
x = f'{(lambda x: {1:2}[x])(
   1)}'
x = f'{"}" + "{" + ":"  # }
}' + (
 1)
"""


def found(text: str) -> list[Span]:
    lines = memoryview(_core.Tracer.statement_spans(text.encode())).cast("I")
    return list(zip(lines[::2], lines[1::2], strict=True))


def truth(text: str) -> list[Span]:
    return sorted(set(spans_of(text).values()))


@pytest.mark.smoke
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_statements_of_several_lines_are_those_of_ast(text: str, ends: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = truth(text)
    assert found(text.replace("\n", ends)) == expected
    assert found("\ufeff" + text) == expected
    assert len(expected) >= 3


def test_statements_of_the_standard_library_are_those_of_ast() -> None:
    seen = 0
    for file in files_of_library(first=UNUSUAL):
        if seen >= MIN_STATEMENTS:
            return
        text = disk_text(str(file)) or ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = truth(text)
            except (SyntaxError, ValueError, RecursionError):
                continue  # a file for tests of the compiler
        assert found(text) == expected, file
        seen += len(expected)
    pytest.fail(f"there are only {seen} statements of several lines")


def test_text_that_is_cut_anywhere_or_damaged_does_no_harm() -> None:
    source = random.Random(2026)  # noqa: S311
    text = "".join(TEXTS.values()).encode()
    for end in range(0, len(text), 3):
        _core.Tracer.statement_spans(text[:end])
        damaged = bytearray(text)
        for place in source.choices(range(len(text)), k=4):
            damaged[place] = source.randrange(256)
        _core.Tracer.statement_spans(bytes(damaged))
    assert _core.Tracer.statement_spans(b"x = (1,\n2)\n\0") == b""
