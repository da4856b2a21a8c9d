"""Plants mistakes in the C sources, one at a time, and names those no test notices.

    python tools/checks/mutate_c.py [NAME...]

Each mistake changes one place of a copy of the checkout, which is then built and tested
with the C tests and the Python tests of the mistake's subject. Without names all
mistakes are tried. Exit status: 1 if one survived, 2 if the tests do not pass without
any mistake.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from tools.dev.envs import ROOT, Env, clean_environment, make, pip, require
from tools.dev.pythons import this

if TYPE_CHECKING:
    from collections.abc import Sequence

ENV = Env(ROOT / ".venv-mutate-c")
LIMIT = 300  # s, of one command: a mistake may hang a test


class Mistake(NamedTuple):
    """One change of the sources, and the tests that have to notice it."""

    name: str
    file: str  # below csrc
    old: str  # is in the file once
    new: str
    tests: tuple[str, ...]  # C tests by name, Python tests by path
    harmless: str = ""  # why it changes nothing that a test could see


_STATEMENTS = ("tests/behaviour/test_hits_executions.py",)
_EXTRAS = ("tests/coexistence/test_other_tools.py",)
MISTAKES = (
    Mistake(
        "far-line-twice",
        "record/recorder.c",
        "place <= frame->last_hit",
        "place < frame->last_hit",
        _STATEMENTS,
    ),
    Mistake(
        "far-line-forgotten",
        "engine/engine.c",
        "            frame->last_hit = suspended->last_hit;\n",
        "",
        _STATEMENTS,
    ),
    Mistake(
        "inclusive-cost",
        "record/call_tree.h",
        "    node->inclusive_cost += cost;\n",
        "",
        ("test_call_tree",),
    ),
    Mistake(
        "half-cost-of-a-c-call",
        "engine/c_functions.c",
        "        rec->cost += lp_c_functions_cost - lp_c_functions_cost / 2;\n",
        "",
        ("tests/behaviour/test_c_functions.py",),
    ),
    Mistake(
        "flush-without-patience",
        "gpu/cupti_flush.c",
        "            min = outstanding;\n            polls = 0;\n",
        "            min = outstanding;\n",
        ("tests/gpu_simulated/test_gpu_failures.py",),
    ),
    Mistake(
        "ranges-of-a-dead-thread",
        "engine/threads.c",
        "        rec->unpopped = 0;",
        "",
        ("tests/gpu_simulated/test_gpu_nvtx.py",),
    ),
    Mistake(
        "call-under-way-is-timed",
        "gpu/cupti_callbacks.c",
        "        here.timed--;\n",
        "",
        ("test_cupti_callbacks",),
    ),
    Mistake(
        "horizon-too-late",
        "gpu/activity_sums.c",
        "busy->spans[half - 1].end",
        "busy->spans[half].end",
        ("test_busy_time",),
    ),
    Mistake(
        "gap-before-the-last-reading",
        "record/off_cpu.c",
        "wait->read_at ? wait->read_at : last;\n    WRITE(",
        "wait->read_at ? last : last;\n    WRITE(",
        ("test_off_cpu",),
        harmless="a wait is no longer than the time since the last reading",
    ),
    Mistake(
        "callee-in-self-time",
        "record/call_tree.h",
        "        caller->node->self -= ticks;\n",
        "",
        ("test_call_tree",),
    ),
    Mistake(
        "hit-counts-twice",
        "record/recorder.c",
        "        frame->hit_mask |= bit;\n",
        "",
        _STATEMENTS,
    ),
    Mistake(
        "gil-range-without-its-begin",
        "record/off_cpu_sampler.c",
        "first >= low && first < high",
        "first > low && first < high",
        ("test_off_cpu",),
    ),
    Mistake(
        "touching-spans-stay-apart",
        "gpu/activity_sums.c",
        "busy->spans[first - 1].end >= start",
        "busy->spans[first - 1].end > start",
        ("test_busy_time",),
    ),
    Mistake(
        "min-wait-for-max",
        "record/call_paths.c",
        "while (ticks > max &&",
        "while (ticks < max &&",
        ("test_call_paths",),
    ),
    Mistake(
        "thread-name-cut-in-a-character",
        "engine/threads.c",
        "0xC0) == 0x80",
        "0xC0) == 0xC0",
        ("tests/behaviour/test_threads.py",),
    ),
    Mistake(
        "ranges-of-another-thread-stay",
        "gpu/nvtx_ranges.c",
        "            rec->unpopped += last->ranges;\n",
        "",
        ("test_nvtx_ranges", "tests/gpu_simulated/test_gpu_nvtx.py"),
    ),
    Mistake(
        "code-objects-die-at-exit",
        "engine/code.c",
        "        Py_INCREF(mark->code);\n",
        "",
        _EXTRAS,
    ),
    Mistake(
        "mark-stays-listed",
        "engine/code.c",
        "    *mark->link = mark->next;\n",
        "",
        _EXTRAS,
    ),
    Mistake(
        "subinterpreters-allowed",
        "module/module.c",
        "if (refuse_subinterpreter() < 0)",
        "if (false)",
        ("tests/coexistence/test_subinterpreters.py",),
    ),
    Mistake(
        "suspended-line-never-resumed",
        "engine/engine.c",
        "            frame->hit_mask = suspended->hit_mask;\n",
        "",
        (*_STATEMENTS, "tests/behaviour/test_hits_multiline.py"),
    ),
)


class Copy:
    """A copy of the checkout with a build of its own."""

    def __init__(self, folder: Path) -> None:
        """Copy the files that git knows or does not ignore, and configure the build."""
        self.folder = folder
        self.build = folder / "build" / "mutants"
        listed = subprocess.run(
            [shutil.which("git") or "git", "ls-files", "-coz", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for name in os.fsdecode(listed.stdout).split("\0"):
            if name and (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)
        switches = ("MODULE=ON", "TESTS=ON", "LTO=OFF", "WERROR=OFF")
        self._configured = self.passes(
            [
                *(ENV.bin / "cmake", "-S", folder, "-B", self.build, "-G", "Ninja"),
                f"-DPython_EXECUTABLE={ENV.python}",
                f"-DCMAKE_MAKE_PROGRAM={ENV.bin / 'ninja'}",
                *(f"-DLINEPROF_{switch}" for switch in switches),
            ]
        )

    def passes(self, command: Sequence[object]) -> bool:
        """Return whether a command succeeds in time; its output is in a file."""
        environment = clean_environment(PYTHONPATH=str(self.folder))
        with (self.folder / "output.txt").open("wb") as output:
            process = subprocess.Popen(
                [str(word) for word in command],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return process.wait(LIMIT) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:  # also what it has started
                end_group(process)

    def builds(self) -> bool:
        """Build what changed; return whether it compiles."""
        if not self._configured or not self.passes(
            [ENV.bin / "cmake", "--build", self.build]
        ):
            return False
        for module in self.build.glob("_core*.so"):
            shutil.copy2(module, self.folder / "lineprof")
        return True

    def failing(self, tests: Sequence[str]) -> str:
        """Return the first of `tests` that does not pass; "" if all do."""
        for test in tests:
            command: list[object]
            if test.startswith("tests/"):
                command = [ENV.python, "-m", "pytest", "-qx", "-p", "no:cacheprovider"]
                command += [test]
            else:
                command = [self.build / test]
            if not self.passes(command):
                return test
        return ""

    def output(self) -> str:
        """Return the end of the last command's output."""
        return (self.folder / "output.txt").read_text(errors="replace")[-2000:]


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait()


