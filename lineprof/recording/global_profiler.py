"""The global profiler ``lineprof.profile``: a decorator that is off at first.

It is turned on by the environment variable ``LINE_PROFILE``, by ``--line-profile``
among the program's arguments, by `GlobalProfiler.enable`, or by running under
``kernprof``, which replaces its profiler. Off, it returns functions unchanged.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from io import StringIO

from lineprof.config import DEFAULTS, ConfigSource
from lineprof.console.output import (
    StdoutBuffer,
    Styled,
    print_error,
    print_message,
    print_stderr,
    python_command,
    shell_path,
)
from lineprof.errors import LineprofError, printable
from lineprof.files import current_folder, write_chunks
from lineprof.process_info import arguments
from lineprof.ranks import digits, rank_of_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from typing import Any, TypeVar

    from lineprof.line_stats import LineStats
    from lineprof.recording.profiler import LineProfiler

    F = TypeVar("F", bound=Callable[..., Any])
    State = tuple[LineProfiler | None, bool | None, bool]
    Config = str | os.PathLike[str] | ConfigSource | bool | None


_OFF = frozenset(("", "0", "off", "false", "f", "no", "n"))
_TABLES = ("setup", "write", "show")
_FILES = ("lprof", "text", "timestamped_text")  # keys of the table write
_CONFIGURED = frozenset(
    (*(f"{table}_config" for table in _TABLES), "output_prefix", "config")
)


def show(
    profile: GlobalProfiler, stats: LineStats, folder: str = "", *, quiet: bool = False
) -> None:
    """Print the summary and write the files that `profile` is set to.

    File names are relative to `folder`, or to the current folder if that is "". A file
    that cannot be written gives one line on stderr and no exception: the program has
    ended, and its exit status stays. Files are written even if stdout is closed. If
    `quiet`, nothing but such errors is printed.
    """
    write = profile.write_config
    notices = _notices(profile)
    for notice in () if quiet else notices:
        print_error(notice)
    prefix = os.path.join(folder, _prefix(profile))
    if write["stdout"] and not quiet:
        buffer = StdoutBuffer()
        stats.print(buffer, **profile.show_config, config=profile.config)
        print_message(Styled(buffer.getvalue()))
    for path in _text_paths(prefix, write):
        _guarded(path, _write_text, profile, stats, quiet=quiet)
    if write["lprof"]:
        path = f"{prefix}.lprof"
        if _guarded(path, stats.to_file, quiet=quiet) and not quiet:
            command = f"{python_command()} -m lineprof -rtmz {shell_path(path)}"
            print_message(f"To view details run:\n{command}\n")


def _notices(profile: GlobalProfiler) -> list[str]:
    """Return lines to print before files are written, once.

    They are about configuration files: of other users, which have no effect, and one
    that the user did not name, but that says where to write.
    """
    source: ConfigSource | None = vars(profile).pop("_source", None)
    if source is None:
        return []
    lines = [*source.refused]
    prefix = str(source.get_subconfig("write").conf_dict["output_prefix"])
    is_set = DEFAULTS["write"]["output_prefix"] != prefix == profile.output_prefix
    if is_set and not source.named and any(map(profile.write_config.get, _FILES)):
        lines.append(
            f"{source.file} sets output_prefix = {prefix!r};"
            " LINE_PROFILER_RC can name another file"
        )
    return lines


def _prefix(profile: GlobalProfiler) -> str:
    """Return the start of the files' names, with the rank in a parallel program.

    A start that the program itself has set stays: it may have the rank already.
    """
    prefix = os.fspath(profile.output_prefix)
    place = rank_of_process()
    if place is None or prefix != vars(profile).get("_configured_prefix"):
        return prefix
    return f"{prefix}.r{digits(place)}"


def _text_paths(prefix: str, write: Mapping[str, object]) -> list[str]:
    paths = []
    if write["text"]:
        paths.append(f"{prefix}.txt")
    if write["timestamped_text"]:
        paths.append(f"{prefix}_{time.strftime('%Y-%m-%dT%H%M%S')}.txt")
    return paths


def _write_text(path: str, profile: GlobalProfiler, stats: LineStats) -> None:
    options = {**profile.show_config, "details": True, "rich": False}
    stream = StringIO()
    stats.print(stream=stream, **options, config=profile.config)
    text = stream.getvalue()
    write_chunks([text.encode("utf-8", "backslashreplace")], path)


def _guarded(
    path: str, write: Callable[..., None], *arguments: object, quiet: bool
) -> bool:
    """Call `write(path, *arguments)` and print a message; return whether it worked.

    If `quiet`, only an error is printed.
    """
    try:
        write(path, *arguments)
    except (LineprofError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        print_stderr(f"lineprof: {path}: not written: {reason}")
        return False
    if not quiet:
        print_message(f"Wrote profile results to {printable(path)}\n")
    return True


class GlobalProfiler:
    """The class of ``lineprof.profile``.

    `enabled` is None until the first decoration, which sets it by `setup_config`. At
    the end of the program an enabled profiler prints a summary and writes
    ``<output_prefix>.txt``, a copy with the time in its name, and
    ``<output_prefix>.lprof``; in a parallel program the rank follows the configured
    prefix, and of all ranks the first one prints. `write_config` chooses among these,
    and `show_config` has the options of the tables. These are tables of the
    configuration file, which is read when one is first needed. `config` names the file,
    None searches for one, False takes the defaults. Raises ValueError or
    FileNotFoundError if a named file is invalid or missing.
    """

    setup_config: dict[str, list[str]]
    write_config: dict[str, Any]
    show_config: dict[str, Any]
    output_prefix: str
    config: str | bool  # full path of the configuration file; False without one

    def __init__(self, config: Config = None) -> None:
        """Stay undecided."""
        self.enabled: bool | None = None
        self._config = config
        self._profile: LineProfiler | None = None
        self._taken_over = False
        self._before: State = (None, None, False)  # before a runner took over

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Read the configuration at the first access to one of its tables."""
        if name not in _CONFIGURED:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

        self._source = source = ConfigSource.from_config(self._config)
        self.config = source.file if source.holds else False
        tables: dict[str, Any] = source.copy().conf_dict
        tables["write"]["output_prefix"] = str(tables["write"]["output_prefix"])
        self._configured_prefix = tables["write"].pop("output_prefix")
        found = {
            "output_prefix": self._configured_prefix,
            **{f"{table}_config": tables[table] for table in _TABLES},
        }
        tables["show"].pop("column_widths")
        for attribute, value in found.items():
            self.__dict__.setdefault(attribute, value)
        return self.__dict__[name]

    def __call__(self, func: F) -> F:
        """Decorate `func` if profiling is on; otherwise return it unchanged."""
        if self.enabled is None:
            self._decide()
        if not self.enabled:
            return func
        return self._profiler()(func)

    def enable(self, output_prefix: str | None = None) -> None:
        """Profile the functions that are decorated from now on.

        `output_prefix` is the start of the paths of the files to write. In a process
        that multiprocessing started, which runs the program's file again, this has no
        effect: its files would overwrite those of the program itself.
        """
        if output_prefix is not None:
            self.output_prefix = output_prefix
        self.enabled = self._taken_over or not _is_child()
        if self.enabled:
            self._profiler()

    def disable(self) -> None:
        """Return functions that are decorated from now on unchanged."""
        self.enabled = False

    def show(self) -> None:
        """Print and write what was measured so far, as at the program's end."""
        if self._profile is not None:
            show(self, self._profile.get_stats(), "")

    def block(self, name: str = "block") -> AbstractContextManager[None]:
        """Return a context manager that counts the lines of its ``with`` statement.

        See `LineProfiler.block`. When profiling is off, it does nothing.
        """
        if self.enabled is None:
            self._decide()
        if not self.enabled:
            return _NO_BLOCK
        return self._profiler().block(name)

    def start(self) -> None:
        """Resume counting after `stop`; no effect if profiling is off."""
        if self._profile is not None:
            self._profile.start()

    def stop(self) -> None:
        """Pause counting until `start`, for example during a warm-up."""
        if self._profile is not None:
            self._profile.stop()

    def reset(self) -> None:
        """Set all counts to zero; decorated functions continue to count."""
        if self._profile is not None:
            self._profile.reset()

    def _decide(self) -> None:
        environ = any(
            os.environ.get(name, "").lower() not in _OFF
            for name in self.setup_config["environ_flags"]
        )
        flagged = set(self.setup_config["cli_flags"]).intersection(arguments())
        if environ or flagged:
            self.enable()
        else:
            self.enabled = False

    def _profiler(self) -> LineProfiler:
        if self._profile is None:
            from lineprof.recording.profiler import LineProfiler  # noqa: PLC0415

            # Threads that decorate at the same time share one.
            self._profile = self.__dict__.setdefault("_own", LineProfiler())
        if "_registered" not in self.__dict__ and not self._taken_over:
            from lineprof.recording import descriptors  # noqa: PLC0415  # not if it is off

            # Now, as an import at the end takes a descriptor.
            self._with_descriptors = descriptors.with_descriptors
            mine = object()
            if self.__dict__.setdefault("_registered", mine) is mine:  # the first
                atexit.register(self._at_exit, os.getpid(), current_folder())
        return self._profile

    def _at_exit(self, owner: int, folder: str) -> None:
        """Write the files relative to `folder`, where the program started."""
        profile = self._profile
        if profile is not None and os.getpid() == owner and not self._taken_over:
            there = "" if folder == current_folder() else folder
            place = rank_of_process()
            quiet = place is not None and place.rank > 0
            self._with_descriptors(
                lambda: show(self, profile.final_stats(), there, quiet=quiet)
            )

    def _kernprof_overwrite(self, profiler: LineProfiler) -> None:
        """Use a runner's profiler from now on, which writes its own file."""
        self._before = (self._profile, self.enabled, self._taken_over)
        self._profile = profiler
        self._taken_over = True
        self.enabled = True

    def _kernprof_release(self) -> None:
        """Undo `_kernprof_overwrite`."""
        self._profile, self.enabled, self._taken_over = self._before


def _is_child() -> bool:
    """Return whether multiprocessing started this process, as a worker or a server."""
    module = sys.modules.get("multiprocessing.process")
    if module is not None and module.parent_process() is not None:
        return True
    return any(
        word.startswith("--multiprocessing")
        or (before == "-c" and word.startswith("from multiprocessing."))
        for before, word in zip(sys.orig_argv, sys.orig_argv[1:])
    )


def profiler_of(profile: GlobalProfiler) -> LineProfiler | None:
    """Return the profiler that `profile` decorates with; None while it has not."""
    return profile._profile  # noqa: SLF001  # of this module


class _NoBlock:
    """A block that is not counted, for when profiling is off."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *_: object) -> None:
        """Let an exception propagate."""


_NO_BLOCK = _NoBlock()


profile = GlobalProfiler()
