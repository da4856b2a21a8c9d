"""What ``lineprof.profile`` prints and writes when a program ends."""

from __future__ import annotations

import functools
import os
import sys
import time

from lineprof.errors import LineprofError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from lineprof.explicit_profiler import GlobalProfiler
    from lineprof.stats import LineStats


def show(profile: GlobalProfiler, stats: LineStats) -> None:
    """Print the summary and write the files that `profile` is set to.

    A file that can't be written is one line on stderr, never an exception: the
    program has ended and its exit status stays what it was.
    """
    write = profile.write_config
    if write["stdout"]:
        stats.print(**profile.show_config, config=profile.config)
    for path in _text_paths(profile):
        _guarded(path, functools.partial(_write_text, path, profile, stats))
    if write["lprof"]:
        path = os.path.abspath(profile.output_prefix + ".lprof")
        if _guarded(path, functools.partial(stats.to_file, path)):
            print("To view details run:")  # noqa: T201
            python = os.path.basename(sys.executable or "python")
            print(f"{python} -m lineprof -rtmz {os.path.relpath(path)}")  # noqa: T201


def _text_paths(profile: GlobalProfiler) -> list[str]:
    names = []
    if profile.write_config["text"]:
        names.append(profile.output_prefix + ".txt")
    if profile.write_config["timestamped_text"]:
        stamp = time.strftime("%Y-%m-%dT%H%M%S")
        names.append(f"{profile.output_prefix}_{stamp}.txt")
    return [os.path.abspath(name) for name in names]


def _write_text(path: str, profile: GlobalProfiler, stats: LineStats) -> None:
    options = {**profile.show_config, "details": True, "rich": False}
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as stream:
        stats.print(stream=stream, **options, config=profile.config)


def _guarded(path: str, write: Callable[[], None]) -> bool:
    try:
        write()
    except (LineprofError, OSError) as error:
        print(f"lineprof: {path}: not written: {error}", file=sys.stderr)  # noqa: T201
        return False
    print(f"Wrote profile results to {os.path.relpath(path)}")  # noqa: T201
    return True
