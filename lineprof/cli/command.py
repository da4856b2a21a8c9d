"""What a command is: its name, its flags, and what it does."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, NamedTuple

from lineprof.config import matching, parse_bool
from lineprof.console.output import print_error
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import NoReturn

    from lineprof.console.progress import Progress
    from lineprof.model.profile import Profile


# Flags without a value that may be given one: ``--sort=no`` is ``--no-sort``.
#
# `argparse` cannot: where a value may follow, it takes the file's name for it.


def negated(flag: str) -> str:
    """Return the opposite of a long flag."""
    return f"--no-{flag[2:]}"


def spelled_out(
    words: Sequence[str],
    booleans: Collection[str],
    others: Collection[str],
    older: Collection[str] = (),
) -> list[str]:
    """Return `words` with long flags in full, and `booleans` without their values.

    `others` are all other long flags. Where several begin as a word does, those
    in `older` alone count: scripts may rely on them. Raises LineprofError for a
    value that is neither yes nor no.
    """
    opposites = {negated(flag): flag for flag in booleans}
    names = {*booleans, *opposites, *others}
    rest = list(words)
    done: list[str] = []
    while rest and rest[0] != "--":
        word, equals, given = rest.pop(0).partition("=")
        if word.startswith("--"):
            word = _in_full(word, names, {*older, *map(negated, older)})
        if word in opposites or word in booleans:
            if not equals:
                follows = bool(rest) and parse_bool(rest[0]) is not None
                given = rest.pop(0) if follows else "yes"
            flag = opposites.get(word, word)
            yes = _yes(word, given) is not (word in opposites)
            done.append(flag if yes else negated(flag))
        else:
            done.append(word + equals + given)
    return done + rest


def _yes(flag: str, word: str) -> bool:
    value = parse_bool(word)
    if value is None:
        raise LineprofError(f"{flag} takes yes or no, not {word!r}")
    return value


def _in_full(word: str, names: Collection[str], older: Collection[str]) -> str:
    """Return the name that begins with `word`; `word` itself if that is unclear."""
    found = matching(word, names, older)
    return found[0] if len(found) == 1 else word


def as_they_are(words: Sequence[str]) -> Sequence[str]:
    """Return `words`."""
    return words


class Command(NamedTuple):
    """One command; ``lineprof NAME --help`` shows its flags."""

    name: str
    help: str
    add_flags: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.ArgumentParser, argparse.Namespace], None]
    # What the words after the name are for `argparse`; LineprofError.
    prepare: Callable[[Sequence[str]], Sequence[str]] = as_they_are
    # Takes those words instead of all that, and returns the exit status.
    take_over: Callable[[Sequence[str]], int] | None = None


# The profiles that a command is given by name.


def read(files: list[str], progress: Progress) -> Profile:
    """Return the sum of the profiles in `files`; LineprofError if one is none."""
    from lineprof.model.profile import Profile  # noqa: PLC0415  # not for --help
    from lineprof.storage import load  # noqa: PLC0415

    each = progress.each(files, "reading profile", len(files))
    profiles = [load(file) for file in each]
    if len(profiles) == 1:
        return profiles[0]
    progress.say(lambda: f"adding up {len(files):,} profiles")
    return Profile.from_stats_objects(*profiles)


def keep(files: list[str], target: str) -> None:
    """Raise LineprofError if a report to `target` replaced one of the profiles."""
    for file in files:
        if os.path.exists(target) and os.path.samefile(file, target):
            raise LineprofError(f"{target!r} is the profile", hint="name another file")


def existing(file: str) -> str:
    """Return `file`, or, said so, what it is called by another version.

    kernprof of line_profiler calls the profile of x.py x.py.lprof, ours x.lprof.
    """
    if os.path.lexists(file) or not file.endswith(".lprof"):
        return file
    stem = file[: -len(".lprof")]
    other = stem[: -len(".py")] if stem.endswith(".py") else f"{stem}.py"
    if not os.path.exists(f"{other}.lprof"):
        return file
    print_error(f"there is no {file}; reading {other}.lprof")
    return f"{other}.lprof"


# `argparse` as our commands use it: what is wrong is said in one line.


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with status 2."""
        print_error(f"{message}; see {self.prog} --help", name=self.prog)
        self.exit(2)


def checked(parse: Callable[[str], object]) -> Callable[[str], object]:
    """Return `parse`, which raises LineprofError, as argparse wants it."""

    def parsed(text: str) -> object:
        try:
            return parse(text)
        except LineprofError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed
