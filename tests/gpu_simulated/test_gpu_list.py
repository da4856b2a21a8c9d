"""Items of tests/gpu_hardware without a GPU: no verdict is given in error."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gpu_double import environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "gpu_hardware"
ITEMS = {file.stem: file for file in sorted((FOLDER / "items").glob("*.py"))}
FRAMEWORKS = ("torch", "cupy", "jax", "numba", "triton", "tensorflow")
# Items that look for frameworks themselves and use those that are present.
WITH_SOME = ("framework_libraries", "framework_threads", "mixed")
VERDICT = re.compile(r"(passed|failed|not run) +(\w+) \(\d+\.\d s\)(?:: (.+))?")
LIMIT_S = 600  # reached only if a process hangs

pytestmark = [
    pytest.mark.seldom,
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="GPUs are recorded only on Linux"
    ),
]


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
        assert sorted(name for name, _, _ in listed) == list(ITEMS)  # in one part each
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


# Items that pass in a test of their own below.
IN_BACKGROUND = "endings"
SIDE_BY_SIDE = ("clocks", "fork", "gpu_idle", "launches", "records")
FRAMEWORKLESS = [n for n in ITEMS if not (needs(n) or n in WITH_SOME)]
REST = [n for n in FRAMEWORKLESS if n not in {IN_BACKGROUND, *SIDE_BY_SIDE}]
SHARES = 10


def on_the_doubles(doubles: Path, *names: str) -> None:
    """Check that items without a framework pass, and that others are not run.

    The doubles have no faults, so the checks of an item have to hold.
    """
    settings = environment(doubles)
    del settings["LINEPROF_GPU_FORCE"]  # the list has to set this variable
    done, verdicts = run(FOLDER / "main.py", *names, "--double", doubles, **settings)
    wanted = {n: "passed" if n in FRAMEWORKLESS else "not run" for n in names}
    assert {name: what for name, (what, _) in verdicts.items()} == wanted, done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize("share", range(SHARES))
def test_items_without_a_framework_pass_on_the_doubles(
    doubles: Path, share: int
) -> None:
    on_the_doubles(doubles, *REST[share::SHARES])


def test_items_with_a_framework_are_not_run_on_the_doubles(doubles: Path) -> None:
    on_the_doubles(doubles, *(name for name in ITEMS if name not in FRAMEWORKLESS))


# What another device, driver or library may answer.
ANSWERS = {
    "FAKE_CUPTI_SEVERAL=0": ("subscribers",),
    "FAKE_CUPTI_FAIL=cuptiSubscribe_v2:1": ("subscribers",),
    "FAKE_CUDA_CAPABILITY=10": ("hardware_clock", "launches"),
    "FAKE_CUPTI_FAIL=cuptiActivityConfigureUnifiedMemoryCounter:29": (
        "managed_memory",
    ),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_items_pass_whichever_way_the_double_answers(
    doubles: Path, answer: str
) -> None:
    knob, _, value = answer.partition("=")
    knobs: dict[str, Any] = {knob: value}
    settings, names = environment(doubles, **knobs), ANSWERS[answer]
    done, verdicts = run(FOLDER / "main.py", "--double", doubles, *names, **settings)
    assert verdicts == dict.fromkeys(names, ("passed", "")), done.stdout


FAULTS = {
    "FAKE_CUPTI_DROP=7": ("correlation", "clocks", "graphs", "kernel_names"),
    "FAKE_CUPTI_DROP=1": ("launches", "subscribers"),
    "FAKE_CUPTI_ZERO_TIMES=9": ("attach_order", "fork", "many_kernels", "memory"),
    "FAKE_CUPTI_ZERO_TIMES=2": ("frees", "hardware_clock"),
    "FAKE_CUPTI_FAIL=cuptiEnableCallback/3/6": ("module_loading",),
    "FAKE_CUPTI_FAIL=cuptiEnableCallback/1/243": ("live_memory",),
    "FAKE_CUPTI_SUBSCRIBE_RC=39": ("environment", "quiet_attach", "launch_overhead"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_items_fail_if_the_double_has_a_fault(
    doubles: Path, tmp_path: Path, fault: str
) -> None:
    knob, _, value = fault.partition("=")
    knobs: dict[str, Any] = {knob: value}
    settings, names = environment(doubles, **knobs), FAULTS[fault]
    words = ["--double", doubles, "--out", tmp_path, *names]
    done, verdicts = run(FOLDER / "main.py", *words, **settings)
    assert {name: what for name, (what, _) in verdicts.items()} == dict.fromkeys(
        names, "failed"
    ), done.stdout
    assert done.returncode == 1
    lines = (tmp_path / "items.jsonl").read_text("utf-8").splitlines()[1:]
    for one in map(json.loads, lines):  # enough to find the cause without a second run
        assert any(ran["command"] and "run" in ran for ran in one["seen"]), one
    with tarfile.open(tmp_path / "items.failed.tar") as tar:
        kept = {path.partition("/")[0] for path in tar.getnames()}
        assert kept == {*names}
        assert f"{names[0]}/1/program.lprof.gz" in tar.getnames()


def test_traces_of_a_failed_item_are_kept_compressed_and_leave_room_for_others(
    tmp_path: Path,
) -> None:
    """torch.profiler's are of several MB; a machine gives back files up to 16 MB."""
    program = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(FOLDER)!r})
