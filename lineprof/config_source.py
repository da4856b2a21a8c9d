"""Configuration in TOML, as line_profiler reads it: `ConfigSource`."""

from __future__ import annotations

import os

from lineprof.config_defaults import DEFAULTS
from lineprof.config_files import VARIABLE, UnreadableError, find, read
from lineprof.config_tables import TableError, tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    Table = dict[str, object]
    AnyPath = str | os.PathLike[str]

__all__ = ["ConfigSource"]

_NAMESPACE = ("tool", "line_profiler")
_SAMPLE = os.path.join(os.path.dirname(__file__), "rc", "line_profiler.toml")


class ConfigSource:
    """Tables of configuration, and the file that they are from.

    `conf_dict` has a value for every key of line_profiler's; `path` is the
    file, in full, ours where none holds; `subtable` says which of its tables
    this is. Equal are those of which these three are.
    """

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __init__(
        self, conf_dict: Mapping[str, object], path: AnyPath, subtable: list[str]
    ) -> None:
        """Take the tables, the file and the names of the tables around."""
        self.conf_dict: Table = conf_dict  # type: ignore[assignment]
        self.subtable = subtable
        self.own: Table = {}  # of [tool.lineprof]: what line_profiler does not know
        self.remarks: tuple[str, ...] = ()  # what the user should know; a line each
        self.fault = ""  # what is wrong with a file that a command should not ignore
        self.holds = False  # whether the file has anything for us
        self._path = path

    @property
    def path(self) -> Path:
        """The file, in full."""
        from pathlib import Path  # noqa: PLC0415  # who wants none need not wait

        return Path(self._path)

    @path.setter
    def path(self, path: AnyPath) -> None:
        self._path = path

    @property
    def file(self) -> str:
        """The file, in full; "" where none holds."""
        return "" if self._path == _SAMPLE else os.fspath(self._path)

    def copy(self) -> ConfigSource:
        """Return the same with tables of its own."""
        return self._like(_copied(self.conf_dict), list(self.subtable))

    def get_subconfig(
        self, *headers: str, allow_absence: bool = False, copy: bool = False
    ) -> ConfigSource:
        """Return the table that is called `headers` in this one.

        It is the very same dictionary, or, with `copy`, one of its own. Raises
        KeyError where there is none; with `allow_absence` it is empty then.
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
        """Return what holds where no file says otherwise.

        Without `copy` it has the tables that all who ask so share.
        """
        table = _copied(DEFAULTS) if copy else DEFAULTS
        return cls(table, _SAMPLE, list(_NAMESPACE))

    @classmethod
    def from_config(
        cls,
        config: AnyPath | ConfigSource | bool | None = None,  # noqa: FBT001  # line_profiler's
        *,
        read_env: bool = True,
    ) -> ConfigSource:
        """Return what a file of configuration says; its gaps filled by defaults.

        `config` is that file; None or True: the one that the variable
        LINE_PROFILER_RC names (unless `read_env` is off), else the nearest; False:
        none; what was read before stays as it is. The nearest is lineprof.toml,
        line_profiler.toml or pyproject.toml in the current folder, else in the one
        above it, and so on.

        Raises, where `config` is a file: FileNotFoundError if it is not there,
        ValueError if it cannot be read, is no TOML or has something else where
        a table should be. Another such file is left out, and `remarks` say so.
        """
        if isinstance(config, ConfigSource):
            return config
        if config is False:
            return cls.from_default()
        if config is not None and config is not True:
            return cls._from_file(os.path.abspath(config))
        found = find(VARIABLE if read_env else None)
        source, remarks = cls.from_default(), found.remarks
        if found.path:
            try:
                source = cls._of(found.path, found.content)
            except TableError as error:
                remarks += (f"ignoring {found.path}: {error}",)
        source.remarks, source.fault = remarks + source.remarks, found.fault
        return source

    @classmethod
    def _from_file(cls, path: str) -> ConfigSource:
        """Return what a certain file says; raises as `from_config`."""
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
        """Return what the file at `path` says; TableError."""
        merged = tables(_copied(DEFAULTS), content)
        source = cls(merged.known, path, list(_NAMESPACE))
        source.own, source.holds = merged.own, "tool" in content
        source.remarks = tuple(f"{path}: {remark}" for remark in merged.remarks)
        return source

    def _like(self, table: Table, subtable: list[str]) -> ConfigSource:
        """Return another part of the same file."""
        part = type(self)(table, self._path, subtable)
        part.own, part.remarks, part.holds = self.own, self.remarks, self.holds
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
