"""kernprof's command line: every form of every flag, and where flags end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import Outcome, kernprof_forked, kernprof_here, write

from kernprof.options import FLAGS, check, fill, help_text, parse
from kernprof.run_options import RunOptions, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def changed_options(options: RunOptions) -> dict[str, object]:
    """Return the options that differ from their defaults."""
    usual = RunOptions()
    left_out = {"given", "kind", "target", "arguments"}
    return {
        name: value
        for name, value in vars(options).items()
        if name not in left_out and value != getattr(usual, name)
    }


def parsed(line: str) -> dict[str, object]:
    """Return the options that a command line sets; the program is x.py -a."""
    options = parse([*line.split(" "), "x.py", "-a"])
    assert (options.kind, options.target, options.arguments) == (
        "script",
        "x.py",
        ["-a"],
    )
    return changed_options(options)


@pytest.mark.parametrize(
    ("line", "truth"),
    [
        ("-l", {"line_by_line": True}),
        ("--line-by-line", {"line_by_line": True}),
        ("-b", {"builtin": True}),
        ("--builtin", {"builtin": True}),
        ("-r", {"rich": True}),
        ("--rich", {"rich": True}),
        ("-z", {"skip_zero": True}),
        ("--skip-zero", {"skip_zero": True}),
        ("--summarize", {"summarize": True}),
        ("--prof-imports", {"prof_imports": True}),
        ("--no-preimports", {"preimports": False}),
        ("-s warm.py", {"setup": "warm.py"}),
        ("-swarm.py", {"setup": "warm.py"}),
        ("-s=warm.py", {"setup": "warm.py"}),
        ("--setup warm.py", {"setup": "warm.py"}),
        ("--setup=warm.py", {"setup": "warm.py"}),
        ("-o out", {"outfile": "out"}),
        ("-oout", {"outfile": "out"}),
        ("--outfile=a=b", {"outfile": "a=b"}),
        ("-u 1e-3", {"unit": 1e-3}),
        ("-u1", {"unit": 1.0}),
        ("--unit=.5", {"unit": 0.5}),
        ("-v", {"verbose": 1}),
        ("--view", {"verbose": 1}),
        ("--verbose", {"verbose": 1}),
        ("-vv --view", {"verbose": 3}),
        ("-q", {"quiet": 1}),
        ("--quiet -qq", {"quiet": 3}),
        ("-vqv", {"verbose": 2, "quiet": 1}),
        ("-i", {"output_interval": 1}),
        ("-i 5", {"output_interval": 5}),
        ("-i5", {"output_interval": 5}),
        ("-i=5", {"output_interval": 5}),
        ("-li5", {"line_by_line": True, "output_interval": 5}),
        ("-i -3", {"output_interval": 1}),
        ("-i 5 -i 0", {}),
        ("-i -l", {"line_by_line": True, "output_interval": 1}),
        ("--output-interval", {"output_interval": 1}),
        ("--output-interval 7", {"output_interval": 7}),
        ("--output-interval=7", {"output_interval": 7}),
        ("--config c.toml", {"config": "c.toml"}),
        ("--config=c.toml", {"config": "c.toml"}),
        ("--no-config", {"no_config": True}),
        ("--config c.toml --no-config", {"no_config": True}),
        ("--no-config --config c.toml", {"config": "c.toml"}),
        ("--core settrace", {"core": "settrace"}),
        ("--gpu=off", {"gpu": "off"}),
        ("--nvtx line", {"nvtx": "line"}),
        ("--gpu-api", {"gpu_api": True}),
        ("--gpu-api=no", {"gpu_api": False}),
        ("--no-gpu-memory", {"gpu_memory": False}),
        ("--gpu-memory", {"gpu_memory": True}),
        ("--gpu-memory torch", {"gpu_memory": "torch"}),
        ("--gpu-memory=torch --gpu-memory=no", {"gpu_memory": False}),
        ("--gpu-events 9", {"gpu_events": 9}),
        ("--cuda-graph=node", {"cuda_graph": "node"}),
        ("--gpu-clock hardware", {"gpu_clock": "hardware"}),
        ("--uvm off", {"uvm": False}),
        ("--memory", {"memory": True}),
        ("--no-memory", {"memory": False}),
        ("--memory-sample 512KB", {"memory_sample": 512_000}),
        ("--memory-sample=64", {"memory_sample": 64}),
        ("--memory-sample=2MiB", {"memory_sample": 2 << 20}),
        ("--profile-from-start off", {"from_start": False}),
    ],
)
def test_a_flag_in_each_of_its_forms(line: str, truth: dict[str, object]) -> None:
    assert parsed(line) == truth


@pytest.mark.parametrize("word", ["1", "on", "ON", "t", "True", "y", "Y", "yes", "yEs"])
def test_words_for_yes(word: str) -> None:
    assert parsed(f"--rich={word}") == {"rich": True}
    assert parsed(f"--rich {word}") == {"rich": True}
    assert parsed(f"--no-preimports={word}") == {"preimports": False}


@pytest.mark.parametrize("word", ["", "0", "off", "OFF", "f", "False", "n", "N", "nO"])
def test_words_for_no(word: str) -> None:
    assert parsed(f"-r --rich={word}") == {}
    assert parsed(f"-r --rich {word}") == {}
    assert parsed(f"-r --no-rich {word}") == {"rich": True}
    assert parsed(f"--preimports={word}") == {"preimports": False}


@pytest.mark.parametrize("flag", [f.long for f in FLAGS if f.kind == "boolean"])
def test_a_long_flag_may_stand_before_the_program(flag: str) -> None:
    name = flag[2:].replace("-", "_")
    for line, value in ((flag, True), (f"--no-{flag[2:]}", False)):
        assert getattr(parse([line, "x.py", "yes"]), name) is value
        assert parse([line, "x.py", "yes"]).arguments == ["yes"]


def test_the_last_argument_is_the_program() -> None:
    for words in (["--rich", "no"], ["-i", "5"], ["--view", "y"], ["-l", "--", "0"]):
        options = parse(words)
        assert (options.kind, options.target, options.arguments) == (
            "script",
            words[-1],
            [],
        )
    assert parse(["--rich", "no", "x.py"]).target == "x.py"
    assert parse(["-i", "5", "x.py"]).target == "x.py"


@pytest.mark.parametrize("flag", ["-i", "-li", "--output-interval"])
@pytest.mark.parametrize("word", ["0.5", "1.", ".5", "1e3", "-0.5", "+2.5"])
def test_an_interval_that_is_not_whole_is_not_taken_for_the_script(
    tmp_path: Path, flag: str, word: str
) -> None:
    write(tmp_path, "x.py", "print('ran')\n")
    outcome = kernprof_here("-l", flag, word, "x.py", cwd=tmp_path)
    error = f"kernprof: bad interval {word!r}; give whole seconds, as in -i 10\n"
    assert outcome == Outcome(2, "", error)


def test_a_script_may_be_called_like_a_number(tmp_path: Path) -> None:
    write(tmp_path, "0.5", "import sys; print(sys.argv)\n")
    for words in (["-i", "0.5", "x.py"], ["-i", "1", "0.5", "x.py"]):
        outcome = kernprof_forked("-lq", *words, cwd=tmp_path)
        assert outcome == Outcome(0, "['0.5', 'x.py']\n", "")
    for words in (["-i", "nan", "x.py"], ["-i", "0.7"]):  # the last word is a script
        outcome = kernprof_here("-lq", *words, cwd=tmp_path)
        assert outcome.status == 2
        assert outcome.err.startswith(f"kernprof: cannot find script {words[1]!r}; ")


def test_short_flags_can_be_combined() -> None:
    assert parsed("-lvz") == {"line_by_line": True, "verbose": 1, "skip_zero": True}
    assert parsed("-bro out") == {"builtin": True, "rich": True, "outfile": "out"}
    assert parsed("-lzpa.py,b") == {
        "line_by_line": True,
        "skip_zero": True,
        "prof_mod": ("a.py", "b"),
    }


@pytest.mark.parametrize(
    ("words", "truth"),
    [
        (["-p", "a"], ("a",)),
        (["-pa", "--prof-mod", "b", "--prof-mod=c"], ("a", "b", "c")),
        (["-p", "a,b.c", "-p", "d.py,a"], ("a", "b.c", "d.py")),
        (["-p", "a,,b,"], ("a", "b")),
        (["-p", "a", "-p", ""], ()),
        (["-p", "a", "-p=", "-p", "b"], ("b",)),
        (["-p", "a", "--prof-mod=", "-p", "b"], ("b",)),
        (["-p", "with,comma.py"], ("with,comma.py",)),
        (["-p", "with,other.py"], ("with", "other.py")),
    ],
)
def test_targets_of_p_are_split_at_commas_and_cleared_by_an_empty_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    truth: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "with,comma.py").write_text("")
    assert parse([*words, "x.py"]).prof_mod == truth


@pytest.mark.parametrize(
    ("words", "kind", "target", "arguments"),
    [
        (["x.py"], "script", "x.py", []),
        (["x.py", "-l", "-m", "y"], "script", "x.py", ["-l", "-m", "y"]),
        (["x.py", "--", "-m", "y", "--"], "script", "x.py", ["--", "-m", "y", "--"]),
        (["x.py", "a", "--", "b"], "script", "x.py", ["a", "--", "b"]),
        (["--", "x.py", "--", "b"], "script", "x.py", ["--", "b"]),
        (["--", "-m", "y"], "script", "-m", ["y"]),
        (["-m", "mod"], "module", "mod", []),
        (["-m", "mod", "-p", "a", "--"], "module", "mod", ["-p", "a", "--"]),
        (["-mmod", "--help"], "module", "mod", ["--help"]),
        (["-lm", "mod", "-h"], "module", "mod", ["-h"]),
        (["-c", "code()", "-c", "x"], "command", "code()", ["-c", "x"]),
        (["-c=1"], "command", "=1", []),
        (["-"], "stdin", "-", []),
        (["-", "-l", "--"], "stdin", "-", ["-l", "--"]),
    ],
)
def test_flags_end_where_the_program_begins(
    words: list[str], kind: str, target: str, arguments: list[str]
) -> None:
    options = parse(["-q", *words])
    assert (options.kind, options.target, options.arguments) == (
        kind,
        target,
        arguments,
    )
    assert changed_options(options).keys() <= {"quiet", "line_by_line", "misplaced"}


@pytest.mark.parametrize(
    ("line", "truth"),
    [
        ("--line", {"line_by_line": True}),
        ("--ric=n", {}),
        ("--no-ric=n", {"rich": True}),
        ("--sk", {"skip_zero": True}),
        ("--prof-m=a", {"prof_mod": ("a",)}),
        ("--prof-i", {"prof_imports": True}),
        ("--pre=0", {"preimports": False}),
        ("--no-pre=1", {"preimports": False}),
        ("--outf o", {"outfile": "o"}),
        ("--output", {"output_interval": 1}),
        ("--verb", {"verbose": 1}),
        ("--vi", {"verbose": 1}),
        # Flags of line_profiler win over --core, --uvm and --no-gpu-api.
        ("--c a.toml", {"config": "a.toml"}),
        ("--u 1", {"unit": 1.0}),
        ("--no-c", {"no_config": True}),
    ],
)
def test_a_flag_may_be_abbreviated(line: str, truth: dict[str, object]) -> None:
    assert parsed(line) == truth


def test_abbreviations_of_line_profilers_flags_are_kept() -> None:
    """A prefix unique among line_profiler's flags means that flag, not one of ours."""
    with_value = ("config", "setup", "prof-mod", "outfile", "unit")
    without = ("output-interval", "no-config", "verbose", "view", "quiet", "version")
    values = {name: ["1"] for name in with_value}
    values.update({name: [] for name in (*without, "help")})
    booleans = ("line-by-line", "builtin", "preimports", "prof-imports", "rich")
    for name in (*booleans, "skip-zero", "summarize"):
        values[name] = values[f"no-{name}"] = []
    unique = 0
    for name, value in values.items():
        attribute = parse([f"--{name}", *value, "x.py"]).given
        for end in range(1, len(name)):
            if sum(other.startswith(name[:end]) for other in values) == 1:
                words = [f"--{name[:end]}", *value, "x.py"]
                assert parse(words).given == attribute, words
                unique += 1
    assert unique > 100


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--rich=maybe", "--rich takes yes or no, not 'maybe'"),
        ("--no-rich=maybe", "--no-rich takes yes or no, not 'maybe'"),
        ("-r=yes", "-r takes no value; write --rich=yes"),
        ("-v=1", "-v takes no value; leave out '=1'"),
        ("--view=1", "--view takes no value; leave out '=1'"),
        ("--no-config=1", "--no-config takes no value; leave out '=1'"),
        ("--no-view", "unknown flag --no-view; kernprof --help lists all flags"),
        ("--prof a", "--prof could be --prof-mod or --prof-imports; write it in full"),
        ("--out a", "--out could be --outfile or --output-interval; write it in full"),
        ("-i=x", "bad interval 'x'; give whole seconds, as in -i 10"),
        ("-ix", "bad interval 'x'; give whole seconds, as in -i 10"),
        ("--output-interval=1.5", "bad interval '1.5'; give whole seconds"),
        ("-i=²", "bad interval '²'; give whole seconds"),
        ("-u=0", "bad unit '0'; give seconds above 0, as in -u 1e-3"),
        ("--gpu=maybe", "--gpu: bad value 'maybe'; give auto or nvtx or off"),
        ("--gpu-events=-1", "bad number '-1'; give a whole number from 0 on"),
        ("-k", "unknown flag -k; kernprof --help lists all flags"),
    ],
)
def test_an_invalid_flag_is_an_error_of_one_line(line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse([*line.split(" "), "x.py"])
    assert str(caught.value).startswith(message)
    assert caught.value.status == 2


def test_flags_without_a_value_that_need_one() -> None:
    for words in (["-o"], ["--outfile"], ["-p"], ["-m"], ["-lc"], ["-u"], ["--setup"]):
        with pytest.raises(UsageError, match="needs a value; usage: kernprof"):
            parse(words)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--trace", "--trace needs -l"),
        ("--max-overhead 1.2", "--max-overhead needs -l"),
        ("-b --no-whole", "--no-whole needs -l"),
        ("--include f --exclude=g --all", "--include, --exclude, --all need -l"),
        ("--trace-lines 5 --split", "--split, --trace-lines need -l"),
        ("--builtins --whole", "--whole, --builtins need -l"),
        ("--core settrace", "--core needs -l"),
        ("--profile-from-start off", "--profile-from-start needs -l"),
        ("-l --whole --no-whole", "--whole and --no-whole contradict each other"),
        ("-l --no-whole --whole", "--whole and --no-whole contradict each other"),
        ("-l --all --no-whole", "--all cannot be used with --no-whole; leave one"),
        (
            "-l --include f --exclude g --no-whole",
            "--include, --exclude cannot be used with --no-whole",
        ),
        ("-l -p m --all", "--all cannot be used with -p; add --whole, or leave"),
    ],
)
def test_flags_without_effect_are_refused_before_the_program_runs(
    tmp_path: Path, flags: str, message: str
) -> None:
    write(tmp_path, "x.py", "print('ran')")
    outcome = kernprof_forked(*flags.split(" "), "x.py", cwd=tmp_path)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"kernprof: {message}")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    "line",
    [
        "-l --trace --no-trace --trace-memory 5 --trace",
        "-l --no-whole --whole=no --no-all --include=",
        "-l -p m --whole --all",
        "-l -p m --no-all",
        "-l --no-whole --max-overhead 1.2 --builtins",
        # Flags of line_profiler are accepted even if they have no effect.
        "-b --prof-imports -p m --no-preimports --skip-zero -u 1 -s warm.py",
        "-lb --no-rich --rich",
    ],
)
def test_flags_that_may_be_combined(line: str) -> None:
    check(parse([*line.split(" "), "x.py"]))


