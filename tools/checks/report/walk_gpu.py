"""A walk through the columns of a page that are about GPUs: memory, waits, loading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch
from tools.checks.report.walks import expect, show, view_of

if TYPE_CHECKING:
    from tools.checks.browser import Page

ALLOCATES = """\
import ctypes, os
clock, gpu = ctypes.CDLL(None), ctypes.CDLL(os.environ["LINEPROF_CUDA"])
gpu.fk_malloc.argtypes, gpu.fk_malloc.restype = [ctypes.c_uint64], ctypes.c_uint64
gpu.fk_free.argtypes = [ctypes.c_uint64]
gpu.fk_launch.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64]
gpu.fk_own_time.argtypes = [ctypes.c_uint64, ctypes.c_int]
gpu.fk_on_wait.argtypes = [ctypes.c_void_p]
@profile
def step(kept):
    scratch = gpu.fk_malloc(120_000_000)
    gpu.fk_launch(b"matmul", 0, 5_000_000)
    kept.append(gpu.fk_malloc(1_000_000))
    gpu.fk_free(scratch)
@profile
def train():
    kept = []
    gpu.fk_own_time(65_000_000, 1)
    gpu.fk_launch(b"first", 0, 1_000_000)
    for _ in range(20):
        step(kept)
gpu.fk_init()
gpu.fk_on_wait(ctypes.cast(clock.frozen_clock_advance, ctypes.c_void_p))
train()
"""
# Of lines of ALLOCATES: the titles of columns, and what these have there.
SHOWN = {
    10: {"GPU peak": "120 MB", "GPU alloc": "2.40 GB"},
    12: {"GPU peak": "20.0 MB", "GPU live": "20.0 MB", "GPU alloc": "20.0 MB"},
    13: {"GPU freed": "2.40 GB", "GPU wait": "100 ms"},
    18: {"GPU load": "65.0 ms"},
    20: {"GPU peak": "140 MB", "GPU live": "20.0 MB", "GPU freed": "2.40 GB"},
}
CODE = "document.querySelector('.code')"
DETAIL = "document.querySelector('.detail .numbers')"


def numbers_of_lines(one: Page) -> None:
    """Choose all columns: each row has its numbers, as has the panel of its line."""
    show(one, "source")
    one.value(
        f"(() => {{ const view = {view_of('source')}; view.isChosen = true;"
        " view.columns = view.known; view.setColumns(); })()"
    )
    titles = f"[...{CODE}.querySelectorAll('.head [role=columnheader]')]"
    for line, numbers in SHOWN.items():
        one.value(f"{view_of('source')}.select({line})")
        row = f"{CODE}.querySelector('.row.selected')"
        for title, text in numbers.items():
            place = f"{titles}.findIndex((one) => one.textContent === {title!r})"
            cell = f"{row}.children[{place}]?.textContent"
            expect(one, f"{title} of line {line}", f"{cell} === {text!r}")
            term = (
                f"[...{DETAIL}.querySelectorAll('dt')]"
                f".find((one) => one.textContent === {title!r})"
            )
            beside = f"{term}?.nextSibling.textContent === {text!r}"
            expect(one, f"{title} beside line {line}", beside)


def parts_of_calls(one: Page) -> None:
    """Look at the tables of GPUs: loading is part of a call, not work of a device."""
    show(one, "gpu")
    tables = [
        str(one.value(f"{view_of('gpu')}.tables[{at}].element.textContent"))
        for at in (0, 1)
    ]
    for name, at in (("first", 0), ("[CUDA load]", 1), ("[CUDA wait]", 1)):
        found = [name in text for text in tables]
        if found != [at == 0, at == 1]:
            raise Mismatch(f"{name} is not in table {at} alone")


WALK = (numbers_of_lines, parts_of_calls)
