"""Commands of the fuzzer: each view with each of its options, and each export.

A command is a list of arguments of `python -m lineprof`. FILE is the case's file, OTHER
an undamaged profile, OUT a file to write. `COLUMNS=80` before the arguments has them
run on a terminal of that width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz_cases import INJECTED

from lineprof.export import EXPORTS
from lineprof.flags import BOOLEAN
from lineprof.report import VIEWS
from lineprof.report.line_table import EXTRA_COLUMNS
from lineprof.report.options import OF_TABLES

if TYPE_CHECKING:
    from random import Random

    from lineprof.report.options import View

    Command = list[str]

# Values of the options that take one, by field; `sort_by` has the view's orders.
SAMPLES = {
    "unit": ("auto", "1e-3", "1e-9"),
    "columns": (",".join(EXTRA_COLUMNS),),
    "gpu_columns": ("all", "none", "time,mb"),
    "top_kernels": ("1", "9"),
    "kernel": ("*", "*gemm*", "[!a]?*"),
    "uvm": ("on", "off"),
    "limit": ("1", "5"),
    "depth": ("1", "99"),
    "min_percent": ("0", "100"),
    "lines": ("1", "1000"),
    "words": ("1", "13", "200"),
    "by": ("rank", "process"),
    "page": ("OUT",),
    "targets": (
        *(
            "*",
            "*:*",
            "f",
            "main",
            "fit",
            "load",
            "fib",
            "Model.forward",
            "builtins.len",
        ),
        *(
            "time.sleep",
            "main.py:9",
            "train.py:6",
            "model.py:34",
            "a.py:2",
            "model.py:fit",
        ),
        *(f"*{part}*" for part in (INJECTED, "evil", "a;b", "script", "e*l", "[(]")),
    ),
}
DIFFS = (
    ["diff", "FILE", "OTHER"],
    ["diff", "OTHER", "FILE", "--json"],
    ["diff", "OTHER", "FILE", "--html=OUT"],
    ["diff", "--limit=5", "--before", "FILE", "OTHER", "--after", "OTHER"],
)
MERGES = ("--full", "--sums")
METRICS = [
    ["export", "-f", one.name, "--metric", metric, "-o", "-", "FILE"]
    for one in EXPORTS.values()
    for metric in one.metrics
]
REWRITES = (  # of the profile itself: refused
    ["view", "--log-file=FILE", "FILE"],
    ["export", "-f", "json", "-o", "FILE", "FILE"],
)


def views(view: View) -> list[Command]:
    """Return the flags of each way to show a view: plain, and with each option."""
    base = [] if view.name == "text" else [f"--{view.name}"]
    bases = [base]
    if view.value is not None:
        bases = [[f"{base[0]}={value}"] for value in SAMPLES[view.value.attribute]]
    return bases + [[*bases[0], *flags] for flags in options(view)]


def options(view: View) -> list[Command]:
    """Return the flags of each option of a view, with each of its values."""
    found = []
    for option in view.options:
        flag = option.long
        if option.kind == BOOLEAN:
            found.append([flag])
        elif option.attribute == "sort_by":
            found += [[f"{flag}={order}"] for order in view.orders]
        else:
            found += [[f"{flag}={value}"] for value in SAMPLES[option.attribute]]
    return found


def every_command() -> list[Command]:
    """Return a command for each view, each value of an option, and each export."""
    shown = [
        ["view", *flags, "FILE"] for view in VIEWS.values() for flags in views(view)
    ]
    on_terminals = [["COLUMNS=80", *command] for command in shown]
    exported = [["export", "-f", name, "-o", "-", "FILE"] for name in EXPORTS]
    files = [["export", "-f", name, "-o", "OUT", "FILE", "OTHER"] for name in EXPORTS]
    merged = [["merge", flag, "-o", "OUT", "FILE", "OTHER"] for flag in MERGES]
    return [
        *(*shown, *on_terminals, *exported, *files, *METRICS),
        *(*merged, *DIFFS, *REWRITES),
    ]


def random_commands(chance: Random, n_views: int, n_exports: int) -> list[Command]:
    """Return commands with options at random; a few read several files."""
    commands = []
    for _ in range(n_views):
        view = chance.choice([*VIEWS.values()])
        flags = [*chance.choice(views(view))]
        extra = options(view)
        for _ in range(chance.choice((0, 0, 1, 2, 3))) if extra else ():
            flags += chance.choice(extra)
        if view.value and view.value.attribute == "targets" and chance.random() < 0.3:
            flags.append(f"--{view.name}={chance.choice(SAMPLES['targets'])}")
        flags = _together(flags)
        if chance.random() < 0.05 and not view.is_file:
            flags.append("--log-file=OUT")
        terminal = [f"COLUMNS={chance.choice((80, 80, 1, 20, 300))}"]
        start = terminal if chance.random() < 0.4 else []
        commands.append([*start, "view", *flags, *_files(chance)])
    for name in chance.choices([*EXPORTS], k=n_exports):
        target = chance.choice(("-", "OUT"))
        commands.append(["export", "-f", name, "-o", target, *_files(chance)])
    if chance.random() < 0.2:
        commands.append([*chance.choice(METRICS)])
    if chance.random() < 0.2:
        commands.append(["merge", chance.choice(MERGES), "-o", "OUT", *_files(chance)])
    if chance.random() < 0.2:
        commands.append([*chance.choice(DIFFS)])
    if chance.random() < 0.05:
        commands.append(chance.choice(REWRITES))
    return commands


def _together(flags: Command) -> Command:
    """Return flags that go together: CSV takes none of those that lay out tables."""
    if "--csv" not in flags:
        return flags
    others = tuple(option.long for option in OF_TABLES)
    return [flag for flag in flags if not flag.startswith(others)]


def _files(chance: Random) -> Command:
    several = (["FILE", "OTHER"], ["OTHER", "FILE"], ["FILE", "FILE"])
    return chance.choice(several) if chance.random() < 0.15 else ["FILE"]
