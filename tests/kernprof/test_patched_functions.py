"""Programs that patch functions of the standard library, and leave them so.

`helpers/endings.py` has those that patch much; here it is what such a program notices.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest
from as_python import check_same, hits_in, kernprof_here, write

if TYPE_CHECKING:
    from pathlib import Path

PATCHES = """
import json, os, time
@profile
def work():
    return 1
work()
def patched(*_):
    raise RuntimeError
os.replace = json.dumps = time.time_ns = patched
time.altzone = 5
"""


@pytest.mark.parametrize("mode", ["-lq", "-bq"])
def test_functions_that_a_program_patched_stay_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    for module, name in (
        *((os, "replace"), (json, "dumps"), (time, "time_ns"), (time, "altzone")),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))
    write(tmp_path, "x.py", PATCHES)
    outcome = kernprof_here(mode, "x.py", cwd=tmp_path)
    names = {one.__name__ for one in (os.replace, json.dumps, time.time_ns)}
    assert (names, time.altzone) == ({"patched"}, 5)
    monkeypatch.undo()
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    if mode == "-lq":
        assert hits_in(tmp_path / "x.lprof") == {"work": {5: 1}}


def test_a_program_finds_no_lock_of_lineprof(tmp_path: Path) -> None:
    # eventlet counts those that it cannot replace, and prints a line about them. It
    # knows the one of `threading`, which trace functions of 3.12 need, and itself has
    # imported `warnings`, which has one from 3.14 on.
    text = """
        import _thread, gc, sys
        known = [sys.modules.get(name, sys) for name in ("threading", "_py_warnings")]
        own = {id(one) for module in known for one in vars(module).values()}
        locks = [one for one in gc.get_objects() if type(one) is _thread.RLock]
        print([one for one in locks if id(one) not in own])
        """
    write(tmp_path, "x.py", text)
    assert check_same("x.py", cwd=tmp_path).out == "[]\n"
