"""From a list of words to a plan.

Flags end where the program begins, as they do for `python`: at the first word
that is no flag, and after ``-m NAME`` or ``-c CODE``. Their forms are those of
`argparse`, which takes longer to import than many a program takes to run.
"""

from __future__ import annotations

from kernprof.flags import BOOLEAN, COUNT, FLAGS, LIST, OPTIONAL, SWITCH, Flag
from kernprof.help import usage
from kernprof.plan import COMMAND, MODULE, SCRIPT, STDIN, Plan, UsageError
from kernprof.words import is_whole, targets
from lineprof.yes_no import yes_or_no

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_CONFIG = {"config", "no_config"}
_OF_A_WHOLE = {"include", "exclude", "all"}
_PROGRAMS = {"m": MODULE, "c": COMMAND}
_SHORT = {flag.short[1]: flag for flag in FLAGS if flag.short}
_NO, _NO_WHOLE = "--no-", "--no-whole"
_NEGATED = {_NO + flag.name: flag for flag in FLAGS if flag.kind == BOOLEAN}
_LONG = {**{flag.long: flag for flag in FLAGS}, **_NEGATED}


def parse(words: Sequence[str], called: str = "kernprof") -> Plan:
    """Return the plan that the command line `words` of the command `called` spells.

    Raises UsageError where it cannot be understood.
    """
    plan = Plan(called)
    rest = list(words)
    while rest and not plan.complete:
        word = rest.pop(0)
        if word == "--" and rest:
            _take_script(plan, rest.pop(0), rest)
        elif word == "--":
            break
        elif word.startswith("--"):
            _take_long(plan, word, rest)
        elif word.startswith("-") and word != "-":
            _take_cluster(plan, word, rest)
        else:
            _take_script(plan, word, rest[1:] if rest[:1] == ["--"] else rest)
    if not plan.complete:
        raise UsageError("no program to run was given", hint=usage(called))
    for flag in FLAGS:
        if flag.kind == LIST:
            setattr(plan, flag.attribute, targets(getattr(plan, flag.attribute)))
    return plan


def check(plan: Plan) -> None:
    """Raise UsageError for flags of ours that were given and would do nothing.

    To be asked once the plan is filled. line_profiler's flags are taken beside
    whatever else there is, as it does.
    """
    given = [flag for flag in FLAGS if flag.ours and flag.attribute in plan.given]
    if given and not plan.line_by_line:
        verb = "goes" if len(given) == 1 else "go"
        hint = "add -l, or leave out what needs it"
        raise UsageError(f"{_named(plan, given)} {verb} with -l", hint=hint)
    of_a_whole = [
        flag
        for flag in given
        if flag.attribute in _OF_A_WHOLE and getattr(plan, flag.attribute)
    ]
    against = _against_a_whole(plan)
    if of_a_whole and against:
        verb = "has" if len(of_a_whole) == 1 else "have"
        what = f"{_named(plan, of_a_whole)} {verb} no say beside {against}"
        hint = "add --whole, or leave one of them out"
        if against == _NO_WHOLE:
            hint = "leave one of them out"
        raise UsageError(what, hint=hint)


def _against_a_whole(plan: Plan) -> str:
    """Return what keeps a program from being profiled whole, "" if nothing does."""
    if plan.whole is False:
        given = "whole" in plan.given
        return _NO_WHOLE if given else f"whole = false of {plan.config}"
    if plan.whole is None and plan.prof_mod:
        return "-p" if "prof_mod" in plan.given else f"prof-mod of {plan.config}"
    return ""


def _named(plan: Plan, flags: Sequence[Flag]) -> str:
    """Return these flags as they may have been given."""
    return ", ".join(
        _NO + flag.name
        if flag.kind == BOOLEAN and not getattr(plan, flag.attribute)
        else flag.long
        for flag in flags
    )


def _take_script(plan: Plan, word: str, rest: list[str]) -> None:
    plan.kind = STDIN if word == "-" else SCRIPT
    plan.target = word
    plan.arguments = rest


