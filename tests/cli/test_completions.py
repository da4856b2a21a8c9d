"""Scripts of `lineprof completions`: what bash offers, and that no text gets out."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from as_python import error_line

from kernprof.options import FLAGS
from lineprof.cli.command import ArgumentType
from lineprof.cli.completions import (
    SHELLS,
    CommandLines,
    bash,
    command_lines,
    fish,
    zsh,
)
from lineprof.cli.main import COMMANDS as HELP_OF
from lineprof.cli.main import main, parsers_of
from lineprof.export import EXPORTS
from lineprof.report import VIEWS
from lineprof.report.line_table import EXTRA_COLUMNS
from lineprof.report.options import ALL_ORDERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTILE = (
    "'\"`touch broken`$(touch broken)\\'; touch broken; (touch broken) [x]: {a,b} $x"
)
BASH = shutil.which("bash") or "/bin/bash"
COMMANDS = {*HELP_OF, "run"}


def offered(script: str, folder: Path, *words: str) -> set[str]:
    """Return what bash offers in place of the last of `words`.

    Words are cut as readline does, which takes = for a word.
    """
    cut = [part for word in words for part in _cut(word)]
    program = f"""
        set -u
        {script}
        COMP_WORDS=({shlex.join(cut)})
        COMP_CWORD={len(cut) - 1}
        $(complete -p {words[0]} | sed 's/.*-F //; s/ .*//')
        printf '%s\\n' ${{COMPREPLY[@]+"${{COMPREPLY[@]}}"}}
    """
    done = subprocess.run(
        [BASH, "--norc", "--noprofile"],
        input=program,
        cwd=folder,
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stderr == ""
    return set(done.stdout.splitlines()) - {""}


def _cut(word: str) -> Iterator[str]:
    flag, equals, value = word.partition("=")
    yield flag
    if equals:
        yield from ("=", value) if value else ("=",)


@pytest.fixture(scope="module")
def script() -> str:
    """Return the script for bash."""
    return "\n".join(bash(command_lines(*parsers_of(HELP_OF), {})))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a profile, a script, another file and a folder."""
    for name in ("train.lprof", "train.py", "notes.txt"):
        (tmp_path / name).touch()
    (tmp_path / "runs").mkdir()
    return tmp_path


def test_the_first_word_is_a_command_or_a_profile(script: str, folder: Path) -> None:
    assert offered(script, folder, "lineprof", "") == {*COMMANDS, "train.lprof", "runs"}
    assert offered(script, folder, "lineprof", "mer") == {"merge"}
    assert offered(script, folder, "lineprof", "tr") == {"train.lprof"}


def test_every_view_and_option_of_view_is_offered(script: str, folder: Path) -> None:
    found = offered(script, folder, "lineprof", "view", "--")
    options = [option for view in VIEWS.values() for option in view.options]
    flags = {flag for option in options for flag in option.names}
    views = {f"--{name}" for name in VIEWS if name != "text"}
    assert {flag for flag in flags if flag.startswith("--")} | views < found
    assert offered(script, folder, "lineprof", "--h") == {"--help", "--hot", "--html"}


@pytest.mark.parametrize("command", ["kernprof", "lineprof run"])
def test_every_flag_of_kernprof_is_offered(
    script: str, folder: Path, command: str
) -> None:
    found = offered(script, folder, *command.split(), "-")
    known = {name for flag in FLAGS for name in (flag.short, flag.long) if name}
    assert known | {"-m", "-c"} < found
    assert {name[:5] for name in found - known - {"-m", "-c"}} == {"--no-"}


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("lineprof view --columns ", set(EXTRA_COLUMNS)),
        ("lineprof view --columns=", set(EXTRA_COLUMNS)),
        ("lineprof view --columns cpu,w", {"cpu,wait"}),
        ("lineprof view --columns=cpu,w", {"cpu,wait"}),
        ("lineprof --columns cpu,w", {"cpu,wait"}),
        ("lineprof view x.lprof --sort-by ", set(ALL_ORDERS)),
        ("lineprof view --by r", {"rank"}),
        ("lineprof export -f ", set(EXPORTS)),
        ("lineprof export --format=sp", {"speedscope"}),
        ("lineprof completions ", set(SHELLS)),
        (
            "kernprof --core ",
            {
                *("auto", "settrace", "monitoring"),
                *("monitoring-line", "monitoring-instruction"),
            },
        ),
        ("kernprof -l --gpu=n", {"nvtx"}),
        ("kernprof --cuda-graph ", {"node", "graph"}),
        ("kernprof --uvm ", {"on", "off"}),
        ("lineprof run --nvtx f", {"func"}),
    ],
)
def test_known_values_are_offered(
    script: str, folder: Path, line: str, values: set[str]
) -> None:
    words = line.split(" ")
    assert offered(script, folder, *words) == values


