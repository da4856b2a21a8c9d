"""Damaged and malicious files of line_profiler: no code runs, errors are one line."""

from __future__ import annotations

import contextlib
import io
import pickle
import struct
from random import Random
from typing import TYPE_CHECKING

import pytest
from old_pickles import KEY, LINES, PATHS, pickled, state

from lineprof.errors import LineprofError
from lineprof.line_stats import LineStats
from lineprof.storage import line_profiler_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Load = Callable[[bytes], LineStats]

GOOD = pickled(state())
HEAD = b"\x80\x04"
CLASS = b"cline_profiler.line_profiler\nLineStats\n"
OBJECT = CLASS + b")\x81"


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def loaded(data: bytes) -> LineStats:
        file = tmp_path / "a.lprof"
        file.write_bytes(data)
        return LineStats.from_files(file)

    return loaded


def load_error(load: Load, data: bytes) -> str:
    """Return the one-line error of loading `data`."""
    with pytest.raises(LineprofError) as caught:
        load(data)
    line = str(caught.value)
    assert line.isprintable()
    assert "a.lprof" in line
    assert caught.value.hint
    return line


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_version_of_the_class_and_protocol_is_loaded(
    load: Load, path: tuple[str, str], protocol: int
) -> None:
    stats = load(pickled(state(), path=path, protocol=protocol))
    assert stats == LineStats({KEY: LINES}, 1e-9)
    assert type(stats) is LineStats


def test_texts_and_numbers_of_python_2_are_loaded(load: Load) -> None:
    name = b"x\xc3\xa9\xff.py"
    key = b"U" + bytes([len(name)]) + name + b"K\x01T\x01\0\0\0f\x87"
    timings = b"U\x07timings}" + key + b"](K\x02\x8a\x01\x03J\x28\0\0\0\x87es"
    data = b"\x80\x02" + b"c_line_profiler\nLineStats\n" + b")\x81}("
    data += timings + b"U\x04unitG" + struct.pack(">d", 1e-6) + b"ub."
    assert load(data).timings == {("x\xe9\udcff.py", 1, "f"): [(2, 3, 40)]}


def test_fields_of_later_versions_are_ignored(load: Load) -> None:
    more = {**state(), "version": "9", "meta": {"x": [None, True, False]}}  # type: ignore[dict-item]
    assert load(pickled(more)) == LineStats({KEY: LINES}, 1e-9)


def test_numbers_at_the_limits_are_loaded(load: Load) -> None:
    largest = 2**63 - 1
    lines = [(2**31 - 1, largest, largest), (0, 0, 0), (1, 1, 2.5)]
    assert load(pickled(state(lines))).timings == {KEY: lines}
    assert load(pickled(state(unit=1))).unit == 1.0


@pytest.mark.parametrize(
    "call",
    [
        b"cos\nsystem\n(S'touch gone'\ntR.",
        b"cposix\nsystem\nX\x0a\0\0\0touch gone\x85R.",
        b"\x8c\x05posix\x8c\x06system\x93\x8c\x0atouch gone\x85R.",
        b"(ios\nsystem\nS'touch gone'\n.",  # INST
        b"(cos\nsystem\nS'touch gone'\no.",  # OBJ
        b"cos\nsystem\n\x8c\x0atouch gone\x85\x81.",  # NEWOBJ
        b"cos\nsystem\n\x8c\x0atouch gone\x85}\x92.",  # NEWOBJ_EX
        b"cbuiltins\neval\n\x8c\x011\x85R.",
        b"cline_profiler.line_profiler\nLineStats.__init__\n)R.",
        b"cline_profiler\nline_profiler.LineStats\n)\x81.",
        b"Pname\n.",  # a persistent id
        b"K\x01Q.",
        b"\x82\x01.",  # extension codes of copyreg
        b"\x83\x01\x01.",
        b"\x84\x01\0\0\0.",
        OBJECT + b"R.",
        CLASS + b")R.",
        CLASS + b"K\x01\x85\x81.",
        CLASS + b"(K\x01K\x02tR.",
        b"\x96\x01\0\0\0\0\0\0\0x.",  # a bytearray
        b"\x97.",  # an out-of-band buffer
        b"\x98.",
        b"C\x01x.",
        b"(\x90.",  # sets
        b"(\x91.",
    ],
)
def test_loading_calls_and_imports_nothing(
    load: Load, tmp_path: Path, call: bytes
) -> None:
    for start in (HEAD, HEAD + OBJECT, HEAD + OBJECT + b"}"):
        load_error(load, start + call)
    assert [path.name for path in tmp_path.iterdir()] == ["a.lprof"]


def test_the_error_names_the_function_that_a_file_asks_for(load: Load) -> None:
    line = load_error(load, HEAD + b"cos\nsy\x1b[2Jstem\n.")
    assert "it asks for os.sy\\x1b[2Jstem, which no profile needs" in line


