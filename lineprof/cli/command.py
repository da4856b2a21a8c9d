"""Parts that the commands share: the command record, the parser, the input files."""

from __future__ import annotations

import argparse
import gc
import os
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from lineprof.cli.runs import Runs
from lineprof.console.output import (
    clean_line,
    print_bytes,
    print_error,
    shell_path,
    shell_word,
)
from lineprof.control.watch import TIMEOUT
from lineprof.errors import LineprofError
from lineprof.files import SOURCE, encoded, name_of, real_path, write_file
from lineprof.flags import number, whole
from lineprof.model.profile import Profile
from lineprof.patterns import parse
from lineprof.processes.recovery import recover, running_program, runs_of
from lineprof.storage import load

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from typing import NoReturn

    from lineprof.console.progress import Progress
    from lineprof.model.records import Process
    from lineprof.processes.recovery import DeadRun


_MEGABYTE = 1_000_000

STANDARD_OUTPUT = "-"  # in place of the name of a file


class Command(NamedTuple):
    """One command, whose module has its name; `main.COMMANDS` has all."""

    add_flags: Callable[[argparse.ArgumentParser], None]
    # Returns the exit status if that is not 0.
    run: Callable[[argparse.ArgumentParser, argparse.Namespace], int | None]
    # Rewrites the arguments for `argparse`; may raise LineprofError.
    prepare: Callable[[Sequence[str]], Sequence[str]] = list


class Parser(argparse.ArgumentParser):
    """An argument parser whose error messages are one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with status 2."""
        separator = " " if message.endswith("?") else "; "
        print_error(f"{message}{separator}see {self.prog} --help", name=self.prog)
        self.exit(2)

    def unknown_flags(self, arguments: Iterable[str]) -> list[str]:
        """Return those of `arguments` that look like flags but are unknown."""
        unknown = []
        for word in arguments:
            if word == "--":
                break
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            if _is_flag(word) and not any(one.startswith(name) for one in self.flags):
                unknown.append(word)
        return unknown

    @property
    def flags(self) -> Collection[str]:
        """All flags, in all forms."""
        return self._option_string_actions


def _is_flag(word: str) -> bool:
    """Return whether `argparse` takes a word for a flag."""
    if _NUMBER.fullmatch(word) or " " in word:
        return False
    return word.startswith("-") and word != "-"


_NUMBER = re.compile(r"-\d+|-\d*\.\d+")


@dataclass(frozen=True)
class ArgumentType:
    """The type of a flag's value: its reader, and values that a shell can complete."""

    read: Callable[[str], object]
    words: tuple[str, ...] = ()
    separator: str = ""  # between several of them

    def __call__(self, text: str) -> object:
        """Return the value; a LineprofError becomes argparse's own error."""
        try:
            return self.read(text)
        except LineprofError as error:
            raise argparse.ArgumentTypeError(str(error)) from error


def add_argument(
    parser: argparse._ActionsContainer,
    usage: str,
    text: str,
    read: Callable[[str], object] | None = None,
    **more: object,
) -> None:
    """Add an argument with this help text to a parser, or to a group of its flags.

    `usage` is as the help writes it: all names, and the name of the value. A flag
    without a value is a switch; without names of a flag it is the positional argument
    `files`. `read` makes the value of a word, and `more` are arguments of the parser's
    own method.
    """
    words = usage.split()
    names = [word.rstrip(",") for word in words if word.startswith("-")]
    value = " ".join(words[len(names) :])
    settings: dict[str, Any] = {"help": text, **more}
    if value:
        settings["metavar"] = value
    elif "choices" not in more:
        settings.setdefault("action", "store_true")
    if not names:
        settings.setdefault("nargs", "+")
    if read is not None:
        settings["type"] = ArgumentType(read)
    parser.add_argument(*names or ["files"], **settings)