import main, results
from verdicts import FAILED, Verdict
kept = results.Results(Path("out"), "part-2", {{}})
noise, trace = os.urandom(3 << 19), b'{{"ph": "X", "dur": 1}}, ' * 200_000
for number in range(15):
    folder = Path(f"item{{number}}", "1")
    folder.mkdir(parents=True)
    for name, data in (("noise0", noise), ("noise1", noise), ("trace0.json", trace)):
        (folder / name).write_bytes(data)
    (folder / "err.txt").write_text("why")
    kept.add(Verdict(folder.parent.name, FAILED), folder.parent)  # it hung
"""
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    archive = tmp_path / "out" / "part-2.failed.tar"
    assert archive.stat().st_size < 16 << 20
    with tarfile.open(archive) as tar:
        names = tar.getnames()
        traces = [one for one in names if one.endswith("trace0.json.gz")]
        packed = tar.extractfile("item14/1/trace0.json.gz")
        assert packed is not None
        assert gzip.decompress(packed.read()).startswith(b'{"ph": "X"')
    assert len(traces) == sum(one.endswith("err.txt") for one in names) == 15
    assert sum("noise" in one for one in names) == 9  # at most one of an item
    said = done.stderr.splitlines()
    assert said[0] == "lineprof: part-2.failed.tar has no room for 1/noise1 of item0"
    assert len(said) == 15


def judged(
    folder: Path,
    check: str,
    *,
    limit_s: float = 0,
    once_written: Sequence[str] = (),
    doubles: Path = Path("/nowhere"),
    **settings: str,
) -> Mapping[str, str]:
    """Return the list's verdict on an item whose check is the lines of `check`.

    limit_s: the item is judged in a process of its own with this limit.
    once_written: files that it writes before it is killed, two seconds later.
    """
    how = "apart" if limit_s else "judge"
    item = textwrap.indent(textwrap.dedent(check).strip(), "    ")
    program = f"""\
import select, sys, time, types
sys.path.insert(0, {str(FOLDER)!r})
from pathlib import Path
import main, verdicts

def check(lab):
{item}

judge = verdicts.judge

def apart(*words):
    judging = verdicts.Judging(*words, 1000)
    for name in {once_written!r}:
        file = words[1] / name
        while not (file.exists() and file.stat().st_size):
            time.sleep(0.01)
    select.select([judging.fd], [], [], judging.left_s)
    return judging.verdict()

verdicts.GRACE_S = {2 if once_written else LIMIT_S}
item = types.SimpleNamespace(NEEDS=(), check=check, LIMIT_S={limit_s})
verdicts.load = lambda name: item
verdict = {how}("it", Path({str(folder)!r}), Path({str(doubles)!r}))
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


def test_an_item_over_its_limit_has_a_verdict(tmp_path: Path) -> None:
    verdict = judged(
        tmp_path, "lab.expect(False, 'a'); import time; time.sleep(60)", limit_s=2
    )
    assert verdict["what"] == "failed"
    assert re.fullmatch(
        r"a; OverLimitError in <string>:\d+: it runs for over 2 s", verdict["why"]
    )


