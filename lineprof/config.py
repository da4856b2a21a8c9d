"""Configuration in TOML, as line_profiler reads it, and values of flags."""

from __future__ import annotations

import os
import pwd
import stat
import sys
from collections import namedtuple

from lineprof.errors import LineprofError, printable
from lineprof.files import absolute_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    Table = dict[str, object]
    AnyPath = str | os.PathLike[str]


# The same as in ``rc/line_profiler.toml``, which explains each key. That file is not
# read, because a reader of TOML takes longer to import than all of lineprof.
DEFAULTS: dict[str, dict[str, object]] = {
    "kernprof": {
        "line-by-line": False,
        "builtin": False,
        "rich": False,
        "skip-zero": False,
        "summarize": False,
        "preimports": True,
        "prof-imports": False,
        "verbose": 0,
        "outfile": "",
        "setup": "",
        "unit": 1e-6,  # s
        "output-interval": 0,  # s
        "prof-mod": [],
    },
    "cli": {
        "unit": 1e-6,  # s
        "rich": False,
        "skip-zero": False,
        "sort": False,
        "summarize": False,
    },
    "setup": {
        "environ_flags": ["LINE_PROFILE"],
        "cli_flags": ["--line-profile", "--line_profile"],
    },
    "write": {
        "output_prefix": "profile_output",
        "lprof": True,
        "text": True,
        "timestamped_text": True,
        "stdout": True,
    },
    "show": {
        "sort": True,
        "stripzeros": True,
        "rich": True,
        "details": False,
        "summarize": True,
        "column_widths": {"line": 6, "hits": 9, "time": 12, "perhit": 8, "percent": 8},
    },
}


VARIABLE = "LINE_PROFILER_RC"  # names the file to use
_OWN_NAMES = ("lineprof.toml", "line_profiler.toml")
NAMES = (*_OWN_NAMES, "pyproject.toml")
_TABLES = ("line_profiler", "lineprof")


class Found(namedtuple("Found", "path content remarks fault refused named")):
    """A file of configuration, and remarks on files that were passed over."""

    __slots__ = ()

    path: str  # absolute; "" if there is none
    content: Mapping[str, object]
    remarks: tuple[str, ...]
    fault: str  # of a file that only we read, and that is no TOML
    refused: tuple[str, ...]  # remarks on files that may be another user's
    named: bool  # whether the variable names the file


class UnreadableError(Exception):
    """A file that is no TOML; ``str()`` of the error says why."""


def find(variable: str | None = VARIABLE, program: str | None = None) -> Found:
    """Return the file to use: the one that `variable` names, or the nearest.

    The nearest must be safe from other users than the owner of `program`: see
    `why_unsafe`. A file that cannot be read is passed over, with a remark if the user
    may expect it to be used. The first file that has our name and is no TOML is a
    fault.
    """
    named = os.environ.get(variable) if variable else None
    remarks: list[str] = []
    refused: list[str] = []
    fault = ""
    owners: frozenset[int] = frozenset()
    for path in [absolute_path(named)] if named else _nearest():
        try:
            if not named:
                owners = owners or trusted_owners(program)
                reason = why_unsafe(path, owners)
                if reason:
                    refused += [_refusal(path, reason)] if _has_our_tables(path) else []
                    continue
            content = read(path)
        except OSError as error:
            if named:  # other files may be another program's
                remarks.append(f"ignoring {path}: {error.strerror}")
        except UnreadableError as error:
            remarks.append(f"ignoring {path}: {error}")
            if not named and _is_ours(path):
                fault = fault or f"{path}: {error}"
        else:
            break
    else:
        path, content = "", {}
    return Found(
        path=path,
        content=content,
        remarks=tuple(remarks),
        fault=fault,
        refused=tuple(refused),
        named=bool(named),
    )


def _nearest() -> Iterator[str]:
    """Yield the files of configuration, those of the current folder first."""
    try:
        folder = os.getcwd()
    except OSError:  # it was removed
        return
    above = None
    while folder != above:
        for name in NAMES:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                yield path
        folder, above = os.path.dirname(folder), folder