def names_and_profiles(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the names of functions among `words`, in any order, and the profiles.

    A profile ends in ``.lprof``, or is a file that is no source. Raises LineprofError
    for names without a profile.
    """
    files = [word for word in words if is_profile(word)]
    names = [word for word in words if word not in files]
    if files:
        return names, files
    function = next((word for word in words if _is_name(word)), "")
    if not function:
        return [], words  # whatever they are, there is no other file to read
    profile = f"{os.path.splitext(parse(function).file)[0]}.lprof"
    hints = []
    if os.path.exists(profile):
        typed = " ".join(map(shell_word, filter(_is_name, words)))
        hints.append(f"add its profile: lineprof view {typed} {shell_path(profile)}")
    if os.path.isfile(function):
        hints.append(f"make one: kernprof -l {shell_path(function)}")
    hint = ", or ".join(hints) or "add the file that kernprof -l wrote"
    raise LineprofError(f"{function} is no profile", hint=hint)


def is_profile(word: str) -> bool:
    """Return whether `word` is the name of a profile, or may be one of a file."""
    if word.endswith(".lprof"):
        return True
    return os.path.lexists(word) and not (os.path.isdir(word) or word.endswith(SOURCE))


def _is_name(word: str) -> bool:
    """Return whether `word` is certainly a name of functions, and not a file's."""
    name = parse(word)
    if name.file.endswith(SOURCE):
        return bool(name.function or name.line or os.path.isfile(word))
    return "::" in word


@contextmanager
def without_collection() -> Iterator[None]:
    """Give a block without garbage collection: for many records and no cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def find_profile(file: str) -> str:
    """Return `file`, or, with a message, the profile of such a name that is there.

    The profile of x.py is x.py.lprof by line_profiler's kernprof, and x.lprof by
    lineprof's; x is short for it.
    """
    if os.path.lexists(file):
        return file
    other = stem = file.removesuffix(".lprof")
    if stem != file:
        other = stem[: -len(".py")] if stem.endswith(".py") else f"{stem}.py"
    if not os.path.exists(f"{other}.lprof"):
        return file
    print_error(f"there is no {file}; reading {other}.lprof")
    return f"{other}.lprof"


def each_once(files: Iterable[str]) -> list[str]:
    """Return each of the files once, by the first of its names."""
    found: dict[str, str] = {}
    for file in files:
        found.setdefault(real_path(file), file)
    return list(found.values())


def add_pid(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the argument ``pid``, the number of a process, with this help text."""
    parser.add_argument(
        "pid", type=ArgumentType(_process_number), metavar="PID", help=text
    )


def add_timeout(parser: argparse.ArgumentParser) -> None:
    """Add the flag --timeout: how long to wait for an answer of a process, in s."""
    add_argument(
        parser,
        "--timeout SECONDS",
        "wait this long for each answer of the process, which cannot answer while it"
        f" is in a long call of C code (default: {TIMEOUT:g})",
        positive,
        default=TIMEOUT,
    )


positive = number("number", "give one above 0", above=True)

_process_number = whole("process number", "see ps or pgrep for it", least=1)


def add_source_root(parser: argparse.ArgumentParser) -> None:
    """Add the flag --source-root."""
    add_argument(
        parser,
        "--source-root FOLDER",
        "read source that the profile does not hold from files in this folder and"
        " below, also if the files have moved there; may be repeated (default: read"
        " only files that are as they were profiled, or Python files if the profile"
        " cannot tell)",
        action="append",
        default=[],
    )


def check_source_roots(roots: list[str]) -> None:
    """Raise LineprofError unless the values of --source-root are folders."""
    for root in roots:
        if not os.path.isdir(root):
            raise LineprofError(
                f"{root!r} is no folder", hint="name one with --source-root"
            )


def read_profiles(
    files: list[str], progress: Progress, roots: list[str], *, of_ranks: bool = False
) -> Profile:
    """Return the sum of the profiles in `files`, each once.

    `roots` are the folders of --source-root. The profiles `of_ranks` get warnings of
    files that do not belong together. Raises LineprofError if a file is invalid, or if
    two are of the same rank.
    """
    check_source_roots(roots)

    once = each_once(files)
    each = progress.each(once, "reading profile", len(once))
    profiles = {file: _read_profile(file) for file in each}
    profile = next(iter(profiles.values()))
    if len(profiles) > 1:
        progress.say(lambda: f"adding up {len(once):,} profiles")
        runs = Runs()
        for file, one in profiles.items() if of_ranks else ():
            runs.add(file, one.processes)
        profile = Profile.from_stats_objects(*profiles.values())
        if of_ranks:
            profile = runs.noted(profile)
    return profile.reading_below(*roots)


def _read_profile(file: str) -> Profile:
    """Return the profile in `file`, which is recovered if its program was killed."""
    if file.endswith(".lprof"):
        for run in runs_of(file):
            recover_run(run)
    try:
        return load(file)
    except LineprofError as error:
        pid = None if os.path.exists(file) else running_program(file)
        if pid is None:
            raise
        raise LineprofError(
            f"there is no {file} yet: process {pid}, which writes it, still runs",
            hint="wait for its end, or profile with -i SECONDS",
        ) from error


def recover_run(run: DeadRun) -> str:
    """Write the profile of a run, with a message; return its path.

    "" if that fails, or another process has done it in the meantime.
    """
    try:
        done = recover(run)
    except LineprofError as error:
        print_error(str(error))
        return ""
    if done is None:
        return ""
    pid = run.processes[0].pid
    print_error(f"recovered {done.path}: process {pid} did not write it: {done.reason}")
    return done.path


def write_report(
    lines: Iterable[str], template: str, files: list[str], processes: Sequence[Process]
) -> str:
    """Write `lines` to the file that `template` names, and return its name.

    LineprofError if that fails, or if the file is one of the profiles `files`.
    """
    target = report_name(template, processes)
    keep_profiles(files, target)
    write_file(map(clean_line, lines), target)
    return target


def chosen_form(parser: argparse.ArgumentParser, forms: Mapping[str, object]) -> str:
    """Return the flag of the form of output that is asked for; "" if none is.

    Two are an error of the command line.
    """
    form, *others = *(form for form, is_asked in forms.items() if is_asked), ""
    if len(others) > 1:
        parser.error(f"{form} takes no {others[0]}")
    return form


def print_markdown(lines: Iterable[str]) -> None:
    """Print `lines` in UTF-8, which code hosts read; LineprofError if that fails."""
    print_bytes(encoded(lines))


def report_name(template: str, processes: Sequence[Process]) -> str:
    """Return the name of a report's file, its placeholders replaced: see `name_of`.

    Process number and host are those of the first process of the profile, or of
    this process if there is none.
    """
    pid, host = os.getpid(), os.uname().nodename
    if processes:
        pid, host = processes[0].pid, processes[0].host
    return name_of(template, pid=pid, host=host, now=time.time())


def size_in_words(file: str) -> str:
    """Return the size of a regular file in words; "" for a pipe or a device."""
    size = os.path.getsize(file) if os.path.isfile(file) else 0
    if size >= _MEGABYTE:
        return f" ({size / _MEGABYTE:,.1f} MB)"
    return f" ({size / 1000:,.0f} kB)" if size else ""


def keep_profiles(files: list[str], target: str) -> None:
    """Raise LineprofError if a report to `target` would replace one of `files`."""
    for file in files:
        if os.path.exists(target) and os.path.samefile(file, target):
            raise LineprofError(f"{target!r} is the profile", hint="name another file")