def test_an_item_that_hangs_is_killed_with_its_programs(tmp_path: Path) -> None:
    verdict = judged(
        tmp_path,
        """
        import os, signal, subprocess
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        child = subprocess.Popen(["sleep", "1000"], process_group=0)
        Path(lab.folder, "child.txt").write_text(str(child.pid))
        child.wait()
        """,
        limit_s=2,
        once_written=["child.txt", "stalled.txt"],
    )
    assert verdict["what"] == "failed"
    assert verdict["why"].startswith("the item gave no verdict within 4 s; it was in")
    stat = Path("/proc", (tmp_path / "child.txt").read_text("utf-8"), "stat")
    late = time.monotonic() + LIMIT_S
    with contextlib.suppress(OSError):  # it is gone
        while ") Z" not in stat.read_text("utf-8"):
            assert time.monotonic() < late, "it is still running"


def test_an_item_that_crashes_does_not_end_the_list(tmp_path: Path) -> None:
    verdict = judged(tmp_path, "import os; os.abort()", limit_s=20)
    why = "the item's process ended without a verdict"
    assert verdict == {"what": "failed", "why": why}


# The parts of PyTorch that inside/regions.py uses, for work on the double.  FAULT is
# what its profiler, or its events, get wrong.
TORCH = """
import contextlib, enum, json, os, sys, types
from raw import clock, gpu

FAULT = os.environ.get("FAULT")
seen = []

def launch(category, name, size, ns):
    at = clock() / 1000
    (gpu.spin if category == "kernel" else gpu.to_device_async)(size or ns)
    call = {"correlation": len(seen)}
    if FAULT != "no calls":
        seen.append({"cat": "cuda_driver", "name": "", "ts": at, "args": call})
    if FAULT == "no copy" and len(seen) == 1:
        return
    work = {**call, "bytes": size + (FAULT == "bytes")} if size else call
    us = ns / 1000 * (1.02 if FAULT == "time" else 1)
    seen.append({"cat": category, "name": name, "ts": at, "dur": us, "args": work})

class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self, stream):
        self.at = gpu.mark()

    def elapsed_time(self, other):
        return gpu.apart(self.at, other.at) / 1e6 * (1.02 if FAULT == "events" else 1)

@contextlib.contextmanager
def record_function(name):
    begun = clock() / 1000
    yield
    when = {"ts": begun, "dur": clock() / 1000 - begun}
    if FAULT != "no region":
        seen.append({"cat": "user_annotation", "name": name, **when})

class profile:
    def __init__(self, activities):
        assert [one.name for one in activities] == ["CPU", "CUDA"]

    def __enter__(self):
        seen.clear()
        return self

    def __exit__(self, *error):
        pass

    def export_chrome_trace(self, path):
        with open(path, "w") as file:
            json.dump({"traceEvents": seen}, file)

ProfilerActivity = enum.Enum("ProfilerActivity", ["CPU", "CUDA"])
cuda = sys.modules["torch.cuda"] = types.ModuleType("torch.cuda")
cuda.Event, cuda.synchronize = Event, gpu.wait
profiler = sys.modules["torch.profiler"] = types.ModuleType("torch.profiler")
for one in (ProfilerActivity, profile, record_function):
    setattr(profiler, one.__name__, one)
gpu.init()
gpu.prepare()
"""
WORKLOAD = """
import torch
from regions import compare, region

def forward():
    for _ in range(3):
        torch.launch("kernel", "spin", 0, 1_000_000)

def work():
    for _ in range(4):
        with region("copy"):
            torch.launch("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 4096, 1000)
        with region("forward"):
            forward()

compare(work)
"""


@pytest.mark.parametrize(
    ("fault", "what", "why"),
    [
        ("", "passed", ""),
        ("no calls", "passed", ""),
        ("no copy", "failed", r"copy: lineprof alone has 2 HtoD \(4096 B\), torch"),
        ("bytes", "failed", r"copy: .* \(4096 B\), torch.profiler 8 HtoD \(4097 B\)"),
        ("time", "failed", r"forward: 24000000 ns of kernel here, 24480000 ns there"),
        ("events", "failed", r"forward: 3000000 ns .*, 3060000 ns .* by -60000 ns"),
        ("no region", "failed", r"torch.profiler has no region copy; .*forward"),
    ],
)
def test_a_workload_is_compared_with_another_profiler(
    doubles: Path, tmp_path: Path, fault: str, what: str, why: str
) -> None:
    (tmp_path / "torch.py").write_text(TORCH, encoding="utf-8")
    check = f"""
        import truth
        copied = {{"copy": {{"HtoD": 2 * 4 * 4096}}}}
        program = {WORKLOAD!r}
        truth.compare(lab, program, rounds=2, timed=["forward"], copied=copied)
        """
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    knobs: dict[str, Any] = {"FAULT": fault, "PYTHONPATH": paths}
    settings = environment(doubles, **knobs)
    verdict = judged(tmp_path, check, doubles=doubles, **settings)
    assert verdict["what"] == what, verdict
    assert re.match(why, verdict["why"]), verdict