@pytest.mark.parametrize(
    "data",
    [
        HEAD,
        HEAD + b".",
        HEAD + b"N.",
        HEAD + b"}.",
        HEAD + CLASS + b".",
        HEAD + OBJECT + b".",
        HEAD + OBJECT + b"}b.",
        HEAD + OBJECT + b"]b.",
        HEAD + OBJECT + b"K\x01b.",
        HEAD + OBJECT + b"N}\x86b.",  # state of slots
        HEAD + OBJECT + b"}b}b.",  # twice
        HEAD + OBJECT + OBJECT + b"b.",
        HEAD + b"}}b.",
        HEAD + b"K\x01K\x02b.",
        HEAD + b"e.",  # without mark and list
        HEAD + b"(e.",
        HEAD + b"](]K\x01ae.",  # valid, but no profile
        HEAD + b"}(K\x01u.",  # a key without a value
        HEAD + b"}]K\x01s.",  # a list as a key
        HEAD + b"}}K\x01s.",
        HEAD + b"(a.",  # nothing after the mark
        HEAD + b"N(\x85.",
        HEAD + b"h\x07.",  # never put
        HEAD + b"q\x01.",
        HEAD + b"\x94.",
        HEAD + b"\x8c\x01\xff.",  # not UTF-8
        HEAD + b"\x93.",
        HEAD + b"K\x01K\x02\x93.",
        HEAD + b"\x8d" + b"\xff" * 8 + b"x",  # huge sizes
        HEAD + b"X\xff\xff\xff\xffx",
        HEAD + b"\x8a\xff" + b"\x01" * 255 + b".",
        HEAD + b"\x8b\xff\xff\xff\x7f.",
        HEAD + b"cno_end_of_line" * 99,
        b"\x80\x01N.",
        b"\x80\x06N.",
        b"\x80",
        pickled(state(), protocol=0),
        pickled(state(), protocol=1),
        pickle.dumps({"timings": {KEY: LINES}, "unit": 1e-9}),
        pickle.dumps(LineprofError("x")),
    ],
)
def test_other_pickles_are_an_error(load: Load, data: bytes) -> None:
    load_error(load, data)


FULL = pickled(state(), protocol=2)
FULL = FULL[FULL.index(b")\x81") + 2 : -2]  # instructions that push the state


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (OBJECT + FULL + b"b}b.", "it fills an object twice"),
        (CLASS + b"K\x01\x85\x81" + FULL + b"b.", "it makes an object that no profile"),
        (CLASS + b"]\x81" + FULL + b"b.", "it is cut off or damaged"),
        (CLASS + b")(\x81" + FULL + b"b.", "it is cut off or damaged"),
        (OBJECT + FULL + b"K\x00b.", "it is cut off or damaged"),
        (OBJECT + FULL + b"X\x01\0\0\0x\x8a\x19" + b"\1" * 25 + b"sb.", "too big"),
        (OBJECT + FULL + b"X\x01\0\0\0x0sb.", "an instruction that no profile has: 48"),
    ],
)
def test_a_profile_with_one_flaw_is_an_error(load: Load, data: bytes, why: str) -> None:
    assert load(HEAD + OBJECT + FULL + b"b.") == LineStats({KEY: LINES}, 1e-9)
    assert why in load_error(load, HEAD + data)


@pytest.mark.parametrize(
    "odd",
    [
        state(unit=0),
        state(unit=-1e-9),
        state(unit=True),
        state(unit="1e-9"),
        state(unit=None),
        state(unit=float("nan")),
        state(unit=float("inf")),
        state(unit=1e-300),
        state(unit=1e300),
        state(unit=2**70),
        state(None),
        state({}),
        state("abc"),
        state(((2, 3, 40),)),
        state([None]),
        state([(2, 3)]),
        state([(2, 3, 4, 5)]),
        state([(-1, 3, 40)]),
        state([(2**31, 3, 40)]),
        state([(2, -3, 40)]),
        state([(2, 3, -40)]),
        state([(2, 2**63, 40)]),
        state([(2, 3, 2**63)]),
        state([(2, 3.0, 40)]),
        state([(2.0, 3, 40)]),
        state([(2, True, 40)]),
        state([(2, 3, None)]),
        state([(2, 3, "40")]),
        state([(2, 3, float("nan"))]),
        state([(2, 3, float("inf"))]),
        state([(2, 3, -0.5)]),
        state(key="f"),
        state(key=("a.py", 1)),
        state(key=("a.py", "1", "f")),
        state(key=(1, 1, "f")),
        state(key=("a.py", 1, 1)),
        state(key=("a.py", -1, "f")),
        state(key=("a.py", 2**40, "f")),
        state(key=("a.py", 1, ("f",))),
        state(key=("a.py", 1, "f" * 2**16)),
        {"timings": [], "unit": 1e-9},
        {"timings": {}},
        {"unit": 1e-9},
        {},
        None,
        [],
        ({}, {"timings": {}}),
    ],
)
def test_impossible_values_are_an_error(load: Load, odd: object) -> None:
    load_error(load, pickled(odd))


