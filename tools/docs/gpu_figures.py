"""Figures and a picture of docs/gpu.md from the results of `make test-gpu`.

    python -m tools.docs.gpu_figures FOLDER...

The folders are those of --out. Their results are merged into a record below
tests/gpu_hardware/recorded, the profile that the item appearance kept becomes
examples/gpu_train.lprof, and docs/gpu.md has a section of figures, with a picture.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import re
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.demo.docs_pictures import RECORDED, TRAINING, printed
from tools.demo.page_pictures import IMAGES
from tools.demo.terminal_picture import picture
from tools.dev.envs import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LAB = ROOT / "tests" / "gpu_hardware"
PAGE = ROOT / "docs" / "gpu.md"
HEADING, NEXT = "## Measured on a GPU\n", "## Limits\n"  # the section is between them
KEPT = re.compile(rf"appearance/kept/{re.escape(RECORDED.name)}((?:\.gz)*)")
COSTS = {  # by row: the item, and how its figures begin
    "a launch": ("launch_overhead", "1 threads"),
    "a launch by one of 16 threads": ("launch_overhead", "16 threads"),
    "an operation of PyTorch": ("torch_launches", "an operation"),
    "a short training step": ("torch_overhead", "a small step"),
    "a long training step": ("torch_overhead", "a large step"),
}
RUNS = ("bare", "floor", "lineprof", "torch.profiler", "proton, same CUPTI")
TITLES = ("bare", "floor", "lineprof", "PyTorch's profiler", "Proton")
COSTS_TITLES = ("Time of", *TITLES, "lineprof to bare", "to floor")
OF_TRUTH = ("Program", "Kernels", "Copies", "GPU Time", TITLES[3], "apart")
TRUTH_TITLES = (*OF_TRUTH, "off CUDA events")
ALT = (
    "Table of a training loop in PyTorch on a real GPU, with the GPU time of each line"
)
UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))
OF_KIND = re.compile(r"(\d+) records, (\d+) ns a round, torch.profiler (\d+)")
OF_EVENTS = re.compile(
    r"(\d+) ns from first to last, (\d+) ns by CUDA events, off by (-?\d+)"
)


def written(text: object) -> str:
    """Return a time like "1234 ns" with three digits; — if it is none."""
    number, _, unit = str(text).partition(" ")
    if unit != "ns":
        return "—"
    ns = float(number)
    size, name = next((one for one in UNITS if ns >= one[0]), UNITS[-1])
    return f"{ns / size:.3g} {name}"


def table(*rows: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of a table of Markdown, whose first row has the titles."""
    for number, row in enumerate(rows):
        yield f"| {' | '.join(row)} |"
        if number == 0:
            yield "|---" * len(row) + "|"


