"""Files that a run writes, the profile and its page: names, and checks before the run.

The path is fixed before the program runs, so that a program that changes its current
folder, the host name or the clock does not move it.
"""

from __future__ import annotations

import os
import stat
import time
from collections import namedtuple
from contextlib import suppress

from kernprof.options import AUTO
from kernprof.run_options import UsageError
from lineprof import files
from lineprof.flags import PAGES
from lineprof.ranks import digits, rank_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lineprof.ranks import Rank

VARIABLE = "LINEPROF_OUTFILE"
_LINES = ".lprof"  # the suffix of line profiles
# Hints of messages.
_NAME, _ANOTHER = "name a file with {flag}", "choose another with {flag}"


class OutputName(namedtuple("OutputName", "name pattern merged asked", defaults=("",))):
    """The name of the profile, and those of the other ranks' profiles."""

    __slots__ = ()

    name: str
    pattern: tuple[str, ...]  # the parts of all ranks' names around each "*"
    merged: str  # a name for the sum of all ranks; "" for a program that runs alone
    asked: str  # the name that was asked for, if the rank was added to it


# Marks in place of what differs among ranks; no file name that a user gives has them.
_RANK, _LOCAL_RANK, _PID, _HOST, _TIME = _MARKS = "\1\2\3\4\5"


class Names(namedtuple("Names", "stem file_name place", defaults=(None,))):
    """Names of a program, and its place in a parallel one, for names of files."""

    __slots__ = ()

    stem: str
    file_name: str
    place: Rank | None

    def expand(self, template: str) -> str:
        """Return `template` with its placeholders replaced.

        ``%s`` gives the stem, ``%f`` the file name, ``%p`` the process id, ``%h`` the
        host name, ``%t`` the local time as 2025-01-31T235959, ``%r`` the rank in 4
        digits or more, ``%n`` the number of ranks, ``%q{VAR}`` an environment variable
        and ``%%`` a per cent sign. Without a place, the rank is 0 of 1. Raises
        UsageError for any other placeholder, for a variable that is not set, and for a
        number of ranks that is not known.
        """
        return files.expand(template, self._letters(), UsageError)

    def marked(self, template: str, place: Rank) -> str:
        """Return what `expand` returns, with marks for all that differs among ranks."""
        ranks, local_ranks = rank_variables(place)
        environ = {**os.environ, **dict.fromkeys(local_ranks, _LOCAL_RANK)}
        environ.update(dict.fromkeys(ranks, _RANK))
        letters = {
            **self._letters(),
            "r": lambda: _RANK,
            "p": lambda: _PID,
            "h": lambda: _HOST,
            "t": lambda: _TIME,
        }
        return files.expand(template, letters, UsageError, environ)

    def _letters(self) -> Mapping[str, Callable[[], str]]:
        place = self.place
        return {
            "s": lambda: self.stem,
            "f": lambda: self.file_name,
            "p": lambda: str(os.getpid()),
            "h": lambda: os.uname().nodename,
            # Without an argument, localtime() is up to 4 ms behind time.time().
            "t": lambda: time.strftime("%Y-%m-%dT%H%M%S", time.localtime(time.time())),
            "r": lambda: "0000" if place is None else digits(place),
            "n": self._ranks,
        }

    def _ranks(self) -> str:
        place = self.place
        if place is not None and place.ranks is None:
            raise UsageError(
                f"{place.launcher} does not say the number of ranks, for %n",
                hint="leave %n out of the output name",
            )
        return "1" if place is None else str(place.ranks)


def output_name(template: str | None, names: Names, suffix: str = _LINES) -> OutputName:
    """Return the name of the profile; `template` is that of -o, None without one.

    The default is the variable LINEPROF_OUTFILE, or else the stem and `suffix`, and in
    a parallel program the rank between the two. A folder, or a name that ends in a
    slash, gets a file with that name in the folder, which is made if need be. No two
    ranks get the same name: to one that does not tell ranks apart the rank is added.
    Raises UsageError as `Names.expand` does.
    """
    place = names.place
    default = "%s" + suffix if place is None else "%s.r%r" + suffix
    if template is None:
        template = _from_environment(suffix) or default
    name = names.expand(template)
    if name.endswith(os.sep) or os.path.isdir(name):
        _make_folder(name)
        template = os.path.join(template, default)
        name = names.expand(template)
    if place is None or not name or _is_special(name):
        return OutputName(name=name, pattern=(), merged="")
    marked = names.marked(template, place)
    asked = ""
    if not _tells_ranks_apart(marked):
        asked = name
        name = _with_rank(name, digits(place))
        marked = _with_rank(marked, _RANK)
    for mark in _MARKS:
        marked = marked.replace(mark, _RANK)
    pattern = tuple(marked.split(_RANK))
    folder = os.path.dirname(pattern[0])
    merged = asked or os.path.join(folder, names.stem + suffix)
    return OutputName(name=name, pattern=pattern, merged=merged, asked=asked)


def _from_environment(suffix: str) -> str:
    """Return the template in the variable LINEPROF_OUTFILE, "" if there is none.

    If it ends as a line profile does, a profile of cProfile gets its own `suffix` in
    place of that end.
    """
    template = os.environ.get(VARIABLE, "")
    if template.endswith(_LINES) and suffix != _LINES:
        template = template[: -len(_LINES)] + suffix
    return template


