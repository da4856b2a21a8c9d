"""The configuration as a command reads it: what is wrong is one line."""

from __future__ import annotations

from lineprof.config_source import ConfigSource
from lineprof.errors import LineprofError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class ConfigError(LineprofError):
    """A file of configuration that was asked for is of no use."""

    status = 2


def configuration(file: str | None, *, off: bool) -> ConfigSource:
    """Return what `file` says, or the file that holds; with `off`, defaults.

    Raises ConfigError if it is `file` that cannot be read or understood, or one
    that was found by a name of ours and is no TOML.
    """
    try:
        source = ConfigSource.from_config(not off if file is None else file)
    except (OSError, ValueError) as error:
        hint = "give a file of TOML, or --no-config"
        raise ConfigError(str(error), hint=hint) from None
    if source.fault:
        raise ConfigError(source.fault, hint="correct it, or give --no-config")
    return source


def column_widths(source: ConfigSource) -> Mapping[str, int] | None:
    """Return how wide the table's columns are at least; None: as usual.

    Raises ConfigError for a width that is no whole number.
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
