#!/usr/bin/env python3
"""Cost of profiling real programs: processor time, memory, file and table.

    python benchmarks/real_programs.py [--only sympy,black] [--modes alone,whole,all]

black, MkDocs, Sphinx, Jinja2's tests, SymPy, FastAPI, Django and pandas run alone,
with one class or module profiled, whole, with `--all`, with `--max-overhead 1.2`, and
under line_profiler, cProfile, pyinstrument and VizTracer. All are installed once, in
pinned versions, in the folder given by `--folder`, and lineprof is built there from
this checkout. Figures are processor time of the process and its children; the modes
take turns, each ratio is to the run alone of the same round, and medians are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness import processes
from harness.goals import Verdict
from harness.installation import ROOT, Installation, clean_environment
from harness.programs import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.programs import Program

ALONE, TIMEOUT_S = "alone", 600.0
BUDGET = "1.2"
MAX_BUDGET = 1.3  # of the program's time: the budget, held within 0.1
MAX_LINES = 200  # of the view: all tables, if they have fewer, or the first screen
OURS = {
    "one": ("-p", "{function}"),
    "whole": ("{whole}",),
    "all": ("--all",),
    "budget": ("{whole}", "--max-overhead", BUDGET),
    "all-budget": ("--all", "--max-overhead", BUDGET),
}
THEIRS = {  # the command, and the suffix of its file
    "line_profiler": (
        ("-m", "kernprof", "-lq", "-o", "{file}", "-p", "{function}"),
        "lprof",
    ),
    "cprofile": (("-m", "cProfile", "-o", "{file}"), "prof"),
    "pyinstrument": (("-m", "pyinstrument", "-o", "{file}"), "txt"),
    "viztracer": (("-m", "viztracer", "--quiet", "-o", "{file}", "--"), "json"),
}
MODES = (ALONE, *OURS, *THEIRS)
GOALS = (  # program, mode, figure, maximum
    ("sympy", "whole", "ratio", 2.2),
    ("sympy", "whole", "rss_mb", 120.0),
    ("sympy", "whole", "end_s", 0.5),
    ("fastapi", "all", "ratio", 2.0),
    ("fastapi", "all", "rss_mb", 120.0),
    ("fastapi", "all", "end_s", 0.5),
    ("sphinx", "whole", "ratio", 1.4),
    ("sphinx", "all", "ratio", 2.0),
    ("sphinx", "all", "end_s", 0.5),
    *((one.name, "whole", "view_lines", MAX_LINES) for one in PROGRAMS),
    *((one.name, "all", "view_lines", MAX_LINES) for one in PROGRAMS),
    *((one.name, "budget", "ratio", MAX_BUDGET) for one in PROGRAMS),
    *((one.name, "all-budget", "ratio", MAX_BUDGET) for one in PROGRAMS),
)
UNITS = {
    "ratio": ("of the time alone", "x"),
    "rss_mb": ("memory", " MB"),
    "end_s": ("end of the program to file written", " s"),
    "view_lines": ("lines of the view", ""),
}


@dataclass
class Figures:
    """Figures of one run, or the medians of several."""

    cpu_s: float
    ratio: float  # to the run alone of the same round
    rss_mb: float
    end_s: float | None  # processor time from the program's last output to the file
    file_kb: float | None = None
    view_lines: float | None = None
    view_s: float | None = None
    status: int = 0


@dataclass(frozen=True)
class Mode:
    """One way to run a program: a mode's name, and which lineprof, if there are two."""

    name: str
    label: str = ""
    product: Path | None = None

    @property
    def title(self) -> str:
        """Name in the table."""
        return f"{self.name} {self.label}".rstrip()

    def words(self, program: Program, file: Path) -> list[str]:
        """Return the arguments of Python, before those of the program."""
        values = {"function": program.function, "file": str(file)}
        if self.name in OURS:
            words = ["-m", "kernprof", "-lq", "-o", str(file)]
            for word in OURS[self.name]:
                if word == "{whole}":
                    words += program.whole
                else:
                    words.append(word.format(**values))
            return words
        words = [word.format(**values) for word in THEIRS.get(self.name, ((), ""))[0]]
        if words[-1:] == ["--"] and program.arguments[0] == "-m":
            words.pop()
        return words

    @property
    def suffix(self) -> str:
        """Suffix of the file that the mode writes."""
        return THEIRS[self.name][1] if self.name in THEIRS else "lprof"

    def view(self, file: Path) -> list[str]:
        """Return the arguments of Python that print the table of a file, or none."""
        if self.product:
            return ["-m", "lineprof", "view", str(file)]
        if self.name == "line_profiler":
            return ["-m", "line_profiler", str(file)]
        return []


