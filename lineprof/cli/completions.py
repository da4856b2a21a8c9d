"""`lineprof completions`: scripts that complete command lines in bash, zsh and fish.

The scripts are made of the commands' own parsers and of the table of kernprof's flags,
so that a new command or flag is completed without a line here. Names, values and help
are quoted for the shell: none of them is ever run.
"""

from __future__ import annotations

import argparse
import re
import shlex
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from kernprof.options import FLAGS, PROGRAMS
from lineprof.cli import run
from lineprof.cli.command import ArgumentType, Command
from lineprof.cli.main import COMMANDS, parsers_of
from lineprof.console.output import print_lines
from lineprof.errors import printable
from lineprof.flags import BOOLEAN, COUNT, OPTIONAL, PROGRAM, SWITCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from lineprof.flags import Flag

# Values that name profiles, and those that name other files or folders.
_PROFILES = {"FILE", "BEFORE", "AFTER"}
_PATHS = {*_PROFILES, "OUT", "PLACE", "FOLDER", "DIR", "TOML", "OUT.html"}

_LIVE_FILES = "PID|FILE.live"  # a value that names live files

_PROFILE, _SCRIPT, _LIVE = ".lprof", ".py", ".live"  # suffixes of files to read

_DEFAULT = "view"  # the command of `lineprof FILE`

_KERNPROF = "kernprof"

_CHOICES = re.compile(r"\{([^{}]+)\}|([\w-]+(?:\|[\w-]+)+)")


class Completed(NamedTuple):
    """One flag that is completed, with its values."""

    names: tuple[str, ...]
    help: str
    value: str = ""  # the name of its value; "": it takes none
    words: tuple[str, ...] = ()  # known values
    separator: str = ""  # between several of them
    ends_flags: bool = False  # all that follows is the program's

    @property
    def takes_paths(self) -> bool:
        """Whether the value is the name of a file or folder."""
        return self.value.strip("[]") in _PATHS and not self.words


class CommandLine(NamedTuple):
    """The command line of one command, as shells complete it."""

    flags: tuple[Completed, ...]
    words: tuple[str, ...] = ()  # known arguments
    suffix: str | None = None  # of the files that it takes; None: it takes none
    runs_program: bool = False  # what follows the first argument is the program's


class CommandLines(NamedTuple):
    """All that there is to complete."""

    general: tuple[Completed, ...]  # flags of `lineprof` itself
    commands: Mapping[str, CommandLine]  # of lineprof, by name
    help: Mapping[str, str]  # of the commands


# From the commands to what is completed.


def command_lines(
    parser: argparse.ArgumentParser,
    parsers: Mapping[str, argparse.ArgumentParser],
    texts: Mapping[str, str],
) -> CommandLines:
    """Return what the commands of `parsers` and kernprof take.

    `parser` is that of all, and `texts` are the help of the commands by name.
    """
    of_kernprof = CommandLine(
        tuple(found for flag in (*FLAGS, *PROGRAMS) for found in _of_flag(flag)),
        suffix=_SCRIPT,
        runs_program=True,
    )
    commands = {name: _of_parser(one) for name, one in parsers.items()}
    return CommandLines(
        general=_of_parser(parser).flags,
        commands={**commands, run.NAME: of_kernprof},
        help={name: printable(text) for name, text in texts.items()},
    )


def _of_flag(flag: Flag) -> Iterator[Completed]:
    """Yield a flag of kernprof, and its opposite if it has one."""
    names, text = flag.names, printable(flag.text)
    if flag.kind in {SWITCH, COUNT, BOOLEAN, OPTIONAL}:  # a next word may be no value
        yield Completed(names, text)
    else:
        words = flag.words or _choices(flag.value)
        yield Completed(names, text, flag.value, words, ends_flags=flag.kind == PROGRAM)
    if flag.kind == BOOLEAN:
        yield Completed((flag.opposite,), f"not {flag.long}")


def _of_parser(parser: argparse.ArgumentParser) -> CommandLine:
    flags: list[Completed] = []
    arguments: tuple[str, ...] = ()
    suffix: str | None = None
    for action in parser._actions:  # noqa: SLF001  # argparse lists them nowhere else
        if action.help == argparse.SUPPRESS:
            continue
        value = _value_name(action)
        words = tuple(map(str, action.choices or ())) or _choices(value)
        separator = ""
        if isinstance(action.type, ArgumentType) and action.type.words:
            words, separator = action.type.words, action.type.separator
        if action.option_strings:
            text = (action.help or "") % {**vars(action), "prog": parser.prog}
            names = tuple(action.option_strings)
            flags.append(Completed(names, printable(text), value, words, separator))
        elif words:
            arguments += words
        elif value == _LIVE_FILES:
            suffix = _LIVE
        elif _PATHS.issuperset(value.split()):
            has_profiles = _PROFILES.issuperset(value.split())
            suffix = _PROFILE if has_profiles else suffix or ""
    return CommandLine(tuple(flags), arguments, suffix)


