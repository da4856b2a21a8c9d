"""The figures and the picture of docs/gpu.md, made of results of the GPU double."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from gpu_double import environment
from pages import DOCS, ROOT

if TYPE_CHECKING:
    from pathlib import Path

LAB = ROOT / "tests" / "gpu_hardware"
MULTI = re.DOTALL | re.MULTILINE
LIMIT_S = 300  # reached only if a process hangs
# Results of items that need PyTorch, and the profile that one of them keeps.
WITH_TORCH = f"""
import gzip, sys, types
from collections import Counter
from pathlib import Path
sys.path.insert(0, {str(LAB)!r})
import main, results, truth
from lab import Lab
from verdicts import FAILED, PASSED, Verdict

lab, out = Lab(Path.cwd(), None), Path("out")
for kind, counts, ns in (("kernel", 30, 5_000_000), ("memcpy", 5, 100_000)):
    one = Counter({{truth.Work(kind, "name", 0): counts}})
    ours, theirs = [truth.Region(one, {{kind: ns * more}}) for more in (1.001, 1)]
    truth.compare_regions(lab, "forward", ours, theirs, 5)
where = {{**results.origin(), "device": "double", "torch": "2.11.0", "cuda": "13000"}}
kept = results.Results(out, "part-2", where)
kept.add(Verdict("workload_training", PASSED, figures=lab.figures), None)
figures = {{f"a large step, {{one}}": "41234567 ns" for one in ("bare", "lineprof")}}
figures["a large step, lineprof to bare"] = 1.0002
kept.add(Verdict("torch_overhead", FAILED, "slow", figures=figures), None)
folder = Path("item")
(folder / "kept").mkdir(parents=True)
Path("run.lprof").rename(folder / "kept" / "gpu_train.lprof")
kept.add(Verdict("appearance", PASSED), folder)
"""
# The tool, which writes into the current folder instead of the checkout.
TOOL = f"""
import sys
from pathlib import Path
sys.path[:0] = [{str(ROOT)!r}, {str(LAB)!r}]
import main
from tools.docs import gpu_figures as tool
here = Path.cwd()
main.RECORDED, tool.PAGE, tool.IMAGES = here / "recorded", here / "gpu.md", here
tool.RECORDED = here / "examples" / "gpu_train.lprof"
view = "python -m lineprof view examples/gpu_train.lprof"
tool.TRAINING = tool.TRAINING._replace(commands=(view,))
sys.argv = ["gpu_figures", "out"]
sys.exit(tool.main())
"""
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="GPUs are recorded only on Linux"
    ),
]


def test_the_results_of_a_run_become_a_section_with_a_picture(
    doubles: Path, tmp_path: Path
) -> None:
    settings = {**environment(doubles), "PYTHONPATH": os.pathsep.join(sys.path)}

    def python(*words: object) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-B", *map(str, words)],
            cwd=tmp_path,
            env=settings,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    python(LAB / "main.py", "launch_overhead", "--double", doubles, "--out", "out")
    example = ROOT / "examples" / "simulated_gpu.py"
    python("-m", "kernprof", "-lq", "-o", "run.lprof", example)
    python("-c", WITH_TORCH)
    (tmp_path / "examples").mkdir()
    page = tmp_path / "gpu.md"
    now = (DOCS / "gpu.md").read_text(encoding="utf-8")
    page.write_text(now, encoding="utf-8")
    before = re.sub(r"^## Measured on a GPU\n.*?(?=^## )", "", now, flags=MULTI)
    for _ in range(2):  # the second time it replaces the section
        said = python("-c", TOOL)
        assert len(said) == 5
        assert "A training step takes 1.0002 times as long (double, " in said[-1]
        text = page.read_text(encoding="utf-8")
        start, end = text.index("## Measured on a GPU"), text.index("## Limits")
        assert text[:start] + text[end:] == before
    made = text[start:end].splitlines()
    [machine] = [line for line in made if line.startswith("double, driver ")]
    assert ", CUDA 13.0, PyTorch 2.11.0, " in machine
    assert machine.endswith(": 3 of 4 tests of `make test-gpu` passed.")
    [launch] = [line for line in made if line.startswith("| a launch | ")]
    time, ratio = r" [\d.]+ [nµm]s \|", r" [\d.]+ \|"
    assert re.fullmatch(rf"\| a launch \|({time}){{3}} — \| — \|({ratio}){{2}}", launch)
    step = "| a long training step | 41.2 ms | — | 41.2 ms | — | — | 1.000 | — |"
    assert step in made
    assert "| training | 30 | 5 | 1 ms | 1 ms | +0.10 % | — |" in made
    assert "backward()" in (tmp_path / "gpu-training.svg").read_text(encoding="utf-8")
    [record] = (tmp_path / "recorded").glob("*.json")
    items = json.loads(record.read_text(encoding="utf-8"))["items"]
    named = {"launch_overhead", "workload_training", "torch_overhead", "appearance"}
    assert items.keys() == named
