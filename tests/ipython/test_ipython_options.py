"""Options of %lprun and %%lprun_all, read as getopt reads them."""

from __future__ import annotations

import pytest

from lineprof.ipython.options import LPRUN, LPRUN_ALL, Magic, OptionError, parse


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("", Magic()),
        ("-f f f()", Magic(functions=("f",), statement="f()")),
        ("-ff  f()", Magic(functions=("f",), statement="f()")),
        ("-f a.b -f c -m d f()", Magic(("a.b", "c"), ("d",), statement="f()")),
        ("-rz -u 1e-3 f()", Magic((), (), "", "", 1e-3, True, True, statement="f()")),
        ("-s x = -1", Magic(skip_zero=True, statement="x = -1")),
        ("-r -- -x", Magic(return_profiler=True, statement="-x")),
        ("-r - x", Magic(return_profiler=True, statement="- x")),
        ("-D a.lprof -T 'b c' 1", Magic((), (), "a.lprof", "b c", statement="1")),
        (r"-D a\ b -D c 1", Magic(raw_file="a b", statement="1")),
        ("-f d['a b'].f f()", Magic(("d['a b'].f",), statement="f()")),
        ("-f g(1, 2) f()", Magic(("g(1, 2)",), statement="f()")),
        ("-f it's f()", Magic(("it's",), statement="f()")),
        ("""f("a  b", 'c\\n')""", Magic(statement="""f("a  b", 'c\\n')""")),
        ("--memory f()", Magic(memory=True, statement="f()")),
        (
            "--memory-sample 512KB -r f()",
            Magic(memory_sample="512KB", return_profiler=True, statement="f()"),
        ),
        ("--memory-sample=1 f()", Magic(memory_sample="1", statement="f()")),
        ("--await -r 1", Magic(return_profiler=True, awaited=True, statement="1")),
    ],
)
def test_a_line_of_lprun_is_parsed(line: str, asked: Magic) -> None:
    assert parse(line, LPRUN) == asked


def test_a_line_of_lprun_all_is_parsed() -> None:
    asked = Magic(
        return_profiler=True, skip_zero=True, top_level=True, keep_time=True, unit=1.0
    )
    assert parse("-rzpt -u 1", LPRUN_ALL) == asked


@pytest.mark.parametrize(
    ("line", "known", "said"),
    [
        ("-x 1", LPRUN, 'option -x not recognized (allowed: "rszf:m:D:T:u:")'),
        ("-rx 1", LPRUN, 'option -x not recognized (allowed: "rszf:m:D:T:u:")'),
        ("-: 1", LPRUN, 'option -: not recognized (allowed: "rszf:m:D:T:u:")'),
        ("--help", LPRUN_ALL, 'option --help not recognized (allowed: "rzptD:T:u:")'),
        ("-f f", LPRUN_ALL, 'option -f not recognized (allowed: "rzptD:T:u:")'),
        ("-r -f", LPRUN, 'option -f requires argument (allowed: "rszf:m:D:T:u:")'),
        (
            "--memory-sample",
            LPRUN_ALL,
            'option --memory-sample requires argument (allowed: "rzptD:T:u:")',
        ),
        (
            "--memory=1 x",
            LPRUN_ALL,
            'option --memory must not have an argument (allowed: "rzptD:T:u:")',
        ),
        ("-u 0 1", LPRUN, "the timer unit must be above 0, not 0"),
        ("-u nan 1", LPRUN, "the timer unit must be above 0, not nan"),
    ],
)
def test_an_invalid_line_is_refused_with_a_message(
    line: str, known: str, said: str
) -> None:
    with pytest.raises(OptionError) as caught:
        parse(line, known)
    assert str(caught.value) == said


def test_a_unit_that_is_no_number_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="Timer unit setting must be a float"):
        parse("-u much 1", LPRUN)