def test_a_truncated_file_is_an_error(load: Load) -> None:
    for end in range(1, len(GOOD)):
        load_error(load, GOOD[:end])


def test_random_damage_gives_a_profile_or_an_error(load: Load) -> None:
    random = Random(1)  # noqa: S311  # the same damage in each run
    read = 0
    for _ in range(1000):
        data = bytearray(GOOD)
        for _ in range(random.choice([1, 1, 2, 5])):
            place = random.randrange(1, len(data))
            data[place : place + random.choice([0, 1, 1])] = random.randbytes(1)
        with contextlib.suppress(LineprofError):
            load(bytes(data)).print(io.StringIO())
            read += 1
    assert 0 < read < 1000


def test_random_pickles_are_an_error(load: Load) -> None:
    random = Random(2)  # noqa: S311  # the same programs in each run
    codes = b"()}]Nabce.stuKMhjqr\x80\x81\x85\x86\x87\x88\x8a\x8c\x93\x94\x95"
    for _ in range(1000):
        program = bytes(random.choices(codes, k=random.randrange(60)))
        load_error(load, HEAD + OBJECT + program)


def test_a_pickle_of_too_many_instructions_is_an_error(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "it is too long" in load_error(load, HEAD + b"N" * 5_000_000)
    assert "it is too long" in load_error(load, HEAD + bytes(1 << 26))
    monkeypatch.setattr(line_profiler_files, "_MAX_STEPS", 100_000)
    assert "it is too long" in load_error(load, HEAD + b"]" * 100_001)
    assert "it is too long" not in load_error(load, HEAD + b"]" * 90_000)


def test_a_memo_index_takes_no_memory(load: Load) -> None:
    far = HEAD + OBJECT + b"r\xff\xff\xff\xff" + GOOD[2:-1] + b"j\xff\xff\xff\xff."
    load_error(load, far)
    line = load_error(load, HEAD + b"Nr\xff\xff\xff\xff" + GOOD[2:])
    assert "it remembers things out of order" in line
    assert load(HEAD + b"Nq\x01" + GOOD[2:]).unit == 1e-9  # like Python 2


@pytest.mark.parametrize(
    "nested",
    [
        b"]" * 50_000 + b"a" * 49_999,
        b"N" + b"\x85" * 50_000,
        b"}K\x01" * 50_000 + b"}" + b"s" * 50_000,
        b"(" * 50_000 + b"t" * 49_999,
        OBJECT + b"}K\x01" + (OBJECT + b"}K\x01") * 50_000 + b"N" + b"sb" * 50_000,
    ],
)
def test_deep_nesting_overflows_no_stack(load: Load, nested: bytes) -> None:
    name = b"\x8c\x07timings"
    for use in (b".", b"sb.", b"\x85K\x01sb."):
        load_error(load, HEAD + OBJECT + b"}" + name + nested + use)
        load_error(load, HEAD + OBJECT + b"}" + nested + use)


def test_an_object_that_contains_itself_is_an_error(load: Load) -> None:
    load_error(load, HEAD + OBJECT + b"}\x94\x8c\x07timingsh\0s\x8c\x04unitK\x01sb.")
    load_error(load, HEAD + OBJECT + b"\x94h\0b.")
    itself = b"}\x8c\x04a.py\x8c\x01a]\x94h\0as"
    load_error(load, HEAD + OBJECT + b"}\x8c\x07timings" + itself + b"sb.")


def test_long_keys_that_are_repeated_take_no_time(load: Load) -> None:
    key = b"(" + b"K\x01" * 500_000 + b"t\x94"
    load_error(load, HEAD + OBJECT + b"}" + key + b"Ns" + b"h\0Ns" * 500_000 + b"b.")


def test_a_list_shared_by_many_functions_is_limited_in_size(
    load: Load,
) -> None:
    lines = [(1, 1, 1)] * (1 << 12)
    shared = {("a.py", first, "f"): lines for first in range(1 << 9)}
    data = pickled({"timings": shared, "unit": 1e-9})
    assert len(data) < 1 << 15
    assert "it is too big" in load_error(load, data)


def test_a_name_shared_by_many_functions_is_limited_in_size(
    load: Load,
) -> None:
    name = "f" * (1 << 14)
    shared: dict[object, object] = {("a.py", at, name): [] for at in range(1 << 12)}
    data = pickled({"timings": shared, "unit": 1e-9})
    assert len(data) < 1 << 17
    assert "it is too big" in load_error(load, data)


def test_bytes_after_the_end_are_ignored(load: Load) -> None:
    assert load(GOOD + b"cos\nsystem\n.") == LineStats({KEY: LINES}, 1e-9)
