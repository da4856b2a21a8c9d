"""Items of tests/gpu_hardware without a GPU: no verdict is given in error."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gpu_double import environment
from running import hook_name

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "gpu_hardware"
ITEMS = {file.stem: file for file in sorted((FOLDER / "items").glob("*.py"))}
FRAMEWORKS = ("torch", "cupy", "jax", "numba", "triton", "tensorflow")
# Items that look for frameworks themselves and use those that are present.
WITH_SOME = ("framework_threads", "mixed")
NOT_ON_THE_DOUBLE = (*WITH_SOME, "beside_nsys")
VERDICT = re.compile(r"(passed|failed|not run) +(\w+) \(\d+\.\d s\)(?:: (.+))?")
LIMIT_S = 300  # reached only if a process hangs

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="GPUs are recorded only on Linux"
)


def run(
    *words: object, **changes: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, tuple[str, str]]]:
    """Run Python; return its result, and the verdict and reason of each item."""
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **changes}
    done = subprocess.run(
        [sys.executable, "-B", *map(str, words)],
        capture_output=True,
        env=settings,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    found = [VERDICT.fullmatch(line) for line in done.stdout.splitlines()]
    verdicts = {one[2]: (one[1], one[3] or "") for one in found if one}
    return done, verdicts


def needs(name: str) -> tuple[str, ...]:
    """Return the needs that an item declares."""
    [line] = re.findall(
        r"^NEEDS = \((.*)\)$", ITEMS[name].read_text("utf-8"), re.MULTILINE
    )
    return tuple(word.strip(' "') for word in line.split(",") if word.strip())


def test_without_a_gpu_one_line_says_so() -> None:
    no_device = {"CUDA_VISIBLE_DEVICES": "-1"}  # hides a GPU of this machine
    done, _ = run(ROOT / "tools" / "checks" / "gpu.py", ARGS="", **no_device)
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert re.fullmatch(r"lineprof: .*\bGPU\b.*", line)


def test_every_item_compiles_and_is_listed() -> None:
    for flag in ("--dry-run", "--list"):
        done, _ = run(ROOT / "tools" / "checks" / "gpu.py", ARGS=flag)
        assert (done.returncode, done.stderr) == (0, "")
        listed = [line.partition(": ") for line in done.stdout.splitlines()]
        assert sorted(name for name, _, _ in listed) == list(ITEMS)
        for name, _, what in listed:
            claim, _, wanted = what.partition(" [")
            assert claim.endswith("."), name
            assert wanted.rstrip("]") == ", ".join(needs(name))


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_declares_the_frameworks_that_it_imports(name: str) -> None:
    text = ITEMS[name].read_text("utf-8")
    for framework in FRAMEWORKS:
        if re.search(rf"(^|\"|\\n)\s*(import|from) {framework}\b", text, re.MULTILINE):
            asked = framework in needs(name) or re.search(
                rf"lack\((name|\"{framework}\")\)", text
            )
            assert asked, f"{name} imports {framework} and does not ask for it"


def test_no_item_passes_without_its_framework(tmp_path: Path) -> None:
    for framework in FRAMEWORKS:
        lines = f'raise ImportError("{framework} is kept out")\n'
        (tmp_path / f"{framework}.py").write_text(lines, encoding="utf-8")
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    names = [name for name in ITEMS if needs(name)] + list(WITH_SOME)
    done, verdicts = run(FOLDER / "main.py", *names, PYTHONPATH=paths)
    assert set(verdicts) == set(names)
    assert {what for what, _ in verdicts.values()} == {"not run"}
    for name in names:
        for framework in needs(name)[:1]:
            reason = f"{framework} can't be used: ImportError: {framework} is kept out"
            assert verdicts[name][1] == reason
    assert done.stdout.splitlines()[-1].startswith(f"0 passed, 0 failed, {len(names)}")
    assert done.returncode == 0


def test_items_without_a_framework_pass_on_the_doubles(doubles: Path) -> None:
    """The doubles have no faults, so the checks of an item have to hold."""
    usual = "monitoring" if sys.version_info >= (3, 12) else "settrace"
    if hook_name() != usual:
        pytest.skip("the items do not depend on the hook")
    settings = environment(doubles)
    del settings["LINEPROF_GPU_FORCE"]  # the list has to set this variable
    done, verdicts = run(FOLDER / "main.py", "--double", doubles, **settings)
    assert set(verdicts) == set(ITEMS)
    wanted = {
        name: "not run" if needs(name) or name in NOT_ON_THE_DOUBLE else "passed"
        for name in ITEMS
    }
    assert {name: what for name, (what, _) in verdicts.items()} == wanted, done.stdout
    assert done.returncode == 0


FAULTS = {
    "FAKE_CUPTI_DROP=7": ("correlation", "clocks", "graphs", "kernel_names"),
    "FAKE_CUPTI_ZERO_TIMES=9": ("attach_order", "fork", "many_kernels", "memory"),
    "FAKE_CUPTI_SUBSCRIBE_RC=39": ("environment", "quiet_attach", "launch_overhead"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_items_fail_if_the_double_has_a_fault(doubles: Path, fault: str) -> None:
    knob, _, value = fault.partition("=")
    knobs: dict[str, Any] = {knob: value}
    settings, names = environment(doubles, **knobs), FAULTS[fault]
    done, verdicts = run(FOLDER / "main.py", "--double", doubles, *names, **settings)
    assert {name: what for name, (what, _) in verdicts.items()} == dict.fromkeys(
        names, "failed"
    ), done.stdout
    assert done.returncode == 1


def judged(folder: Path, check: str, **settings: str) -> Mapping[str, str]:
    """Return the list's verdict on an item whose check is the lines of `check`."""
    item = textwrap.indent(textwrap.dedent(check).strip(), "    ")
    program = f"""\
import sys, types
sys.path.insert(0, {str(FOLDER)!r})
from pathlib import Path
import main

def check(lab):
{item}

main.load = lambda name: types.SimpleNamespace(NEEDS=(), check=check)
verdict = main.judge("it", Path({str(folder)!r}), Path("/nowhere"))
print(verdict.what)
print(verdict.why)
"""
    done, _ = run("-c", program, **settings)
    assert done.returncode == 0, done.stderr
    what, why = done.stdout.splitlines()
    return {"what": what, "why": why}


@pytest.mark.parametrize(
    ("check", "what", "why"),
    [
        ("lab.expect(True, 'no')", "passed", ""),
        ("pass", "failed", "nothing was checked"),
        ("lab.expect(False, 'a'); lab.expect(0, 'b')", "failed", "a; b"),
        ("lab.expect(True, 'no'); 1 / 0", "failed", "ZeroDivisionError in"),
        ("lab.need('torch')", "not run", "torch can't use the double"),
        ("lab.expect(0, 'a'); lab.need('jax')", "failed", "a; jax can't"),
        ("lab.need('a framework')", "failed", "KeyError"),
    ],
)
def test_verdicts_of_items(tmp_path: Path, check: str, what: str, why: str) -> None:
    verdict = judged(tmp_path, check)
    assert verdict["what"] == what
    assert verdict["why"].startswith(why)


def test_a_program_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    verdict = judged(
        tmp_path,
        """
        import os, time
        program = "import subprocess, sys, time\\n"
        program += "child = subprocess.Popen(['sleep', '1000'])\\n"
        program += "print(child.pid, flush=True); time.sleep(1000)"
        lab.environment = lambda: {**os.environ, "PYTHONFAULTHANDLER": "1",
            "PYTHONPATH": str(main.HERE / "inside")}
        ran = lab.python(program, limit_s=3)
        lab.expect(ran.status == "none after 3 s", str(ran))
        lab.expect('program.py", line 6 in <module>' in ran.gist, ran.gist)
        child = Path("/proc", ran.out.strip(), "stat")
        late = time.monotonic() + 60
        while child.exists() and ") Z" not in child.read_text():
            assert time.monotonic() < late, "it is still running"
        lab.expect(ran.out, str(ran))
        """,
    )
    assert verdict == {"what": "passed", "why": ""}