def read(path: str, *, whole: bool = False) -> Mapping[str, object]:
    """Return the content of a file of TOML; {} if it does not mention our tables.

    With `whole`, and for a file with our name, the content is always parsed. Raises
    OSError, or UnreadableError if the file is no TOML.
    """
    with open(path, "rb") as stream:
        data = stream.read()
    whole = whole or _is_ours(path)
    return _content(data) if whole or _mentions_us(data) else {}


def _mentions_us(data: bytes) -> bool:
    return any(name.encode() in data for name in _TABLES)


def _content(data: bytes) -> Mapping[str, object]:
    """Return the content of a file of TOML; UnreadableError."""
    from tomllib import loads  # noqa: PLC0415  # few files get here

    try:
        return loads(data.decode())
    except (ValueError, RecursionError) as error:  # no TOML; no UTF-8
        raise UnreadableError(f"it is no TOML: {error}") from None


def _is_ours(path: str) -> bool:
    """Tell by its name whether only we read a file."""
    return os.path.basename(path) in _OWN_NAMES


# Owners. A file that was found, not named, decides where a profile is written and which
# code runs first, so nobody but the user may have had a hand in it.


_GLANCE = 1 << 20  # bytes of another user's file that are read, to see if it is for us


def trusted_owners(program: str | None = None) -> frozenset[int]:
    """Return the users whose files of configuration are used.

    They are this user, root, for root under sudo also the user who called it, and the
    owner of `program`, whose code runs anyway: of a script, or without one of the
    folder that is imported from. None stands for the program of this process.
    """
    user = os.geteuid()
    owners = {user, 0}
    caller = os.environ.get("SUDO_UID", "")
    if user == 0 and caller.isascii() and caller.isdigit():
        owners.add(int(caller))
    if program is None:
        main = sys.modules.get("__main__")
        program = getattr(main, "__file__", None) or import_folder()
    try:
        of_program = {os.stat(program).st_uid}
    except (OSError, TypeError, ValueError):  # whatever the program set __file__ to
        of_program = set()
    return frozenset(owners | of_program)


def import_folder() -> str:
    """Return the folder that a program without a file imports from; "" if none."""
    return "" if sys.flags.safe_path else os.curdir


def why_unsafe(path: str, owners: Collection[int]) -> str:
    """Return how another user than `owners` may have made the file; "" if none can.

    The file and its folder have to belong to them, and they alone may write to both. In
    a folder with the sticky bit, such as /tmp, others cannot replace their files. The
    same holds for a link and the file that it leads to. Raises OSError if the file is
    gone.
    """
    paths = [path]
    if os.path.islink(path):
        paths.append(os.path.realpath(path))
    reason = ""
    for one in paths:
        folder = os.stat(os.path.dirname(one))
        reason = reason or _other_writer("it", os.lstat(one), owners)
        reason = reason or _other_writer("its folder", folder, owners)
    return reason


