"""What ``lineprof.profile`` prints and writes when a program ends."""

from __future__ import annotations

import functools
import os
import shlex
import time

from lineprof.errors import LineprofError
from lineprof.page import Page, python_command
from lineprof.streams import complain, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lineprof.global_profiler import GlobalProfiler
    from lineprof.line_stats import LineStats


def show(profile: GlobalProfiler, stats: LineStats, folder: str = "") -> None:
    """Print the summary and write the files that `profile` is set to.

    Their names are relative to `folder`, where that is not the current one.
    A file that can't be written is one line on stderr, never an exception: the
    program has ended and its exit status stays what it was. A standard output
    that takes nothing keeps no file from being written.
    """
    write = profile.write_config
    prefix = os.path.join(folder, os.fspath(profile.output_prefix))
    if write["stdout"]:
        page = Page()
        stats.print(page, **profile.show_config, config=profile.config)
        say(page.getvalue())
    for path in _text_paths(prefix, write):
        _guarded(path, functools.partial(_write_text, path, profile, stats))
    if write["lprof"]:
        path = f"{prefix}.lprof"
        if _guarded(path, functools.partial(stats.to_file, path)):
            command = f"{python_command()} -m lineprof -rtmz {shlex.quote(path)}"
            say(f"To view details run:\n{command}\n")


def _text_paths(prefix: str, write: Mapping[str, object]) -> list[str]:
    paths = []
    if write["text"]:
        paths.append(f"{prefix}.txt")
    if write["timestamped_text"]:
        paths.append(f"{prefix}_{time.strftime('%Y-%m-%dT%H%M%S')}.txt")
    return paths


def _write_text(path: str, profile: GlobalProfiler, stats: LineStats) -> None:
    options = {**profile.show_config, "details": True, "rich": False}
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as stream:
        stats.print(stream=stream, **options, config=profile.config)


def _guarded(path: str, write: Callable[[], None]) -> bool:
    """Write the file at `path`, and say so; tell whether that could be done."""
    try:
        write()
    except (LineprofError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        complain(f"lineprof: {path}: not written: {reason}")
        return False
    say(f"Wrote profile results to {path}\n")
    return True
