"""Plugin of pytest: `pytest --lineprof` profiles the project while its tests run.

Functions in pytest's root directory, and in the project around it, are found at
their first call, as those of a whole program; installed packages, pytest among them,
are left out. pytest loads this module in every run: it imports the profiler only if
the flag is given.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import pytest


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
        default="pytest.lprof",
        help="file for the profile (default: pytest.lprof)",
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
    if not options.lineprof or options.help or options.version:
        return
    from kernprof.pytest_profile import TestProfile  # noqa: PLC0415  # with the flag
    from lineprof.errors import LineprofError  # noqa: PLC0415  # alone

    try:
        profile = TestProfile(early_config, options)
    except LineprofError as error:
        raise pytest.UsageError(f"--lineprof: {error.message}") from None
    early_config.pluginmanager.register(profile, "lineprof-profile")
    early_config.add_cleanup(profile.end)