def verdict(copy: Copy, mistake: Mistake) -> tuple[bool, str]:
    """Return whether a mistake was noticed, and by what; the copy stays unchanged."""
    file = copy.folder / "csrc" / mistake.file
    text = file.read_text(encoding="utf-8")
    if text.count(mistake.old) != 1:
        return False, f"is not possible: {mistake.old.strip()!r} is not there once"
    file.write_text(text.replace(mistake.old, mistake.new), encoding="utf-8")
    try:
        if not copy.builds():
            return True, "the compiler"
        failed = copy.failing(mistake.tests)
    finally:
        file.write_text(text, encoding="utf-8")
    return bool(failed), failed or "survived " + ", ".join(mistake.tests)


def prepare() -> None:
    """Set up the environment that builds and tests the copies."""
    make(ENV, this())
    require(ENV, "test.txt")
    pip(ENV, "cmake", "ninja", "nvidia-nvtx")


def main(names: Sequence[str] = ()) -> int:
    """Try the mistakes of these names, or all; print a line for each."""
    unknown = set(names) - {mistake.name for mistake in MISTAKES}
    if unknown:
        print("there is no mistake", ", ".join(sorted(unknown)), file=sys.stderr)
        return 2
    chosen = [m for m in MISTAKES if not names or m.name in names]
    prepare()
    survived = 0
    with tempfile.TemporaryDirectory(prefix="lineprof-mutants-") as folder:
        copy = Copy(Path(folder))
        tests = sorted({test for mistake in chosen for test in mistake.tests})
        if not copy.builds() or copy.failing(tests):
            print(copy.output(), "the tests fail without a mistake", sep="\n")
            return 2
        for mistake in chosen:
            noticed, how = verdict(copy, mistake)
            if mistake.harmless and not noticed:
                print(f"harmless  {mistake.name}: {mistake.harmless}", flush=True)
                continue
            survived += not noticed
            word = "noticed " if noticed else "SURVIVED"
            print(f"{word}  {mistake.name}: {how}", flush=True)
    print(f"{survived} of {len(chosen)} mistakes survived")
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