def _other_writer(what: str, status: os.stat_result, owners: Collection[int]) -> str:
    """Return that another user than `owners` can write to `what`, or ""."""
    if status.st_uid not in owners:
        return f"{what} belongs to {_user(status.st_uid)}"
    mode = status.st_mode
    if stat.S_ISLNK(mode) or (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        return ""
    if mode & stat.S_IWOTH:
        return f"everyone can write to {what}"
    if mode & stat.S_IWGRP:
        group, is_private = _group(status.st_gid, owners)
        return "" if is_private else f"group {group} can write to {what}"
    return ""


def _user(number: int) -> str:
    """Return a user as messages show one: by name, or else by number."""
    name = _user_name(number)
    return f"user {name!r}" if name else f"user {number}"


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return ""


def _group(number: int, owners: Collection[int]) -> tuple[str, bool]:
    """Return the name of a group, and whether it is the private one of an owner.

    A private group is called as its user, and has no other members. In a container
    users and groups may have no names; the numbers are the same then.
    """
    import grp  # noqa: PLC0415  # few files can be written to by a group

    names = set(filter(None, map(_user_name, owners)))
    try:
        group = grp.getgrgid(number)
    except KeyError:
        return f"{number}", number in owners
    private = group.gr_name in names and names.issuperset(group.gr_mem)
    return repr(group.gr_name), private


def _has_our_tables(path: str) -> bool:
    """Return whether a file that is not used would have an effect."""
    if _is_ours(path):
        return True
    try:
        # If another user replaces the file by a pipe now, opening it does not block.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(handle, "rb") as stream:
            data = stream.read(_GLANCE) or b""
        tool = _content(data).get("tool") if _mentions_us(data) else None
    except (OSError, UnreadableError):
        return False
    return isinstance(tool, dict) and not tool.keys().isdisjoint(_TABLES)


def _refusal(path: str, reason: str) -> str:
    """Return the line for the user on a file that is not used."""
    return printable(
        f"ignoring {path}: {reason};"
        f" to use it all the same, name it with --config or {VARIABLE}"
    )


class ConfigError(LineprofError):
    """An error in a file of configuration that a command was told to use."""

    status = 2


def configuration(
    file: str | None, *, off: bool, program: str | None = None
) -> ConfigSource:
    """Return the configuration in `file`, else in the one found; with `off`, defaults.

    `program` is as for `trusted_owners`. Raises ConfigError if `file` cannot be read or
    understood, or if one that was found has our name and is no TOML.
    """
    try:
        asked = not off if file is None else file
        source = ConfigSource.from_config(asked, program=program)
    except (OSError, ValueError) as error:
        hint = "give a file of TOML, or --no-config"
        raise ConfigError(str(error), hint=hint) from None
    if source.fault:
        raise ConfigError(source.fault, hint="correct it, or give --no-config")
    return source


def column_widths(source: ConfigSource) -> Mapping[str, int] | None:
    """Return the minimum widths of the table's columns; None without configuration.

    Raises ConfigError for a width that is no integer.
    """
    if not source.holds:
        return None
    table = source.get_subconfig("show", "column_widths").conf_dict
    widths: dict[str, int] = {}
    for name, width in table.items():
        if type(width) is not int:
            what = f"{source.file}: the width of column {name!r} is {width!r}"
            raise ConfigError(what, hint="give a whole number of characters")
        widths[name] = width
    return widths


_NAMESPACE = ("tool", "line_profiler")
_SAMPLE = os.path.join(os.path.dirname(__file__), "rc", "line_profiler.toml")


class ConfigSource:
    """Tables of configuration, and the file that they are from.

    `conf_dict` has a value for every key that line_profiler has; `path` is the absolute
    path of the file, that of our sample if none is used; `subtable` names the table
    within the file. Two are equal if these three are.
    """

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __init__(
        self, conf_dict: Mapping[str, object], path: AnyPath, subtable: list[str]
    ) -> None:
        """Take the tables, the file and the names of the enclosing tables."""
        self.conf_dict: Table = conf_dict  # type: ignore[assignment]
        self.subtable = subtable
        self.own: Table = {}  # of [tool.lineprof]: keys that line_profiler lacks
        self.remarks: tuple[str, ...] = ()  # warnings for the user, a line each
        self.refused: tuple[str, ...] = ()  # the same, on files of other users
        self.named = True  # whether the user named the file: it was not searched for
        self.fault = ""  # an error in a file that a command should not ignore
        self.holds = False  # whether a file is used
        self._path = path

    @property
    def path(self) -> Path:
        """The absolute path of the file."""
        from pathlib import Path  # noqa: PLC0415  # slow, and seldom asked for

        return Path(self._path)

    @path.setter
    def path(self, path: AnyPath) -> None:
        self._path = path

    @property
    def file(self) -> str:
        """The absolute path of the file; "" if none is used."""
        return "" if self._path == _SAMPLE else os.fspath(self._path)

    def copy(self) -> ConfigSource:
        """Return a copy with tables of its own."""
        return self._like(_copied(self.conf_dict), list(self.subtable))

    def get_subconfig(
        self, *headers: str, allow_absence: bool = False, copy: bool = False
    ) -> ConfigSource:
        """Return the table that is called `headers` in this one.

        Its dictionary is shared, or, with `copy`, copied. Raises KeyError if there is
        no such table; with `allow_absence` the table is then empty. Raises TypeError
        if the value is no table.
        """
        table: object = self.conf_dict
        own: object = self.own
        for name in headers:
            absent = allow_absence and isinstance(table, dict) and name not in table
            table = {} if absent else table[name]  # type: ignore[index]
            own = own.get(name, {}) if isinstance(own, dict) else {}
        if not isinstance(table, dict):
            raise TypeError(f"{'.'.join(headers)} is no table: {table!r}")
        part = self._like(_copied(table) if copy else table, [*self.subtable, *headers])
        part.own = own if isinstance(own, dict) else {}
        return part

    @classmethod
    def from_default(cls, *, copy: bool = True) -> ConfigSource:
        """Return the defaults; without `copy`, with tables that are shared."""
        table = _copied(DEFAULTS) if copy else DEFAULTS
        return cls(table, _SAMPLE, list(_NAMESPACE))

    @classmethod
    def from_config(
        cls,
        config: AnyPath | ConfigSource | bool | None = None,  # noqa: FBT001  # line_profiler's
        *,
        read_env: bool = True,
        program: str | None = None,
    ) -> ConfigSource:
        """Return the values of a file of configuration, completed by the defaults.

        `config` is that file; None or True: the one that the variable
        LINE_PROFILER_RC names (unless `read_env` is off), else the nearest; False:
        none; a ConfigSource is returned as it is. The nearest is lineprof.toml,
        line_profiler.toml or pyproject.toml in the current folder, else in the one
        above it, and so on. Files of other users than `trusted_owners` of `program` are
        passed over, with a line in `refused`.

        If `config` is a file, raises FileNotFoundError if it does not exist, and
        ValueError if it cannot be read, is no TOML or has another value where a table
        should be. Any other such file is passed over, with a line in `remarks`.
        """
        if isinstance(config, ConfigSource):
            return config
        if config is False:
            return cls.from_default()
        if config is not None and config is not True:
            return cls._from_file(absolute_path(os.fspath(config)))
        found = find(VARIABLE if read_env else None, program)
        source, remarks = cls.from_default(), found.remarks
        if found.path:
            try:
                source = cls._of(found.path, found.content)
            except TableError as error:
                remarks += (f"ignoring {found.path}: {error}",)
        source.remarks, source.fault = remarks + source.remarks, found.fault
        source.refused, source.named = found.refused, found.named
        return source

    @classmethod
    def _from_file(cls, path: str) -> ConfigSource:
        """Return the values of the file at `path`; raises as `from_config`."""
        try:
            return cls._of(path, read(path, whole=True))
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no configuration {path!r}") from None
        except OSError as error:
            raise ValueError(f"cannot read {path!r}: {error.strerror}") from None
        except UnreadableError as error:
            raise ValueError(f"cannot read {path!r}: {error}") from None
        except TableError as error:
            raise ValueError(f"config = {path!r}: {error}") from None

    @classmethod
    def _of(cls, path: str, content: Mapping[str, object]) -> ConfigSource:
        """Return the values in `content`, of the file at `path`; TableError."""
        known, own, remarks = _merged_tables(_copied(DEFAULTS), content)
        source = cls(known, path, list(_NAMESPACE))
        source.own, source.holds = own, "tool" in content
        source.remarks = tuple(f"{path}: {remark}" for remark in remarks)
        return source

    def _like(self, table: Table, subtable: list[str]) -> ConfigSource:
        """Return another part of the same file."""
        part = type(self)(table, self._path, subtable)
        part.own, part.remarks, part.holds = self.own, self.remarks, self.holds
        part.refused, part.named = self.refused, self.named
        return part

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfigSource):
            return NotImplemented
        ours = (self.conf_dict, os.fspath(self._path), self.subtable)
        return ours == (other.conf_dict, os.fspath(other._path), other.subtable)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(conf_dict={self.conf_dict!r},"
            f" path={self.path!r}, subtable={self.subtable!r})"
        )