@pytest.mark.parametrize("command", ["view", "diff", "merge", "export -f csv"])
def test_files_are_profiles(script: str, folder: Path, command: str) -> None:
    found = offered(script, folder, "lineprof", *command.split(), "")
    assert found == {"train.lprof", "runs"}


@pytest.mark.parametrize(
    "line", ["kernprof -l ", "kernprof -lo out ", "kernprof --gpu-api=yes -v "]
)
def test_kernprof_is_offered_scripts(script: str, folder: Path, line: str) -> None:
    assert offered(script, folder, *line.split(" ")) == {"train.py", "runs"}


@pytest.mark.parametrize(
    "line",
    [
        "kernprof -l train.py --",
        "kernprof -l train.py ",
        "kernprof -lm package -",
        "kernprof -c pass -",
        "lineprof run --children -- make -",
    ],
)
def test_arguments_of_a_program_are_left_to_the_shell(
    script: str, folder: Path, line: str
) -> None:
    assert offered(script, folder, *line.split(" ")) == set()


def test_file_names_are_offered_as_they_are(script: str, folder: Path) -> None:
    name = "a $(touch broken) 'b'.lprof"
    (folder / name).touch()
    assert offered(script, folder, "lineprof", "view", "a") == {name}
    assert not (folder / "broken").exists()


def hostile() -> CommandLines:
    """Return command lines with texts that try to be commands of a shell."""
    parser = argparse.ArgumentParser(prog="lineprof")
    one = argparse.ArgumentParser(prog="lineprof view", add_help=False)
    kind = ArgumentType(str, (HOSTILE, f"{HOSTILE}2"), ",")
    one.add_argument("--flag", type=kind, metavar=HOSTILE, help=HOSTILE)
    one.add_argument("--other", choices=[HOSTILE], metavar="X", help="line\nbreak")
    one.add_argument("name", choices=[HOSTILE])
    return command_lines(parser, {"view": one}, {"view": HOSTILE})


def test_texts_stay_texts_in_bash(tmp_path: Path) -> None:
    script = "\n".join(bash(hostile()))
    for line in ("view", "view --flag", "view --other"):
        found = offered(script, tmp_path, "lineprof", *line.split(), "")
        assert HOSTILE in found
    assert not (tmp_path / "broken").exists()


def test_texts_stay_texts_in_zsh() -> None:
    script = "\n".join(zsh(hostile()))
    words = shlex.split(script, comments=True)  # zsh quotes as POSIX shells do
    escaped = HOSTILE.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    escaped = escaped.replace(":", "\\:")
    [flag] = [word for word in words if word.startswith("*--flag=")]
    name = HOSTILE.replace(":", "\\:")
    start = f"*--flag=[{escaped}]:{name}:_values -s , value "
    assert flag.startswith(start)
    # The action is evaluated once more.
    evaluated = flag[len(start) :].replace("\\:", ":")
    assert shlex.split(evaluated) == [HOSTILE, f"{HOSTILE}2"]
    assert f"commands=(view:{HOSTILE}" in words
    if shell := shutil.which("zsh"):
        subprocess.run([shell, "-fn"], input=script, check=True, text=True)


def words_of_fish(line: str) -> list[str]:
    r"""Return the words of a line of fish, where \' stands in single quotes, too."""
    words, word, quoted, rest = [], "", False, iter(line)
    for char in rest:
        if char == "\\":
            after = next(rest)
            word += after if not quoted or after in "\\'" else char + after
        elif char == "'":
            quoted = not quoted
        elif char == " " and not quoted:
            words.append(word)
            word = ""
        else:
            assert quoted or char not in '()$;"`[]{}', f"{char} is not quoted"
            word += char
    assert not quoted
    return [*words, word]


def test_texts_stay_texts_in_fish() -> None:
    script = [line for line in fish(hostile()) if line.startswith("complete ")]
    [flag] = [words_of_fish(line) for line in script if " -l flag" in line]
    assert flag[-2:] == ["-d", HOSTILE]
    several = flag[flag.index("-a") + 1]
    assert several.startswith("(__fish_append , ")
    # The value of -a is evaluated once more.
    assert words_of_fish(several[1:-1])[2:] == [HOSTILE, f"{HOSTILE}2"]
    [other] = [words_of_fish(line) for line in script if " -l other" in line]
    assert words_of_fish(other[other.index("-a") + 1]) == [f"{HOSTILE}t"]  # \t
    assert other[-1] == "line\\nbreak"
    if shell := shutil.which("fish"):
        text = "\n".join(script)
        subprocess.run([shell, "--no-config", "-n"], input=text, check=True, text=True)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_has_every_command_and_only_characters_that_print(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completions", shell]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert all(line.isprintable() for line in captured.out.splitlines())
    for command in COMMANDS:
        assert command in captured.out


def test_an_unknown_shell_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    line = error_line(capsys, 2, "completions", "csh")
    assert "csh" in line
    assert "fish" in line