TRAINING = """
from gpu_double import workload
from lineprof import profile

class Loss:
    def backward(self):
        gpu.fk_launch(b"kernel", 0, 1000)

@profile
def train():
    for _ in range(20):
        gpu.fk_memcpy(1, 4096, 1000, 1, 1, 3)
        loss.backward()
        gpu.fk_sync(0, 0, -1)

gpu, loss = workload(), Loss()
gpu.fk_init()
train()
print("trained with PyTorch on the GPU")
"""


def test_the_appearance_of_a_training_loop_is_kept(
    doubles: Path, tmp_path: Path
) -> None:
    """The item is not run without PyTorch; its program stands in for it here."""
    program, folder = tmp_path / "program" / "gpu_train.py", tmp_path / "item"
    program.parent.mkdir()
    folder.mkdir()
    program.write_text(TRAINING, encoding="utf-8")
    check = f"""
        from items import appearance
        appearance.EXAMPLE = Path({str(program)!r})
        appearance.check(lab)
        """
    assert judged(folder, check, doubles=doubles) == {"what": "passed", "why": ""}
    kept = {file.name for file in (folder / "kept").iterdir()}
    assert {"table.txt", "gpu-idle.txt", "gpu_train.lprof", "timeline.json"} < kept


TURNS = """
import sys
for number in turns():
    if (sys.argv[1], number) == ("b", 1):
        raise SystemExit("b has failed")
    begun = clock()
    sum(range(100_000))
    print(begun, clock())
say(last=number)
"""


@pytest.mark.parametrize("how", ["", ", one_by_one=True"])
def test_programs_take_turns_and_one_that_fails_ends_none(
    tmp_path: Path, how: str
) -> None:
    verdict = judged(
        tmp_path,
        f"""
        from lab import Command, alone
        lab.environment = lambda: {{"PYTHONPATH": str(main.HERE / "inside")}}
        ran = lab.in_turn({{n: Command({TURNS!r}, alone(n)) for n in "abc"}}, 3{how})
        lab.expect([one.status for one in ran.values()] == [0, 1, 0], str(ran))
        lab.expect([ran[n].said.get("last") for n in "abc"] == [2, None, 2], str(ran))
        took = sorted(
            (*map(int, line.split()), name)
            for name, one in ran.items()
            for line in one.out.splitlines()
            if "said" not in line
        )
        lab.expect("".join(name for *_, name in took) == "abccaac", str(took))
        apart = [a[1] < b[0] for a, b in zip(took, took[1:])]
        lab.expect(all(apart), str(took))
        """,
    )
    assert verdict == {"what": "passed", "why": ""}


def test_an_item_whose_time_is_cut_short_is_not_run(doubles: Path) -> None:
    words = ["endless_kernel", "--double", doubles, "--within", "1"]
    done, verdicts = run(FOLDER / "main.py", *words)
    why = "the time of --within was over before it ended"
    assert verdicts == {"endless_kernel": ("not run", why)}
    assert done.returncode == 0