def _copied(table: Mapping[str, object]) -> Table:
    """Return a copy of tables in tables; `copy` would be one more import."""
    return {
        key: _copied(value)
        if isinstance(value, dict)
        else (list(value) if isinstance(value, list) else value)
        for key, value in table.items()
    }


# Merging of a file's tables: defaults, then line_profiler's, then ours.

LINE_PROFILER, LINEPROF = "line_profiler", "lineprof"
BUDGET = "budget"  # the table of `lineprof check`, which checks it
_WITH_FLAGS = ("kernprof", "cli")  # their keys are flags, which the commands check


class TableError(Exception):
    """An error for another value where a table should be."""


def _merged_tables(
    defaults: Table, content: Mapping[str, object]
) -> tuple[Table, Table, list[str]]:
    """Return the tables of a file with this `content`, merged; TableError.

    The first has a value for every key that line_profiler has, the second the flags in
    [tool.lineprof] that line_profiler does not have; the last are remarks on unknown
    keys.
    """
    tool = _table(content, "tool", "")
    line_profilers = _table(tool, LINE_PROFILER, "tool.")
    ours = _table(tool, LINEPROF, "tool.")
    known = _merged(defaults, line_profilers, f"tool.{LINE_PROFILER}.")
    known = _merged(known, ours, f"tool.{LINEPROF}.")
    return known, *_left(defaults, ours)