def test_a_configuration_file_may_set_options_without_effect(
    tmp_path: Path,
) -> None:
    write(tmp_path, "x.py", "print('ran')")
    file = tmp_path / "lineprof.toml"
    file.write_text('[tool.lineprof.kernprof]\nwhole = false\nprof-mod = ["m"]\n')
    for flag in ("--max-overhead=2", "--whole", "--no-whole"):
        assert kernprof_forked("-lq", flag, "x.py", cwd=tmp_path).out == "ran\n"
    assert kernprof_forked("-l", "--all", "x.py", cwd=tmp_path).err == (
        f"kernprof: --all cannot be used with whole = false of {file}; add --whole, or"
        " leave one of them out\n"
    )
    file.write_text('[tool.lineprof.kernprof]\nprof-mod = ["m"]\n')
    assert f"--all cannot be used with prof-mod of {file}; add --whole" in (
        kernprof_forked("-l", "--all", "x.py", cwd=tmp_path).err
    )
    file.write_text("[tool.lineprof.kernprof]\ntrace = true\nsplit = true\n")
    assert kernprof_forked("-q", "x.py", cwd=tmp_path).out == "ran\n"
    file.write_text("[tool.lineprof.kernprof]\nline-by-line = true\n")
    assert kernprof_forked("-q", "--trace", "x.py", cwd=tmp_path).out == "ran\n"


