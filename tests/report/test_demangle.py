"""Demangled names of kernels: C++ names are read, other names are unchanged."""

from __future__ import annotations

import random
import string
import threading

import pytest

from lineprof.report import gpu_format
from lineprof.report.gpu_format import demangled

pytestmark = pytest.mark.once  # arithmetic and text

needs_runtime = pytest.mark.skipif(
    not gpu_format._demanglers(), reason="no C++ runtime was found"
)


@pytest.fixture(autouse=True)
def _forget() -> object:
    """Clear the caches before and after each test."""
    demangled.cache_clear()
    gpu_format._demanglers.cache_clear()
    yield
    demangled.cache_clear()
    gpu_format._demanglers.cache_clear()


@needs_runtime
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("_Z4gemmPKfS0_Pfi", "gemm(float const*, float const*, float*, int)"),
        (
            "_ZN2at6native4reluIfEEvPT_i",
            "void at::native::relu<float>(float*, int)",
        ),
        ("_Z1fv", "f()"),
        ("_ZN12_GLOBAL__N_11gEv", "(anonymous namespace)::g()"),
    ],
)
def test_names_of_cpp_are_demangled(name: str, text: str) -> None:
    assert demangled(name) == text


@pytest.mark.parametrize(
    "name",
    [
        *("", "f", "i", "d", "kernel", "triton_poi_fused_add_0", "Z4gemmPf"),
        *("_", "__Z1fi", "_z1fi", "cuLaunchKernel", "nvjet_hsh_128x256_64x4"),
        *("_Z", "_Z1", "_Z9f", "_ZN", "_Z4gemm\x1b[2J", "_Z1f\0i", "_Z1fé", "_Z\udcff"),
        "void f<float>(float*)",
    ],
)
def test_other_names_are_unchanged(name: str) -> None:
    assert demangled(name) == name


def test_random_names_crash_nothing() -> None:
    rng = random.Random(0)  # noqa: S311
    letters = string.printable + "SSTTEEIINN0123456789___PPKRLZ"
    for _ in range(500):
        name = "_Z" + "".join(rng.choices(letters, k=rng.randrange(60)))
        assert isinstance(demangled(name), str)
    for long in ("P" * 5_000, "N1f" * 5_000, "I" * 20_000, "9" * 1_000, "S_" * 8_000):
        assert demangled(f"_Z1f{long}") == f"_Z1f{long}"


def bomb(levels: int) -> str:
    """Return a mangled name whose text doubles with each level."""
    numbers = string.digits + string.ascii_uppercase
    pairs = [f"S_IS{numbers[n]}_S{numbers[n]}_E" for n in range(levels)]
    return "_Z1fSt4pairIiiE" + "".join(pairs)


def test_a_name_that_takes_too_long_is_the_last_one_to_be_demangled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls, end, before = [], threading.Event(), threading.enumerate()

    def stuck(name: bytes) -> bytes:
        calls.append(name)
        end.wait()
        return b"f()"

    monkeypatch.setattr(gpu_format, "_TIMEOUT", 0.01)
    monkeypatch.setattr(gpu_format, "_demangler", lambda _: stuck)
    assert demangled("_Z1fv") == "_Z1fv"
    assert demangled("_Z1gv") == "_Z1gv"
    assert calls == [b"_Z1fv"]
    end.set()
    for thread in set(threading.enumerate()).difference(before):
        thread.join()


@needs_runtime
def test_a_name_longer_than_any_compilers_is_unchanged() -> None:
    short, long = bomb(3), bomb(12)
    assert demangled(short) != short
    assert demangled(long) == long


def test_a_name_is_demangled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counting(name: bytes) -> bytes:
        calls.append(name)
        return b"g()"

    monkeypatch.setattr(gpu_format, "_demangler", lambda _: counting)
    assert [demangled("_Z1gv") for _ in range(3)] == ["g()"] * 3
    assert len(calls) == 1


def test_without_a_cpp_runtime_names_are_unchanged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gpu_format, "_LIBRARIES", ("libno-such.so.1",))
    assert demangled("_Z1gv") == "_Z1gv"
    monkeypatch.setattr(gpu_format, "_LIBRARIES", (None,))
    monkeypatch.setattr(gpu_format, "_SYMBOL", "no_such_function")
    gpu_format._demanglers.cache_clear()
    assert demangled("_Z1hv") == "_Z1hv"


def test_the_second_runtime_is_used_if_the_first_one_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runtimes = iter([lambda _: None, lambda _: b"h()", lambda _: b"wrong"])
    monkeypatch.setattr(gpu_format, "_demangler", lambda _: next(runtimes))
    assert demangled("_Z1hv") == "h()"


def test_without_threads_names_are_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(gpu_format.threading.Thread, "start", start)
    assert demangled("_Z1gv") == "_Z1gv"
    assert threading.stack_size() == 0
