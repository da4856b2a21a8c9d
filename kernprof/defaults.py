"""From a file of configuration to what the command line left open."""

from __future__ import annotations

from kernprof.flags import COUNT, FLAGS, LIST, OPTIONAL, SWITCH, Flag
from kernprof.plan import UsageError
from kernprof.words import targets
from lineprof.config_read import column_widths, configuration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kernprof.plan import Plan
    from lineprof.config_source import ConfigSource

_BY_NAME = {
    flag.name: flag
    for flag in FLAGS
    if flag.kind != SWITCH and flag.attribute != "config"
}


def fill(plan: Plan) -> None:
    """Set what the command line left open as a file of configuration says.

    Raises UsageError or ConfigError where the file given with --config is of no
    use, or the file that holds gives a flag a value that the flag does not take.
    """
    plan.settings = source = configuration(plan.config, off=plan.no_config)
    plan.config = source.file or None
    plan.remarks += source.remarks
    if source.holds:
        column_widths(source)  # now rather than at the end
        _fill(plan, source)
    if plan.verbosity < 0:
        plan.remarks.clear()


def _fill(plan: Plan, source: ConfigSource) -> None:
    table = source.get_subconfig("kernprof")
    for key, value in {**table.conf_dict, **table.own}.items():
        flag = _BY_NAME.get(key.replace("_", "-"))
        if flag is None:
            plan.remarks.append(
                f"{source.file}: [tool.lineprof.kernprof] knows no {key!r};"
                f" {plan.called} --help lists all flags"
            )
        elif flag.attribute not in plan.given or flag.kind == COUNT:
            try:
                _apply(plan, flag, value)
            except UsageError as error:
                where = f"{source.file}: {key} of the table kernprof"
                raise UsageError(f"{where}: {error.message}", hint=error.hint) from None


def _apply(plan: Plan, flag: Flag, value: object) -> None:
    """Set a part of `plan` to what a file says; UsageError if it cannot be that."""
    if flag.kind == COUNT:
        before = getattr(plan, flag.attribute)
        setattr(plan, flag.attribute, before + _whole(value))
    elif flag.kind == LIST:
        chunks = [value] if isinstance(value, str) else value
        if not (isinstance(chunks, list) and all(isinstance(c, str) for c in chunks)):
            raise UsageError(f"bad list {value!r}", hint="give texts in brackets")
        setattr(plan, flag.attribute, targets(chunks))
    elif value == "" and flag.attribute in {"outfile", "setup"}:
        setattr(plan, flag.attribute, None)
    else:
        setattr(plan, flag.attribute, flag.read(_word(flag, value)))


def _whole(value: object) -> int:
    if isinstance(value, int):
        return int(value)
    raise UsageError(f"bad number {value!r}", hint="give a whole number")


def _word(flag: Flag, value: object) -> str:
    """Return `value` as the command line would spell it."""
    if isinstance(value, bool) and flag.kind == OPTIONAL:
        return flag.bare if value else "0"
    if isinstance(value, bool):
        on, off = ("on", "off") if flag.value == "on|off" else ("yes", "no")
        return on if value else off
    if isinstance(value, (int, float)) and flag.read is not str:
        return repr(value)
    if isinstance(value, str):
        return value
    raise UsageError(f"bad value {value!r}", hint=f"give what {flag.long} takes")