def _value_name(action: argparse.Action) -> str:
    """Return the name of an action's value in the help; "" if it takes none."""
    if action.nargs == 0:
        return ""
    name = action.metavar or action.dest.upper()
    return name if isinstance(name, str) else " ".join(name)


def _choices(value: str) -> tuple[str, ...]:
    """Return the words that the name of a value lists: ``{a,b}`` or ``a|b``."""
    found = _CHOICES.fullmatch(value)
    if found is None:
        return ()
    return tuple(found[1].split(",") if found[1] else found[2].split("|"))


def _filled(shell: str, **words: str) -> list[str]:
    """Return the lines of the script of a shell, with words in place of its marks."""
    file = files("lineprof.cli").joinpath("shells", f"completion.{shell}")
    text = file.read_text(encoding="utf-8")
    for name, word in words.items():
        text = text.replace(f"@{name}@", word)
    return text.splitlines()


def _quoted(words: Iterable[str]) -> str:
    return " ".join(map(shlex.quote, words))


# bash.


def bash(lines: CommandLines) -> Iterator[str]:
    """Yield the script for bash, which shows no help of a flag."""
    yield from _filled(
        "bash",
        KERNPROF=shlex.quote(run.NAME),
        COMMANDS=_quoted(lines.commands),
        GENERAL=_quoted(name for flag in lines.general for name in flag.names),
        DEFAULT=_DEFAULT,
        FLAGS="\n".join(_bash_flags(lines.commands)),
        VALUES="\n".join(_bash_values(lines.commands)),
    )


def _bash_flags(commands: Mapping[str, CommandLine]) -> Iterator[str]:
    """Yield a case for each command, which sets its flags, words and files."""
    for name, line in commands.items():
        names = _quoted(word for flag in line.flags for word in flag.names)
        kind = "files" if line.suffix is not None else "none"
        yield f"    {shlex.quote(name)})"
        yield f"        flags=({names})"
        yield f"        words=({_quoted(line.words)})"
        yield f"        suffix={shlex.quote(line.suffix or '')}"
        yield f"        kind={'program' if line.runs_program else kind}"
        yield "        ;;"


def _bash_values(commands: Mapping[str, CommandLine]) -> Iterator[str]:
    """Yield a case for each flag of a command that takes a value."""
    for name, line in commands.items():
        for flag in line.flags:
            if flag.value:
                cases = "|".join(shlex.quote(f"{name} {one}") for one in flag.names)
                sets = [f"values=({_quoted(flag.words)})"] if flag.words else []
                if flag.separator:
                    sets.append(f"separator={shlex.quote(flag.separator)}")
                if flag.ends_flags:
                    sets.append("kind=program")
                yield " ".join([f"    {cases})", *sets, ";;"])


# zsh.


def zsh(lines: CommandLines) -> Iterator[str]:
    """Yield the script for zsh, to be sourced or put on fpath as _lineprof."""
    described = (
        f"{_no_colon(name)}:{lines.help.get(name, '')}" for name in lines.commands
    )
    functions = {
        _KERNPROF: lines.commands[run.NAME],
        **{f"lineprof_{name}": line for name, line in lines.commands.items()},
    }
    yield from _filled(
        "zsh",
        COMMANDS=_quoted(described),
        GENERAL=_quoted(spec for flag in lines.general for spec in _zsh_specs(flag)),
        NAMES="|".join(map(shlex.quote, lines.commands)),
        DEFAULT=_DEFAULT,
        FUNCTIONS="\n".join(
            text for one in functions.items() for text in _zsh_function(*one)
        ),
    )


def _zsh_function(name: str, line: CommandLine) -> Iterator[str]:
    yield ""
    yield f"{shlex.quote(f'_{name}')}() {{"
    specs = [spec for flag in line.flags for spec in _zsh_specs(flag)]
    if line.runs_program:
        specs += ["(-)1:program:_files", "*::argument:_files"]
    else:
        if line.words:
            specs.append(f"*:argument:({_in_action(line.words)})")
        if line.suffix is not None:
            pattern = f" -g {shlex.quote(f'*{line.suffix}')}" if line.suffix else ""
            specs.append(f"*:file:_files{pattern}")
    yield "    local -a specs=("
    yield from (f"        {shlex.quote(spec)}" for spec in specs)
    yield "    )"
    yield "    _arguments -s $specs"
    yield "}"