def test_help_and_version_stop_the_parsing() -> None:
    for word in ("-h", "--help", "-lh", "--he"):
        assert parse([word, "--nonsense"]).help
    for word in ("-V", "--version", "-lV", "--vers"):
        assert parse([word, "--nonsense"]).version


def test_the_help_names_every_flag_and_fits_a_terminal() -> None:
    text = help_text()
    lines = text.splitlines()
    for flag in FLAGS:
        assert any(line.startswith(f"  {flag.usage}") for line in lines), flag.long
    assert max(map(len, lines)) <= 80
    assert help_text("lineprof run").startswith("usage: lineprof run [flags]")


def test_the_program_after_long_flags_runs(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "import sys; print(sys.argv)")
    words = ["--line-by-line", "--skip-zero", "0", "--quiet", "x.py", "yes"]
    outcome = kernprof_forked(*words, cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == "['x.py', 'yes']\n"
    assert (tmp_path / "x.lprof").exists()


def test_parsing_a_command_line_imports_no_argparse(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "import sys; print('argparse' in sys.modules)")
    for words in (["-lq", "--rich=no", "-p", "x.py"], ["-q", "--no-rich", "-i"]):
        assert kernprof_forked(*words, "x.py", cwd=tmp_path).out == "False\n"


def test_options_are_filled_in_without_a_configuration_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = parse(["-l", "x.py"])
    fill(options)
    assert changed_options(options).keys() == {"line_by_line", "settings"}
