"""Words that a newcomer types: an error names the command that shows what is meant."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from as_python import error_line, run, write
from example_stats import example
from test_run_command import lineprof_run

from lineprof.cli import words
from lineprof.cli.main import main, parsers_of
from lineprof.export import EXPORTS
from lineprof.storage import save


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["hot"], "for the view of this name: lineprof view --hot FILE"),
        (["view", "tree"], "lineprof view --tree FILE"),
        (["html"], "lineprof view --html FILE"),
        (["json"], "lineprof view --json FILE"),
        (["functions"], "lineprof view --functions FILE"),
        (["gpu-idle"], "lineprof view --gpu-idle FILE"),
        (["markdown"], "lineprof view --markdown FILE"),
        (["view", "md"], "lineprof view --markdown FILE"),
        (["flamegraph"], "lineprof export -f svg FILE draws a flame graph"),
        (["report"], "lineprof view FILE shows the profile"),
        (["text"], "lineprof view FILE shows the profile"),
        (["frobnicate"], "lineprof view --functions lists all"),
    ],
)
def test_a_word_that_is_no_function_names_its_command(
    file: str, capsys: pytest.CaptureFixture[str], words: list[str], hint: str
) -> None:
    line = error_line(capsys, 1, *words, file)
    assert f"the profile has no function {words[-1]!r}; " in line
    assert hint in line


def test_a_function_of_such_a_name_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "x.py", "@profile\ndef hot():\n    return 1\nhot()\n")
    assert lineprof_run("-lq", "x.py", cwd=tmp_path).status == 0
    assert main(["hot", str(tmp_path / "x.lprof")]) == 0
    assert "Function: hot at line 1" in capsys.readouterr().out


def test_a_word_near_a_function_names_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "x.py", "@profile\ndef flames():\n    return 1\nflames()\n")
    assert lineprof_run("-lq", "x.py", cwd=tmp_path).status == 0
    line = error_line(capsys, 1, "flame", str(tmp_path / "x.lprof"))
    assert "did you mean x.py::flames? lineprof export -f svg FILE draws" in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--top", "5"], "--top is no flag; --hot N shows the hottest lines;"),
        (["--to=5"], "--to is no flag; --hot N shows the hottest lines;"),
        (["--graph"], "--graph is no flag; --tree shows the calls;"),
    ],
)
def test_the_first_word_of_a_flag_that_means_something_else_is_refused(
    file: str, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    line = error_line(capsys, 2, "view", *words, file)
    assert message in line
    assert "is another flag, to be named in full" in line


@pytest.mark.parametrize("flag", ["--top-k=2", "--skip", "--su", "--function"])
def test_other_abbreviations_work(
    file: str, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    assert main(["view", flag, file]) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("order", "ours"), [("own", "self"), ("cumtime", "cumulative"), ("ncalls", "calls")]
)
def test_an_order_of_another_profiler_is_refused_with_ours(
    file: str, capsys: pytest.CaptureFixture[str], order: str, ours: str
) -> None:
    line = error_line(capsys, 2, "view", "--sort", order, file)
    assert f"there is no order {order!r}; try --functions --sort {ours};" in line
    assert main(["view", "--functions", "--sort", ours, file]) == 0


def test_a_file_may_have_the_name_of_an_order(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(file).rename("own")
    assert main(["view", "--sort", "own"]) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_takes_its_format_from_the_name_of_its_file(
    file: str, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    suffix = EXPORTS[name].suffix
    assert main(["export", file, "-o", f"named{suffix}"]) == 0
    assert main(["export", file, "-f", name, "-o", "chosen"]) == 0
    capsys.readouterr()
    if name != "sqlite":  # whose pages have counters of changes
        assert Path(f"named{suffix}").read_bytes() == Path("chosen").read_bytes()


def test_an_export_without_a_format_lists_the_formats(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    formats = ", ".join(EXPORTS)
    line = error_line(capsys, 2, "export", file)
    assert f"no format is named; give -f with one of {formats};" in line
    line = error_line(capsys, 2, "export", file, "-o", "y.nope")
    assert f"no format has files called y.nope; give -f with one of {formats};" in line
    line = error_line(capsys, 2, "export", file, "-o", "y.html")
    assert "lineprof view --html FILE writes one" in line
    assert main(["export", file, "-o", "y.folded"]) == 0


def test_run_without_l_says_what_it_did(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "print(1)\n")
    outcome = lineprof_run("x.py", cwd=tmp_path)
    assert outcome.status == 0
    assert outcome.err == (
        "lineprof run: functions alone were timed; to time lines, give -l before the"
        " program: lineprof run -l x.py\n"
    )
    assert lineprof_run("-q", "x.py", cwd=tmp_path).err == ""


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("vew", "did you mean lineprof view?"),
        ("serv", "did you mean lineprof serve?"),
        ("exprot", "did you mean lineprof export?"),
        ("completion bash", "did you mean lineprof completions?"),
        ("hott", "did you mean lineprof view --hot?"),
        ("compare a b", "lineprof diff BEFORE AFTER compares profiles"),
        ("profile x.py", "kernprof -l script.py profiles a program"),
        ("record -o x.svg --pid 12", "kernprof -l script.py profiles a program"),
        ("report -i", "lineprof view FILE shows the profile"),
        ("list", "lineprof serve FOLDER lists the profiles of a folder"),
        ("hot", "for the view of this name: lineprof view --hot FILE"),
        ("live x.py", "lineprof top PID shows a program that runs"),
        ("version", "lineprof --version prints the version"),
    ],
)
def test_a_word_that_is_no_command_names_the_command_that_is_meant(
    here: Path, capsys: pytest.CaptureFixture[str], typed: str, hint: str
) -> None:
    write(here, "x.py", "")
    word = typed.split(maxsplit=1)[0]
    line = error_line(capsys, 2, *typed.split())
    assert f"there is no command {word!r}; {hint}" in line


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("vew", "did you mean lineprof view?"),
        ("exprot", "did you mean lineprof export?"),
        ("compare", "lineprof diff BEFORE AFTER compares profiles"),
        ("analyze", "lineprof view --advice FILE names what can be faster"),
    ],
)
def test_such_a_word_before_a_profile_is_no_function_either(
    file: str, capsys: pytest.CaptureFixture[str], word: str, hint: str
) -> None:
    line = error_line(capsys, 1, word, file)
    said = f"there is no command {word!r}, and the profile has no function {word!r}; "
    assert line == f"lineprof: {said}{hint}\n"


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("help", "usage: lineprof [-h] [-V] COMMAND"),
        ("help merge", "usage: lineprof merge [-h]"),
        ("help run", "usage: lineprof run [flags]"),
    ],
)
def test_help_is_a_command(tmp_path: Path, typed: str, first: str) -> None:
    outcome = run(["-m", "lineprof", *typed.split()], cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(first)


def test_files_go_before_words(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("help", "vew", "compare"):
        Path(file).rename(name)
        assert main([name]) == 0
        Path(name).rename(file)
        capsys.readouterr()
    Path(file).rename("hot.lprof")
    assert main(["hot"]) == 0
    assert capsys.readouterr().err == "lineprof: there is no hot; reading hot.lprof\n"


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("view --htlm FILE", "did you mean --html?"),
        ("--htlm FILE", "did you mean --html?"),
        ("merge --ouput OUT FILE", "did you mean --output?"),
        ("serve --prot 1 FILE", "did you mean --port?"),
        ("recover --lst", "did you mean --list?"),
        ("top --sotr=all 1", "did you mean --sort?"),
        ("view --svg FILE", "lineprof export -f svg FILE draws a flame graph"),
        ("view --flame FILE", "lineprof export -f svg FILE draws a flame graph"),
        ("export --svg FILE", "lineprof export -f svg FILE draws a flame graph"),
        ("export --html FILE", "lineprof view --html FILE"),
        ("diff --hot FILE FILE", "lineprof view --hot FILE"),
        ("view --threads FILE", "the timeline of kernprof -l --trace has each thread"),
        ("view --wait FILE", "lineprof view --columns wait FILE adds it"),
        ("view --cpu FILE", "lineprof view --columns cpu FILE adds it"),
        ("view --tottime FILE", "lineprof view --functions --sort self FILE"),
        ("view -s calls FILE", "lineprof view --sort ORDER FILE"),
        ("view -n 10 FILE", "lineprof view --hot N FILE"),
        ("view --output x FILE", "-o names the file to write"),
        ("view --baseline FILE", "--baseline is a flag of lineprof check"),
        ("view --trace-lines FILE", "--trace-lines is a flag of kernprof"),
        ("view -l FILE", "-l is a flag of kernprof"),
        ("dump --pid 12", "give the PID without a flag"),
        ("attach -p 12", "give the PID without a flag"),
        ("-v", "lineprof --version prints the version"),
        ("view --frobnicate FILE", "see lineprof view --help"),
    ],
)
def test_a_flag_that_a_command_does_not_have_names_what_is_meant(
    file: str, capsys: pytest.CaptureFixture[str], typed: str, hint: str
) -> None:
    line = error_line(capsys, 2, *typed.replace("FILE", file).split())
    assert "unrecognized arguments: -" in line
    assert hint in line
    assert " --help\n" in line


def test_flags_alone_are_those_of_no_command(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = error_line(capsys, 2, "-v")
    said = "unrecognized arguments: -v; lineprof --version prints the version"
    assert line == f"lineprof: {said}; see lineprof --help\n"
    assert list(here.iterdir()) == []


def test_commands_that_are_suggested_exist() -> None:
    for text in {*words._WORDS.values(), *words._FLAGS.values()}:
        for command, rest in re.findall(r"lineprof (\w+)((?: \S+)*)", text):
            flags = [word for word in rest.split() if word.startswith("-")]
            assert parsers_of([command])[1][command].unknown_flags(flags) == []


def test_a_page_has_the_name_of_one(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = error_line(capsys, 1, "view", "--html", "out", file)
    assert line == "lineprof: out is no page; --html out.html names one\n"


@pytest.mark.parametrize("flag", ["--callers", "--drill"])
def test_a_flag_without_its_name_says_that_a_name_is_missing(
    file: str, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    line = error_line(capsys, 2, "view", flag, file)
    assert f"{flag} needs the name of a function; lineprof view {flag} NAME {file}" in (
        line
    )


def test_a_view_without_a_file_names_the_newest_profile(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("old.lprof").touch()
    os.utime("old.lprof", (1, 1))
    for words_ in (["view"], ["view", "--hot"], ["--tree"]):
        line = error_line(capsys, 2, *words_)
        assert f"are required: FILE; the newest here is {file}; see" in line


def test_an_unknown_word_after_sort_is_no_order(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words_ in (["--sort", "bogus", file], ["view", "-t", "bogus", file]):
        line = error_line(capsys, 1, *words_)
        assert "there is no order 'bogus'; known are: gpu, time, hits" in line


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("x.py", "x.py is no profile; make one: kernprof -l x.py"),
        ("view x.py", "x.py is no profile; make one: kernprof -l x.py"),
        ("-l x.py", "x.py is no profile; kernprof -l x.py makes one"),
        ("-s cumtime x.py", "x.py is no profile; kernprof -l x.py makes one"),
        ("python x.py", "x.py is no profile; make one: kernprof -l x.py"),
        ("serve x.py", "x.py is not a profile; give a file that kernprof -l wrote"),
        ("top x.lprof", "x.lprof is no process; give the PID of a program"),
        ("top x.py", "x.py is no process; give the PID of a program that runs"),
        ("view -u ms x.lprof", "bad unit 'ms'; give seconds above 0: -u 0.001"),
    ],
)
def test_a_script_is_no_profile(
    here: Path, capsys: pytest.CaptureFixture[str], typed: str, hint: str
) -> None:
    write(here, "x.py", "x = 1\n")
    assert main(typed.split()) != 0
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("FILE y.svg", "y.svg does not exist; to write it: -o y.svg"),
        ("FILE svg", "svg is no profile; for this format: -f svg"),
        ("-f html FILE", "lineprof view --html FILE writes one"),
    ],
)
def test_an_export_names_the_flag_that_is_left_out(
    file: str, capsys: pytest.CaptureFixture[str], typed: str, hint: str
) -> None:
    line = error_line(capsys, 2, "export", *typed.replace("FILE", file).split())
    assert hint in line


def test_sums_of_several_profiles_say_so(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save(example(), "other.lprof")
    said = "sums of 2 profiles; lineprof diff BEFORE AFTER compares two\n"
    assert main([file, "other.lprof"]) == 0
    assert capsys.readouterr().err.endswith(said)
    assert main(["export", "-f", "csv", file, "other.lprof"]) == 0
    assert "wrote train.csv: the sum of 2 profiles\n" in capsys.readouterr().err
