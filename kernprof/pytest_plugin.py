"""Plugin of pytest: `pytest --lineprof` profiles the project while its tests run.

Functions in pytest's root directory, and in the project around it, are found at
their first call, as those of a whole program; installed packages, pytest among them,
are left out. pytest loads this module in every run: it imports the profiler only if
the flag is given.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flags."""
    group = parser.getgroup("lineprof", "line profiler")
    group.addoption(
        "--lineprof",
        action="store_true",
        help="profile the lines of the project that is tested, and of its tests",
    )
    group.addoption(
        "--lineprof-file",
        metavar="FILE",
        help="file for the profile (default: pytest.lprof, or the benchmark's name)",
    )
    group.addoption(
        "--lineprof-benchmark",
        choices=("slowest", "all"),
        help="profile one more call of the slowest benchmark of pytest-benchmark, or"
        " of all, outside the timed rounds",
    )
    group.addoption(
        "--lineprof-memory",
        action="store_true",
        help="with --lineprof, also record the memory that each line allocates",
    )
    for name, verb in (("include", "also profile"), ("exclude", "do not profile")):
        group.addoption(
            f"--lineprof-{name}",
            metavar="NAME",
            action="append",
            default=[],
            help=f"{verb} these files, modules or functions; see `kernprof --help`",
        )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin before the project's first module is imported."""
    options = early_config.known_args_namespace
    wanted = options.lineprof or options.lineprof_benchmark
    if options.help or options.version:
        return
    if options.lineprof_memory and not options.lineprof:
        raise pytest.UsageError("--lineprof-memory needs --lineprof")
    if not wanted:
        return
    # The profiler is imported with the flags alone.
    from lineprof.errors import LineprofError  # noqa: PLC0415

    try:
        if options.lineprof_benchmark:
            _profile_benchmarks(early_config, options)
        else:
            _profile_tests(early_config, options)
    except LineprofError as error:
        flag = "--lineprof-benchmark" if options.lineprof_benchmark else "--lineprof"
        raise pytest.UsageError(f"{flag}: {error.message}") from None


def _profile_tests(config: pytest.Config, options: argparse.Namespace) -> None:
    from kernprof.pytest_profile import TestProfile  # noqa: PLC0415  # with the flag

    profile = TestProfile(config, options)
    config.pluginmanager.register(profile, "lineprof-profile")
    config.add_cleanup(profile.end)


def _profile_benchmarks(config: pytest.Config, options: argparse.Namespace) -> None:
    from kernprof.benchmark_profile import BenchmarkProfile  # noqa: PLC0415  # the same

    profile = BenchmarkProfile(config, options)
    config.pluginmanager.register(profile, "lineprof-benchmarks")