def _make_folder(name: str) -> None:
    with suppress(OSError):  # it exists, or `OutputFile` says that there is none
        os.mkdir(name)


def _is_special(name: str) -> bool:
    """Tell whether there is something at `name` that is no regular file."""
    try:
        return not stat.S_ISREG(os.stat(name).st_mode)
    except (OSError, ValueError):
        return False


def _with_rank(name: str, rank: str) -> str:
    start, ending = os.path.splitext(name)
    return f"{start}.r{rank}{ending}"


def _tells_ranks_apart(marked: str) -> bool:
    """Tell whether no two ranks have this name: pids are unique on one host alone."""
    if _RANK in marked:
        return True
    return _HOST in marked and (_PID in marked or _LOCAL_RANK in marked)


class Output(namedtuple("Output", "file name page")):
    """The files that a run writes."""

    __slots__ = ()

    file: OutputFile
    name: OutputName  # of the profile, among those of other ranks
    page: OutputFile | None  # for browsers; None if none is asked for or written


def output_of(
    template: str | None,
    names: Names,
    suffix: str = _LINES,
    *,
    html: str = "",
    program: str | None = None,
) -> Output:
    """Return the files of a run: the profile, see `output_name`, and its page.

    `html` is the name of the page, as --html has it. Raises UsageError if one of them
    cannot be written, or is the file of the `program`.
    """
    name = output_name(template, names, suffix)
    file = OutputFile(name.name, program=program)
    return Output(file=file, name=name, page=_page_file(html, names, file))


def _page_file(html: str, names: Names, out: OutputFile) -> OutputFile | None:
    """Return the file of the page that --html asks for; None without --html.

    Without a name it is that of the profile and ``.html``. Placeholders and ranks are
    as in names of profiles. UsageError if no file can be written there.
    """
    if not html:
        return None
    if html != AUTO:
        stem = os.path.splitext(names.file_name)[0]
        name = output_name(html, names._replace(stem=stem), PAGES[0]).name
    elif out.path == os.devnull:
        raise UsageError(
            f"the page of --html has no name, as the profile goes to {os.devnull}",
            hint="name the page: --html=OUT.html",
        )
    else:
        name = out.name + PAGES[0]
    page = OutputFile(name, what="report", flag="--html")
    if page.path == out.path:
        raise UsageError(
            f"the profile itself is written to {name!r}",
            hint="name another file with --html",
        )
    return page


class OutputFile:
    """A file that a run writes, checked before the program runs."""

    def __init__(
        self,
        name: str,
        *,
        program: str | None = None,
        what: str = "profile",
        flag: str = "-o",
    ) -> None:
        """Take `name`, relative to the folder that is current now.

        `what` is written to it, and `flag` names it. Raises UsageError if no file can
        be written there, or if that is the file of the `program`.
        """
        self.name = name
        self._start = files.current_folder()
        self.path = os.path.join(self._start, name)
        if os.path.isabs(self.path):  # a link stays: its target is written
            self.path = os.path.realpath(self.path)
        problem, hint = _problem(name, self.path)
        if not problem and program and _is_same(self.path, program):
            problem, hint = "it is the program", "name another file with {flag}"
        if not problem:
            problem, hint = _problem_of_stream(name)
        if problem and self.path != os.devnull:  # -o /dev/null: only the table
            raise UsageError(
                f"cannot write the {what} to {name!r}: {problem}",
                hint=hint.format(flag=flag),
            )

    @property
    def shown(self) -> str:
        """The file's path from the folder that is current now."""
        return self.from_here(self.name)

    def from_here(self, name: str) -> str:
        """Return `name`, relative to the first folder, as seen from the current one."""
        if files.current_folder() == self._start:
            return name
        return os.path.join(self._start, name)


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


def _problem_of_stream(name: str) -> tuple[str, str]:
    """Return (problem, hint) if `name` is, say, /dev/stdout, or where that leads to."""
    hint = _NAME
    try:
        place = os.stat(name)
    except (OSError, ValueError):
        return "", ""
    if not stat.S_ISREG(
        place.st_mode
    ):  # a pipe, which `os.path.realpath` has no path of
        return "it is no regular file", hint
    for handle in (1, 2):
        try:
            if os.path.samestat(place, os.fstat(handle)):
                return "the program's output goes there", hint
        except OSError:  # it is closed
            continue
    return "", ""


def _problem(name: str, path: str) -> tuple[str, str]:
    """Return (problem, hint) if no profile can be written to `path`, else ("", "")."""
    folder = os.path.dirname(path)
    if not name:
        return "the name is empty", _NAME
    if not os.path.isabs(path):
        return "the current folder was removed", _ANOTHER
    if name.endswith(os.sep) or os.path.isdir(path):
        return "it is a folder", _NAME
    if not os.path.isdir(folder):
        return f"there is no folder {folder!r}", f"make it, or {_ANOTHER}"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"folder {folder!r} is not writable", _ANOTHER
    return _problem_of_file(path)


def _problem_of_file(path: str) -> tuple[str, str]:
    """Return (problem, hint) if a file at `path` cannot be replaced, or ("", "")."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return "", ""
    except (OSError, ValueError) as error:
        return str(error), _ANOTHER
    if not stat.S_ISREG(status.st_mode):
        return "it is no regular file", _NAME
    if not os.access(path, os.W_OK):
        return "that file is write-protected", f"remove it, or {_ANOTHER}"
    return "", ""