def costs(items: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return the rows of the table of costs."""
    rows = []
    for name, (item, what) in COSTS.items():
        found = items.get(item, {})
        times = [written(found.get(f"{what}, {one}", "")) for one in RUNS]
        ratios = [found.get(f"{what}, lineprof to {one}") for one in ("bare", "floor")]
        shown = [f"{one:.3f}" if isinstance(one, float) else "—" for one in ratios]
        if any(one != "—" for one in times):
            rows.append((name, *times, *shown))
    return rows


def truths(items: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return the rows of the table of programs that were compared."""
    rows = []
    for name, figures in items.items():
        if not name.startswith("workload_") or figures.get("verdict") == "not run":
            continue
        pairs = [(one, OF_KIND.fullmatch(str(text))) for one, text in figures.items()]
        kinds = [(one.rpartition(", ")[2], m) for one, m in pairs if m]
        records = [
            sum(int(m[1]) for kind, m in kinds if kind == one)
            for one in ("kernel", "memcpy")
        ]
        ns, other = [
            sum(int(m[n]) for kind, m in kinds if kind == "kernel") for n in (2, 3)
        ]
        events = [m for text in figures.values() if (m := OF_EVENTS.match(str(text)))]
        if not kinds:
            continue
        apart = f"{100 * (ns - other) / other:+.2f} %" if other else "—"
        off = max((int(m[3]) for m in events), key=abs, default=None)
        far = "—" if off is None else written(f"{abs(off)} ns")
        title = name.removeprefix("workload_").replace("_", " ")
        times = [written(f"{one} ns") for one in (ns, other)]
        rows.append((title, *[f"{one:,}" for one in records], *times, apart, far))
    return rows


def section(made: Mapping[str, Any]) -> str:
    """Return the text of the section of a record."""
    origin, items = made["origin"], made["items"]
    verdicts = [one["verdict"] for one in items.values()]
    cuda = int(origin["cuda"]) if origin.get("cuda", "").isdecimal() else 0
    versions = [
        f"driver {origin['driver']}",
        f"CUDA {cuda // 1000}.{cuda % 1000 // 10}",
    ]
    for name, title in (
        ("torch", "PyTorch"),
        ("triton", "Triton"),
        ("python", "Python"),
    ):
        versions += [f"{title} {origin[name]}"] if name in origin else []
    what = f"{verdicts.count('passed')} of {len(verdicts) - verdicts.count('not run')}"
    machine = f"{origin['device']}, {', '.join(versions)}"
    when = f"{origin['processors']} processors, {origin['date']}"
    lines = [
        HEADING,
        f"{machine}, {when}: {what} tests of `make test-gpu` passed.",
        "*Floor* is a client of CUPTI whose callbacks do nothing. Ratios are medians",
        "of those of rounds.",
        "",
        *table(COSTS_TITLES, *costs(items)),
        "",
        "Programs that were compared with PyTorch's profiler and with the time between",
        "CUDA events: records of all rounds, times of one.",
        "",
        *table(TRUTH_TITLES, *truths(items)),
        "",
        f"![{ALT}](images/gpu-training.svg)",
        "",
    ]
    return "\n".join([*lines, ""])


def sentence(made: Mapping[str, Any]) -> str:
    """Return what a long training step costs, for the README."""
    item, what = COSTS["a long training step"]
    ratio = made["items"].get(item, {}).get(f"{what}, lineprof to bare", "?")
    where = "[figures](docs/gpu.md#measured-on-a-gpu)"
    device, date = made["origin"]["device"], made["origin"]["date"]
    return f"A training step takes {ratio} times as long ({device}, {date}; {where})."


def put(text: str, page: str) -> str:
    """Return a page with the section, in place of an older one."""
    before, _, after = page.partition(NEXT)
    return f"{before.partition(HEADING)[0]}{text}{NEXT}{after}"


def profile_of(folders: list[Path]) -> bytes:
    """Return the profile that the item appearance kept; b"" if there is none."""
    for path in (path for one in folders for path in sorted(one.glob("*.kept.tar"))):
        with tarfile.open(path) as tar:
            for entry in tar:
                kept = KEPT.fullmatch(entry.name)
                if kept and (file := tar.extractfile(entry)):
                    data = file.read()
                    for _ in range(kept[1].count(".gz")):
                        data = gzip.decompress(data)
                    return data
    return b""


def main() -> int:
    """Merge, and write the section and its picture; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    folders = parser.parse_args().folders
    sys.path.insert(0, str(LAB))
    lab = importlib.import_module("main")
    profile = profile_of(folders)
    if not profile:
        print("lineprof: the item appearance has kept no profile", file=sys.stderr)
        return 2
    try:
        path = lab.record(*lab.merged(folders, lab.ITEMS), lab.RECORDED)
    except lab.ResultsError as error:
        print(f"lineprof: {error}", file=sys.stderr)
        return 2
    made = json.loads(path.read_text(encoding="utf-8"))
    PAGE.write_text(
        put(section(made), PAGE.read_text(encoding="utf-8")), encoding="utf-8"
    )
    RECORDED.write_bytes(profile)
    image = IMAGES / "gpu-training.svg"
    shown = printed(TRAINING, Path(sys.executable), RECORDED.parents[1])
    image.write_text(picture(shown), encoding="utf-8")
    print(path, PAGE, RECORDED, image, sep="\n")
    print(f"for README.md: {sentence(made)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