def _table(within: Mapping[str, object], key: str, prefix: str) -> Table:
    """Return a table, {} if it is absent; TableError if the value is no table."""
    found = within.get(key, {})
    if isinstance(found, dict):
        return found
    raise TableError(f"expected tables at these keys: [{prefix + key!r}]")


def _merged(defaults: Table, given: Table, prefix: str) -> Table:
    """Return `defaults`, with the values that are given for their keys."""
    return {
        key: _merged(default, _table(given, key, prefix), f"{prefix}{key}.")
        if isinstance(default, dict)
        else given.get(key, default)
        for key, default in defaults.items()
    }


def _left(defaults: Table, given: Table) -> tuple[Table, list[str]]:
    """Return the flags that `defaults` lacks, by table, and remarks on other keys."""
    own: Table = {}
    remarks: list[str] = []
    for name, table in given.items():
        if name == BUDGET:
            continue
        known = defaults.get(name)
        if not (isinstance(known, dict) and isinstance(table, dict)):
            remarks.append(unknown(name, "", defaults))
        elif name in _WITH_FLAGS:
            own[name] = {key: table[key] for key in table if key not in known}
        else:
            keys = [key for key in table if key not in known]
            remarks += [unknown(key, name, known) for key in keys]
    return own, remarks


def unknown(key: str, table: str, known: Mapping[str, object]) -> str:
    """Return a remark: `table` of [tool.lineprof], or with "" itself, has no `key`."""
    name = f"tool.{LINEPROF}.{table}" if table else f"tool.{LINEPROF}"
    return f"[{name}] knows no {key!r}; known are: {', '.join(known)}"


# Values and abbreviations of flags.

_BOOLEANS = {
    **dict.fromkeys(("1", "on", "t", "true", "y", "yes"), True),
    **dict.fromkeys(("", "0", "off", "f", "false", "n", "no"), False),
}


def parse_bool(word: str) -> bool | None:
    """Return the truth value of `word`, in any case of letters; None if unknown."""
    return _BOOLEANS.get(word.lower())


def matching(begun: str, names: Iterable[str], older: Collection[str]) -> list[str]:
    """Return the flags among `names` that `begun` abbreviates.

    If there are several, returns only those in `older`, if any: scripts may rely on
    abbreviations of older flags.
    """
    found = [name for name in names if name.startswith(begun)]
    if begun in found:
        return [begun]
    if len(found) > 1:
        found = [name for name in found if name in older] or found
    return found
