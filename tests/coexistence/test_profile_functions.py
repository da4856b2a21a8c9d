"""A profile function of the program gets the events that it gets without lineprof."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, run
from running import plain

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = plain(
    """
    import builtins
    import sys

    profile = getattr(builtins, "profile", lambda function: function)
    events = []

    def first(frame, event, arg):
        name = arg.__name__ if event.startswith("c_") else ""
        events.append((event, frame.f_code.co_name, name))

    def second(frame, event, arg):
        events.append(("second", event, frame.f_code.co_name))

    @profile
    def calls():
        sys.setprofile(first)
        len("x")
        sorted([2, 1], key=lambda k: k)
        try:
            [].pop()
        except IndexError:
            pass
        sys.setprofile(None)

    @profile
    def begins():
        sys.setprofile(first)

    @profile
    def two():
        sys.setprofile(first)
        sys.setprofile(second)
        abs(-1)
        sys.setprofile(None)

    calls()
    begins()
    sys.setprofile(None)
    two()
    print(*events, sep="\\n")
    print(sys.getprofile(), sys.setprofile.__name__, sys.setprofile.__module__)
    """
)


@pytest.mark.usefixtures("hook")
@pytest.mark.parametrize("flags", ["-lq", "-lq --builtins", "-lq --builtins --all"])
def test_events_are_those_of_python(tmp_path: Path, flags: str) -> None:
    (tmp_path / "p.py").write_text(PROGRAM)
    plainly = run(["p.py"], cwd=tmp_path)
    assert kernprof(*flags.split(), "p.py", cwd=tmp_path) == plainly
    assert "c_call" in plainly.out