def _zsh_specs(flag: Completed) -> Iterator[str]:
    """Yield the specifications of a flag for _arguments, one a name."""
    start = "(-)" if flag.ends_flags else "*"  # offered again, for flags that repeat
    text = re.sub(r"([\\\[\]:])", r"\\\1", flag.help)
    action = ""
    if flag.separator:
        words = _in_action(flag.words)
        action = f"_values -s {shlex.quote(flag.separator)} value {words}"
    elif flag.words:
        action = f"({_in_action(flag.words)})"
    elif flag.takes_paths:
        action = "_files"
    for name in flag.names:
        value = f":{_no_colon(flag.value)}:{action or ' '}" if flag.value else ""
        equals = "=" if value and name.startswith("--") else ""
        yield f"{start}{name}{equals}[{text}]{value}"


def _in_action(words: Iterable[str]) -> str:
    """Return words as an action of _arguments evaluates them."""
    return " ".join(_no_colon(shlex.quote(word)) for word in words)


def _no_colon(text: str) -> str:
    """Return `text` with the character that ends a part of a specification escaped."""
    return text.replace(":", "\\:")


# fish.


def fish(lines: CommandLines) -> Iterator[str]:
    """Yield the script for fish."""
    names = " ".join(map(_fish_quoted, lines.commands))
    flags = "\n".join(_fish_completions(lines))
    yield from _filled("fish", COMMANDS=names, DEFAULT=_DEFAULT, FLAGS=flags)


def _fish_completions(lines: CommandLines) -> Iterator[str]:
    for flag in lines.general:
        yield _fish_flag("complete -c lineprof -n __lineprof_is_first", flag)
    for name in lines.commands:
        text = _fish_quoted(lines.help.get(name, ""))
        word = _fish_quoted(_fish_quoted(name))
        yield f"complete -c lineprof -n __lineprof_is_first -a {word} -d {text}"
    yield from _fish_lines("complete -c kernprof", lines.commands[run.NAME])
    for name, line in lines.commands.items():
        condition = _fish_quoted(f"__lineprof_uses {_fish_quoted(name)}")
        yield from _fish_lines(f"complete -c lineprof -n {condition}", line)


def _fish_lines(start: str, line: CommandLine) -> Iterator[str]:
    yield ""
    for flag in line.flags:
        yield _fish_flag(start, flag)
    if line.words:
        yield f"{start} -f -a {_fish_words(line.words)}"
    if line.suffix:
        paths = _fish_quoted(f"(__fish_complete_suffix {_fish_quoted(line.suffix)})")
        yield f"{start} -k -f -a {paths}"


def _fish_flag(start: str, flag: Completed) -> str:
    names = [
        f"-l {_fish_quoted(name[2:])}"
        if name.startswith("--")
        else f"-s {_fish_quoted(name[1:])}"
        for name in flag.names
    ]
    words = [start, *names]
    if flag.separator:
        several = f"(__fish_append {_fish_quoted(flag.separator)}"
        values = " ".join(map(_fish_quoted, flag.words))
        words.append(f"-x -a {_fish_quoted(f'{several} {values})')}")
    elif flag.words:
        words.append(f"-x -a {_fish_words(flag.words)}")
    elif flag.value:
        words.append("-r -F" if flag.takes_paths else "-x")
    return " ".join([*words, f"-d {_fish_quoted(flag.help)}"])


def _fish_words(words: Iterable[str]) -> str:
    """Return words for -a, which fish evaluates when it completes.

    A description, empty here, follows a tab; without one, each has that of the flag.
    """
    return _fish_quoted(" ".join(_fish_quoted(word) + "\\t" for word in words))


def _fish_quoted(text: str) -> str:
    """Return `text` as one word of fish."""
    if re.fullmatch(r"[\w.,=/-]+", text, re.ASCII):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# The command.


SHELLS: dict[str, Callable[[CommandLines], Iterator[str]]] = {
    "bash": bash,
    "zsh": zsh,
    "fish": fish,
}


def _add_flags(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=[*SHELLS], help="the shell to complete in")


_EPILOG = """\
bash: eval "$(lineprof completions bash)" in ~/.bashrc
zsh:  eval "$(lineprof completions zsh)" in ~/.zshrc, below compinit
fish: lineprof completions fish > ~/.config/fish/completions/lineprof.fish, and the
      same to kernprof.fish
"""


def _print_script(_: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    parser, parsers = parsers_of(COMMANDS)
    texts = {**COMMANDS, run.NAME: run.HELP}
    print_lines(SHELLS[parsed.shell](command_lines(parser, parsers, texts)))


COMMAND = Command(add_flags=_add_flags, run=_print_script)