def _take_cluster(plan: Plan, word: str, rest: list[str]) -> None:
    """Take short flags that stand together: ``-lv``, ``-lo FILE``, ``-lm NAME``."""
    for place, letter in enumerate(word[1:], start=2):
        attached = word[place:]
        if letter in _PROGRAMS:
            plan.kind = _PROGRAMS[letter]
            plan.target = _value(plan, f"-{letter}", attached or None, rest)
            plan.arguments = rest
            return
        flag = _SHORT.get(letter)
        if flag is None:
            raise _unknown(plan, f"-{letter}")
        if flag.kind not in {SWITCH, COUNT, BOOLEAN}:
            _take_value(plan, flag, flag.short, attached or None, rest)
            return
        if attached.startswith("="):
            raise _no_value(flag, flag.short, attached)
        _switch_on(plan, flag)


def _take_long(plan: Plan, word: str, rest: list[str]) -> None:
    begun, equals, given = word.partition("=")
    name = _long(plan, begun)
    flag = _LONG[name]
    if flag.kind == BOOLEAN:
        _set(plan, flag, _yes(name, given if equals else None, rest))
    elif flag.kind not in {SWITCH, COUNT}:
        _take_value(plan, flag, name, "=" + given if equals else None, rest)
    elif equals:
        raise _no_value(flag, name, f"={given}")
    else:
        _switch_on(plan, flag)


def _yes(name: str, given: str | None, rest: list[str]) -> bool:
    """Return what flag `name` sets: by the value `given`, or by a next word like yes.

    The last word is the program's name.
    """
    if given is None:
        follows = len(rest) > 1 and yes_or_no(rest[0]) is not None
        given = rest.pop(0) if follows else "yes"
    value = yes_or_no(given)
    if value is None:
        raise UsageError(f"{name} takes yes or no, not {given!r}")
    return value is not (name in _NEGATED)


def _take_value(
    plan: Plan, flag: Flag, name: str, attached: str | None, rest: list[str]
) -> None:
    """Set what takes a value: the one `attached`, with or without ``=``, or the next.

    The last word is the program's name, if the flag can do without a value.
    """
    if attached is not None:
        word = attached.removeprefix("=")
    elif flag.kind == OPTIONAL:
        word = rest.pop(0) if len(rest) > 1 and is_whole(rest[0]) else flag.bare
    else:
        word = _value(plan, name, None, rest)
    value = flag.read(word)
    if flag.kind == LIST:
        value = (*getattr(plan, flag.attribute), value)
    _set(plan, flag, value)


def _switch_on(plan: Plan, flag: Flag) -> None:
    """Set a flag without a value; one that counts goes up by one."""
    counts = flag.kind == COUNT
    _set(plan, flag, getattr(plan, flag.attribute) + 1 if counts else True)


def _set(plan: Plan, flag: Flag, value: object) -> None:
    if flag.attribute == "whole" and {value, plan.whole} == {True, False}:
        what = f"{flag.long} and {_NO_WHOLE} contradict each other"
        raise UsageError(what, hint="leave one of them out")
    if flag.attribute in _CONFIG:  # the last one holds
        plan.config, plan.no_config = None, False
    setattr(plan, flag.attribute, value)
    plan.given.add(flag.attribute)


def _long(plan: Plan, begun: str) -> str:
    """Return the flag called `begun`, or the one flag whose name begins so.

    Where one of line_profiler's begins so, ours need more letters.
    """
    if begun in _LONG:
        return begun
    found = [name for name in _LONG if name.startswith(begun)]
    if len(found) > 1:
        found = [name for name in found if not _LONG[name].ours] or found
    if len(found) == 1:
        return found[0]
    if not found:
        raise _unknown(plan, begun)
    raise UsageError(f"{begun} could be {' or '.join(found)}", hint="write it in full")


def _value(plan: Plan, name: str, attached: str | None, rest: list[str]) -> str:
    """Return the value that belongs to flag `name`; UsageError if none is left."""
    if attached is not None:
        return attached
    if rest:
        return rest.pop(0)
    raise UsageError(f"{name} needs a value", hint=usage(plan.called))


def _no_value(flag: Flag, name: str, given: str) -> UsageError:
    hint = f"leave out {given!r}"
    if flag.kind == BOOLEAN:
        hint = f"write {flag.long}{given}"
    return UsageError(f"{name} takes no value", hint=hint)


def _unknown(plan: Plan, name: str) -> UsageError:
    hint = f"{plan.called} --help lists all flags"
    return UsageError(f"unknown flag {name}", hint=hint)