class Bench:
    """Runs of one program, each in the same folder, with the same inputs."""

    def __init__(self, program: Program, installed: Installation, runs: Path) -> None:
        self.program = program
        self.python = str(installed.python)
        self.top = runs / program.name
        self.top.mkdir()
        program.prepare(self.top, installed.inputs)
        if not (self.top / "pyproject.toml").exists():  # the project ends here
            (self.top / "pyproject.toml").touch()
        self.files = runs / f"{program.name}-files"
        self.files.mkdir()

    def environment(self, mode: Mode) -> dict[str, str]:
        """Return the environment of a run."""
        own = {
            name: value.format(self.top)
            for name, value in self.program.environment.items()
        }
        paths = [str(mode.product or ""), own.pop("PYTHONPATH", "")]
        return {
            **clean_environment(),
            **own,
            "PYTHONHASHSEED": "0",
            "PYTHONUNBUFFERED": "1",  # the last output tells when the program ended
            "COLUMNS": "120",
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        }

    def run(self, mode: Mode, alone: Figures | None, *, view: bool) -> Figures:
        """Run the program once."""
        folder = self.top / self.program.folder
        for output in self.program.outputs:
            shutil.rmtree(folder / output, ignore_errors=True)
        file = self.files / f"{mode.title.replace(' ', '-')}.{mode.suffix}"
        file.unlink(missing_ok=True)
        words = [*mode.words(self.program, file), *self.program.arguments]
        output = file.with_suffix(".out")
        used = self.usage(words, folder, mode, output, file)
        found = Figures(
            cpu_s=used.cpu_s,
            ratio=used.cpu_s / alone.cpu_s if alone else 1.0,
            rss_mb=used.rss_mb,
            end_s=used.end_s,
            status=used.status,
        )
        if file.exists():
            found.file_kb = file.stat().st_size / 1e3
            if view:
                self.add_view(mode, file, found)
        return found

    def add_view(self, mode: Mode, file: Path, found: Figures) -> None:
        """Add the size of the table, and the time that it takes."""
        words, table = mode.view(file), file.with_suffix(".view")
        if words:
            found.view_s = self.usage(words, self.files, mode, table, file).cpu_s
        elif mode.suffix == "txt":
            table = file
        else:
            return
        with table.open("rb") as text:
            found.view_lines = sum(1 for _ in text)

    def usage(
        self, words: Sequence[str], folder: Path, mode: Mode, output: Path, file: Path
    ) -> processes.Usage:
        """Run Python with these arguments."""
        command, environment = [self.python, *words], self.environment(mode)
        return processes.usage(command, folder, environment, output, file, TIMEOUT_S)


def median(series: Sequence[float | None]) -> float | None:
    """Return the median of the known values, or None."""
    known = [value for value in series if value is not None]
    return statistics.median(known) if known else None


def medians(runs: Sequence[Figures]) -> Figures:
    """Return the median of each figure; the first status that is not 0."""
    rows = [asdict(run) for run in runs]
    found = {name: median([row[name] for row in rows]) for name in rows[0]}
    found["status"] = next((run.status for run in runs if run.status), 0)
    return Figures(**found)  # type: ignore[arg-type]


def measure(bench: Bench, modes: Sequence[Mode], rounds: int) -> dict[str, Figures]:
    """Return the medians of each mode; the modes take turns."""
    first = modes[0]
    bench.run(first, None, view=False)  # files and caches are warm from here on
    series: dict[str, list[Figures]] = {mode.title: [] for mode in modes}
    for turn in range(rounds):
        alone: Figures | None = None
        for mode in modes:
            found = bench.run(mode, alone, view=turn == rounds - 1)
            series[mode.title].append(found)
            alone = alone or found
    return {title: medians(runs) for title, runs in series.items()}


HEAD = (
    f"  {'mode':<22}{'CPU s':>8}{'ratio':>8}{'MB':>8}{'end s':>8}"
    f"{'file':>10}{'view':>10}{'view s':>8}"
)