def test_items_side_by_side_have_the_verdicts_of_one_after_the_other(
    doubles: Path, tmp_path: Path
) -> None:
    """Those that measure time run after the others, each alone."""
    names = [*SIDE_BY_SIDE, "torch_calls"]
    words = [*names, "--double", doubles, "--jobs", 3, "--out", tmp_path]
    done, verdicts = run(FOLDER / "main.py", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = dict.fromkeys(names, "passed") | {"torch_calls": "not run"}
    assert {name: what for name, (what, _) in verdicts.items()} == wanted
    assert [*verdicts][-2:] == ["clocks", "gpu_idle"]
    lines = (tmp_path / "items.jsonl").read_text("utf-8").splitlines()[1:]
    assert [json.loads(one)["name"] for one in lines] == [*verdicts]


def test_parts_are_written_as_items_end_and_merged(
    doubles: Path, tmp_path: Path
) -> None:
    """A run that was cut off, or had no time left, loses no earlier verdict."""
    for part, names in (("1", ["fork", "clocks"]), ("2", ["jax_step"])):
        words = ["--double", doubles, "--part", part, "--out", tmp_path / part]
        done, verdicts = run(FOLDER / "main.py", *names, *words, "--within", "1e-9")
        assert {what for what, _ in verdicts.values()} == {"not run"}
        assert (done.returncode, done.stderr) == (0, "")
    lines = (tmp_path / "1" / "part-1.jsonl").read_text("utf-8").splitlines()
    first, *items = [json.loads(line) for line in lines]
    assert first["origin"]["device"] == "double"
    assert [one["name"] for one in items] == ["clocks", "fork"]
    with (tmp_path / "1" / "part-1.jsonl").open("a", encoding="utf-8") as file:
        verdict = {"name": "fork", "what": "failed", "why": "b", "figures": {"ms": 2}}
        file.write(json.dumps(verdict) + "\n" + lines[2] + "\n" + lines[1][:20])
    folders = [tmp_path / "1", tmp_path / "2"]
    done, _ = run(FOLDER / "main.py", "--merge", *folders, "--into", tmp_path / "all")
    said = done.stdout.splitlines()
    assert said[0] == "0 passed, 1 failed, 2 not run"
    assert "graphs" in said[1]
    [path] = (tmp_path / "all").glob("double-*.json")
    found = json.loads(path.read_text("utf-8"))
    assert found["items"]["fork"] == {"verdict": "failed", "why": "b", "ms": 2}
    assert found["items"]["jax_step"]["verdict"] == "not run"
    assert done.returncode == 1


def test_parts_of_machines_that_differ_by_a_patch_of_the_driver_are_merged(
    tmp_path: Path,
) -> None:
    """Each part may be run on another one of several like machines."""
    for number, name in ((3, "fork"), (4, "clocks")):
        driver = {"driver": f"580.159.0{number}", "date": "2026-12-01"}
        lines = [
            {"origin": {"device": "NVIDIA H200", **driver}},
            {"name": name, "what": "passed"},
        ]
        (tmp_path / name).mkdir()
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / name / "part-1.jsonl").write_text(text, encoding="utf-8")
    words = ["--merge", tmp_path / "fork", tmp_path / "clocks", "--into", tmp_path]
    done, _ = run(FOLDER / "main.py", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("2 passed, 0 failed, 0 not run")


CALLS = f"""
import contextlib, io, json, os, sys, traceback
sys.path[:0] = [{str(ROOT)!r}, {str(FOLDER)!r}]
os.environ.pop("ARGS", None)
which, *calls = json.load(sys.stdin)
if which == "gpu":
    from tools.checks import gpu as one
    one.gpu_problem = lambda: ""  # as if there were one
    one.build = lambda: sys.exit("it is built")
else:
    import main as one
for words in calls:
    sys.argv, out, err = ["it", *words], io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = one.main()
        except SystemExit as end:
            status = end.code
        except BaseException:
            traceback.print_exc()
            status = "an exception"
    print(json.dumps([status, out.getvalue(), err.getvalue()]))
"""


def refused(which: str, calls: Mapping[tuple[object, ...], str]) -> None:
    """Check that calls of main() end with status 2 and print one line alone.

    calls: the arguments, and a pattern of the line; all are called in one process.
    """
    words = [[*map(str, call)] for call in calls]
    done = subprocess.run(
        [sys.executable, "-B", "-c", CALLS],
        capture_output=True,
        input=json.dumps([which, *words]),
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(words), done.stderr
    wrong = [
        (call, answer)
        for call, answer, pattern in zip(words, found, calls.values(), strict=True)
        if answer[:2] != [2, ""]
        or not re.fullmatch(f"lineprof: {pattern}; .+\n", answer[2])
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_wrong_arguments_are_one_line_before_anything_is_built(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    no, gone = re.escape, tmp_path / "gone"
    seconds = "argument --within: '{}' is not a number of seconds above 0"
    refused(
        "gpu",
        {
            ("nosuch", "fork"): "no item is called nosuch",
            ("--part", "x"): "argument --part: .*'x'",
            ("--lst",): ".*--lst",
            **{
                ("--jobs", n): f"argument --jobs: '{n}' is .*" for n in ("0", "-1", "x")
            },
            **{("--within", n): seconds.format(n) for n in ("0", "-5", "nan", "x")},
            ("--part", "1", "torch_calls"): "no item in part 1 matches torch_calls",
            ("--raw", "torch_c*"): r"no item without a framework matches torch_c\*",
            ("--list", "--part", 2, "fork"): "no item in part 2 matches fork",
            ("--out", file): no(f"--out {file}: {file} is not a folder") + ".*",
            ("--out", file / "a" / "b"): no(f"--out {file}/a/b: {file} is not") + ".*",
            ("--double", gone): no(f"--double {gone}: no fake_cuda.so, ") + ".* there",
            ("--cupti", gone): no(f"--cupti {gone}: no such file"),
            ("fork", "--dry-run", "--merge", gone): "--merge and ITEM, --dry-run: .*",
            ("--record", "--into", file): no(f"--into {file}: {file} is not a folder"),
        },
    )
    done, _ = run(ROOT / "tools" / "checks" / "gpu.py", "'a", ARGS="--out '")
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("lineprof: ARGS: ")


def test_results_that_cannot_be_merged_are_one_line_and_not_recorded(
    tmp_path: Path,
) -> None:
    into = tmp_path / "into"
    (into / "sub").mkdir(parents=True)
    machine = {"driver": "580", "date": "2026-11-23"}
    h100, h200 = [
        json.dumps({"origin": {"device": f"NVIDIA {name}", **machine}})
        for name in ("H100", "H200")
    ]
    fork, clocks = [
        json.dumps({"name": name, "what": "passed"}) for name in ("fork", "clocks")
    ]

    def folder(name: str, *lines: str | bytes) -> Path:
        (tmp_path / name).mkdir()
        whole = [line if isinstance(line, bytes) else line.encode() for line in lines]
        data = b"".join(line + b"\n" for line in whole)
        (tmp_path / name / "part-1.jsonl").write_bytes(data)
        return tmp_path / name

    good, other = folder("good", h100, fork), folder("other", h200, clocks)
    wrong_lines = {
        "5": "neither an origin nor a verdict",
        "[1, 2]": "neither an origin nor a verdict",
        '{"name": "fork"}': "a verdict lacks what",
        '{"name": "fork", "what": "passed", "a": 1}': "a verdict has no field a",
        '{"name": "fork", "what": "passed", "figures": 1}': ".* type in figures",
        '{"name": "fork", "what": "hurra"}': "no verdict is called 'hurra', .*",
        '{"name": "nosuchitem", "what": "passed"}': "no item is called 'nosuchitem'",
        '{"origin": {"device": "a"}}': "the origin lacks driver, date",
        '{"origin": [1]}': "the origin is not a JSON object",
        fork[:20]: "not JSON",  # in the midst of a file
        "[" * 100_000: "not JSON",
        b'{"name": "\xff"}': "not text in UTF-8",
    }
    calls: dict[tuple[object, ...], str] = {}
    for number, (line, why) in enumerate(wrong_lines.items()):
        wrong = folder(str(number), h100, fork, line, clocks)
        place = re.escape(f"{wrong / 'part-1.jsonl'}:3: ")
        calls["--merge", wrong, "--into", into] = place + why
    bare, empty = folder("bare", fork), tmp_path / "gone"
    both = [f"NVIDIA {one} with driver 580" for one in ("H100", "H200")]
    files = [tmp_path / name / "part-1.jsonl" for name in ("good", "other")]
    each = [f"{one} ({file})" for one, file in zip(both, files, strict=True)]
    damaged = into / "sub" / "nvidia-h100-580-2026-11-23.json"
    damaged.write_text('{"items": [1]}')
    calls |= {
        ("--merge", bare, "--into", into): r".*/bare/part-1.jsonl:1: no origin .*",
        ("--merge", good, empty, into, "--into", into): re.escape(
            f"no results (*.jsonl) in {empty}, {into}"
        ),
        ("--merge", good, "--merge", other, "--into", into): re.escape(
            f"results of different machines: {each[0]} and {each[1]}"
        ),
        ("--merge", good, "--into", into / "sub"): re.escape(
            f"{damaged}: not a record of results"
        ),
        ("--merge", good, "--into", damaged): r"--into .*\.json is not a folder",
        ("--merge", good, "--into", empty / "a"): r"--into .*/gone is not a folder",
    }
    refused("main", calls)
    assert [path.name for path in into.rglob("*.*")] == [damaged.name]
    assert damaged.read_text() == '{"items": [1]}'


def test_a_background_job_with_doubles_needs_no_gpu_and_replaces_a_cut_off_line(
    doubles: Path, tmp_path: Path
) -> None:
    """As by `make test-gpu ARGS="--double FOLDER ..." &`, but with this lineprof."""
    program = f"""
import signal, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from tools.checks import gpu
gpu.build = lambda: Path({str(tmp_path)!r})
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.exit(gpu.main())
"""
    words = ["--double", doubles, "--out", tmp_path, "--within", "100"]
    lines = tmp_path / "items.jsonl"
    lines.write_text('{"origin": {}}\n{"name": "fork", "wh')
    no_device = {"CUDA_VISIBLE_DEVICES": "-1"}  # hides a GPU of this machine
    done, verdicts = run("-c", program, IN_BACKGROUND, *words, ARGS="", **no_device)
    assert verdicts == {IN_BACKGROUND: ("passed", "")}, done.stdout + done.stderr
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(one) for one in lines.read_text("utf-8").splitlines()]
    assert [one.get("name", "origin") for one in found] == ["origin"] * 2 + [
        IN_BACKGROUND
    ]


def programs_in(folder: Path) -> list[str]:
    """Return the processes that have a folder in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(folder).encode() in (process / "environ").read_bytes():
                found.append(process.name)
    return found


def test_a_list_that_is_terminated_keeps_its_verdicts_and_leaves_no_program(
    doubles: Path, tmp_path: Path
) -> None:
    words = ["clocks", "endless_kernel", "--double", doubles, "--out", tmp_path / "out"]
    command = [sys.executable, "-B", FOLDER / "main.py", *words]
    (tmp_path / "items").mkdir()
    settings = {**environment(doubles), "TMPDIR": str(tmp_path / "items")}
    with subprocess.Popen(
        [*map(str, command)], stdout=subprocess.PIPE, env=settings, text=True
    ) as process:
        assert process.stdout is not None
        assert any(line.startswith("passed  clocks") for line in process.stdout)
        while not [*tmp_path.glob("items/*/1/out.txt")]:  # the next item has begun
            assert process.poll() is None
        process.terminate()
    assert process.returncode == 128 + signal.SIGTERM
    assert not [*tmp_path.glob("items/*")]
    late = time.monotonic() + LIMIT_S
    while programs_in(tmp_path):
        assert time.monotonic() < late, programs_in(tmp_path)
    lines = (tmp_path / "out" / "items.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(one).get("name") for one in lines] == [None, "clocks"]


def test_the_driver_names_the_device_where_there_is_no_nvidia_smi(
    tmp_path: Path,
) -> None:
    """Otherwise the results of any two machines could be merged."""
    (tmp_path / "gpus" / "0000:01:00.0").mkdir(parents=True)
    text = "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 42\n"
    (tmp_path / "gpus" / "0000:01:00.0" / "information").write_text(text)
    program = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(FOLDER)!r})
import main, results
results.DRIVER = Path({str(tmp_path)!r})
for kind in ("Kernel Module ", "Open Kernel Module for x86_64", ""):
    line = f"NVRM version: NVIDIA UNIX x86_64 {{kind}} 580.159.04  Release Build\\n"
    results.DRIVER.joinpath("version").write_text(line)
    where = results.origin()
    print(where["device"], where["driver"], sep=", ")
"""
    done, _ = run("-c", program, PATH=str(tmp_path))
    h100 = "NVIDIA H100 80GB HBM3"
    drivers = ["580.159.04", "580.159.04", "unknown"]
    assert done.stdout.splitlines() == [f"{h100}, {one}" for one in drivers], done


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
        ran = lab.python(program, limit_s=6)
        lab.expect(ran.status == "none after 6 s", str(ran))
        lab.expect('program.py", line 6 in <module>' in ran.gist, ran.gist)
        child = Path("/proc", ran.out.strip(), "stat")
        late = time.monotonic() + 300
        while child.exists() and ") Z" not in child.read_text():
            assert time.monotonic() < late, "it is still running"
        lab.expect(ran.out, str(ran))
        """,
    )
    assert verdict == {"what": "passed", "why": ""}