def size(kilobytes: float | None) -> str:
    """Return a file's size as text."""
    if kilobytes is None:
        return "-"
    if kilobytes < 1000:
        return f"{kilobytes:.0f} kB"
    return f"{kilobytes / 1e3:.1f} MB"


def row(title: str, found: Figures, alone: Figures) -> str:
    """Return one mode's line of the table."""
    lines = "-" if found.view_lines is None else f"{found.view_lines:,.0f}"
    seconds = "-" if found.view_s is None else f"{found.view_s:.2f}"
    end = "-" if found.end_s is None else f"{found.end_s:.2f}"
    text = (
        f"  {title:<22}{found.cpu_s:8.2f}{found.ratio:7.2f}x{found.rss_mb:8.0f}"
        f"{end:>8}{size(found.file_kb):>10}{lines:>10}{seconds:>8}"
    )
    if found.status != alone.status:
        text += f"  status {found.status}, alone {alone.status}"
    return text


def report(name: str, figures: dict[str, Figures]) -> Iterator[str]:
    """Yield the table of one program."""
    alone = next(iter(figures.values()))
    yield name
    yield HEAD
    for title, found in figures.items():
        yield row(title, found, alone)


def verdicts(
    results: dict[str, dict[str, Figures]], labels: Sequence[str]
) -> Iterator[Verdict]:
    """Yield the verdicts on each goal that was measured."""
    for program, mode, figure, bound in GOALS:
        for label in labels:
            figures = results.get(program, {})
            title = f"{mode} {label}".rstrip()
            if title not in figures or ALONE not in figures:
                continue
            value = getattr(figures[title], figure)
            words, unit = UNITS[figure]
            if value is not None:
                yield Verdict(f"{program}, {title}: {words}", value, bound, unit)


def options() -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [program.name for program in PROGRAMS]

    def some(known: Sequence[str]) -> object:
        def parse(text: str) -> list[str]:
            chosen = text.split(",")
            if unknown := [name for name in chosen if name not in known]:
                raise argparse.ArgumentTypeError(
                    f"unknown: {', '.join(unknown)}; there are {', '.join(known)}"
                )
            return chosen

        return parse

    add = parser.add_argument
    add("--only", type=some(names), default=names, metavar="NAMES", help="programs")
    add(
        "--modes",
        type=some(MODES),
        default=MODES,
        metavar="NAMES",
        help="of " + ", ".join(MODES),
    )
    add("--runs", type=int, default=3, help="rounds (default: 3)")
    add(
        "--folder",
        type=Path,
        default=ROOT / "build" / "real_programs",
        help="for the installed programs (default: build/real_programs)",
    )
    add(
        "--product",
        type=Path,
        default=ROOT,
        help="checkout of lineprof to build, or a folder with lineprof installed",
    )
    add("--against", type=Path, help="a second one, measured in the same rounds")
    add("--keep", type=Path, help="keep profiles and output in this folder")
    add("--json", type=Path, help="write all figures to this file")
    return parser.parse_args()


def main() -> int:
    """Measure and print; the exit status is 1 if a goal is missed."""
    parsed = options()
    installed = Installation(parsed.folder.resolve())
    products = {"": installed.product(parsed.product.resolve())}
    if parsed.against:
        products["against"] = installed.product(parsed.against.resolve())
    modes = [Mode(ALONE)]
    for name in parsed.modes:
        if name in OURS:
            modes += [Mode(name, label, path) for label, path in products.items()]
        elif name != ALONE:
            modes.append(Mode(name))
    results: dict[str, dict[str, Figures]] = {}
    with tempfile.TemporaryDirectory(prefix="runs-", dir=installed.folder) as folder:
        for program in PROGRAMS:
            if program.name in parsed.only:
                bench = Bench(program, installed, Path(folder))
                results[program.name] = measure(bench, modes, parsed.runs)
                print("\n".join(report(program.name, results[program.name])))
                print(flush=True)
                if parsed.keep:
                    kept = parsed.keep / program.name
                    shutil.copytree(bench.files, kept, dirs_exist_ok=True)
                shutil.rmtree(bench.top)
                shutil.rmtree(bench.files)
    if parsed.json:
        figures = {
            program: {title: asdict(found) for title, found in of_program.items()}
            for program, of_program in results.items()
        }
        parsed.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    found = list(verdicts(results, list(products)))
    for verdict in found:
        print(verdict.line())
    return 0 if all(verdict.reached for verdict in found) else 1


if __name__ == "__main__":
    sys.exit(main())
