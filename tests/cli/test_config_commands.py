"""Configuration of the commands: options that are set, precedence, and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import Outcome, kernprof, kernprof_here, run, viewer, write

from kernprof.options import fill, parse
from kernprof.run_options import RunOptions, UsageError
from lineprof.cli.main import main
from lineprof.config import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("here")

PROGRAM = """
@profile
def double(x):
    return 2 * x

@profile
def never():
    pass

print(double(2))
"""


def filled(*words: str) -> RunOptions:
    """Return the options of a command line, filled from the configuration."""
    options = parse([*words, "x.py"])
    fill(options)
    return options


def run_command(*words: str, cwd: Path) -> Outcome:
    """Run the command ``lineprof run``, which ends its process."""
    return run(["-m", "lineprof", "run", *words], cwd=cwd)


def test_unknown_keys_are_reported_only_in_tables_of_lineprof(here: Path) -> None:
    text = """
    [tool.line_profiler]
    kernproof = {}
    cli = {colour = true}
    [tool.lineprof.show]
    stripzeroes = true
    [tool.lineprof.view]
    [tool.lineprof.cli]
    colour = true
    [tool.lineprof.kernprof]
    gppu = "off"
    skip_zero = true
    """
    write(here, "lineprof.toml", text)
    write(here, "x.py", PROGRAM)
    outcome = kernprof_here("-l", "x.py", cwd=here)
    where = f"kernprof: {here}/lineprof.toml: "
    assert outcome.err == (
        f"{where}[tool.lineprof.show] knows no 'stripzeroes'; known are: sort,"
        " stripzeros, rich, details, summarize, column_widths\n"
        f"{where}[tool.lineprof] knows no 'view'; known are: kernprof, cli, setup,"
        " write, show\n"
        f"{where}[tool.lineprof.kernprof] knows no 'gppu'; kernprof --help lists all"
        " flags\n"
    )
    assert kernprof_here("-lq", "x.py", cwd=here).err == ""
    viewed = viewer("view", "x.lprof", cwd=here)
    assert viewed.status == 0
    assert viewed.err.splitlines(keepends=True)[-1] == (
        f"lineprof: {here}/lineprof.toml: [tool.lineprof.cli] knows no 'colour';"
        " lineprof view --help lists all flags\n"
    )


def test_every_flag_of_kernprof_has_a_key(here: Path) -> None:
    text = """
    [tool.line_profiler.kernprof]
    line-by-line = true
    builtin = true
    rich = true
    skip-zero = true
    summarize = true
    preimports = false
    prof-imports = true
    verbose = 2
    outfile = "out"
    setup = "warm.py"
    unit = 1
    output-interval = 30
    prof-mod = ["a", "b,c"]
    [tool.lineprof.kernprof]
    core = "settrace"
    gpu = "off"
    nvtx = "line"
    gpu-api = true
    gpu-memory = false
    gpu-events = 5
    cuda-graph = "node"
    uvm = false
    memory = true
    memory-sample = "512KB"
    profile-from-start = "off"
    quiet = 1
    """
    write(here, "pyproject.toml", text)
    options = filled()
    truth: dict[str, object] = {
        "line_by_line": True,
        "builtin": True,
        "rich": True,
        "skip_zero": True,
        "summarize": True,
        "preimports": False,
        "prof_imports": True,
        "verbose": 2,
        "outfile": "out",
        "setup": "warm.py",
        "unit": 1.0,
        "output_interval": 30,
        "prof_mod": ("a", "b", "c"),
        "core": "settrace",
        "gpu": "off",
        "nvtx": "line",
        "gpu_api": True,
        "gpu_memory": False,
        "gpu_events": 5,
        "cuda_graph": "node",
        "uvm": False,
        "memory": True,
        "memory_sample": 512_000,
        "from_start": False,
        "quiet": 1,
    }
    assert {name: getattr(options, name) for name in truth} == truth


def test_the_command_line_wins(here: Path) -> None:
    text = """
    [tool.line_profiler.kernprof]
    line-by-line = true
    preimports = false
    verbose = 1
    outfile = "out"
    setup = "warm.py"
    unit = 1
    output-interval = 30
    prof-mod = ["a", "b"]
    """
    write(here, "line_profiler.toml", text)
    flags = ["--no-line-by-line", "--preimports", "-o", "mine", "-s", "me.py", "-u2"]
    options = filled(*flags, "-i", "0", "-p", "c", "-qq")
    assert not options.line_by_line
    assert options.preimports
    assert (options.outfile, options.setup, options.unit) == ("mine", "me.py", 2.0)
    assert (options.output_interval, options.prof_mod) == (0, ("c",))
    assert options.verbosity == -1
    assert filled("-p", "").prof_mod == ()
    assert filled("-v").verbosity == 2
    assert filled("--no-config").outfile is None
    assert filled("--no-config").prof_mod == ()
    (here / "empty.toml").write_text("")
    assert filled("--config=empty.toml").outfile is None
    assert filled("--no-config", "--config=line_profiler.toml").outfile == "out"
    assert filled("--config=line_profiler.toml", "--no-config").outfile is None


def test_the_outfile_of_the_configuration_overrides_the_variable(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A configuration of line_profiler works although the variable names profiles."""
    monkeypatch.setenv("LINEPROF_OUTFILE", "%f.lprof")
    text = '[tool.line_profiler.kernprof]\noutfile = "out"\nsetup = ""\n'
    (here / "pyproject.toml").write_text(text)
    write(here, "x.py", PROGRAM)
    for words, name in (
        ([], "out"),
        (["-o", "flag"], "flag"),
        (["--no-config"], "x.py.lprof"),
    ):
        assert kernprof_here("-lq", *words, "x.py", cwd=here).status == 0
        assert (here / name).exists()
        (here / name).unlink()
    (here / "pyproject.toml").write_text(text.replace('"out"', '""'))
    assert (filled().outfile, filled().setup) == (None, None)


def test_kernprof_and_the_viewer_take_their_options(here: Path) -> None:
    text = """
    [tool.line_profiler.kernprof]
    line-by-line = true
    outfile = "mine.lprof"
    verbose = 1
    skip-zero = true
    [tool.line_profiler.cli]
    unit = 1e-3
    summarize = true
    [tool.line_profiler.show.column_widths]
    line = 8
    """
    write(here, "pyproject.toml", text)
    write(here, "x.py", PROGRAM)

    def shows(outcome: Outcome, err: str = "") -> list[bool]:
        assert (outcome.status, outcome.err) == (0, err)
        return [text in outcome.out for text in (" 0.001 s", "never", "seconds - ")]

    first = kernprof_here("x.py", cwd=here)
    assert "Wrote profile results to 'mine.lprof'" in first.out
    said = f"kernprof: {here}/pyproject.toml sets outfile = 'mine.lprof';"
    err = f"{said} --no-config ignores that file\n"
    assert shows(first, err) == [False, False, False]
    assert "\n       4         1 " in first.out

    def view(*flags: str) -> Outcome:
        return viewer("view", "mine.lprof", *flags, cwd=here)

    assert shows(view()) == [True, True, True]
    assert "\n       4         1 " in view().out
    assert shows(view("-zu1", "--no-summarize")) == [False] * 3
    assert shows(view("--no-config")) == [False, True, False]
    assert "\n     4         1 " in view("--no-config").out
    (here / "other.toml").write_text("[tool.lineprof.cli]\nskip-zero = true\n")
    for flags in (["-c", "other.toml"], ["--config=other.toml"], ["--c", "other.toml"]):
        assert shows(view(*flags)) == [False] * 3
    assert view("--json").out.startswith("{")


def test_flags_that_only_lineprof_has_are_keys_of_the_viewer(here: Path) -> None:
    text = """
    [tool.lineprof.cli]
    unit = "auto"
    raw = true
    columns = ["await"]
    gpu-columns = "all"
    """
    write(here, "lineprof.toml", text)
    write(here, "x.py", PROGRAM)
    kernprof_here("-lq", "x.py", cwd=here)
    flags = ["-u", "auto", "--raw", "--columns=await", "--no-config"]
    assert viewer("x.lprof", cwd=here) == viewer("x.lprof", *flags, cwd=here)


def test_a_program_that_changes_folder_keeps_its_configuration(here: Path) -> None:
    text = "[tool.lineprof.show.column_widths]\nline = 8\n"
    write(here, "lineprof.toml", text)
    end = f"import os; os.mkdir('d'); os.chdir('d'); os.unlink('{here}/lineprof.toml')"
    write(here, "x.py", PROGRAM + end)
    assert "\n       4         1 " in kernprof_here("-lv", "x.py", cwd=here).out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernprof.unit = 'ms'", "unit of the table kernprof: bad unit 'ms'; give"),
        ("kernprof.unit = true", "unit of the table kernprof: bad unit 'yes'; give"),
        ("kernprof.rich = 'huh'", "rich of the table kernprof: bad value 'huh'; give"),
        ("kernprof.rich = []", "rich of the table kernprof: bad value []; give what"),
        (
            "kernprof.outfile = 1",
            "outfile of the table kernprof: bad value 1; give",
        ),
        ("kernprof.verbose = ''", "verbose of the table kernprof: bad number ''; give"),
        ("kernprof.prof-mod = 1", "prof-mod of the table kernprof: bad list 1; give"),
        ("kernprof.prof-mod = [1]", "prof-mod of the table kernprof: bad list [1]"),
        ("kernprof.gpu = 'maybe'", "gpu of the table kernprof: bad value 'maybe'"),
        ("show.column_widths.line = ''", "the width of column 'line' is ''; give"),
        ("show.column_widths.line = true", "the width of column 'line' is True; give"),
    ],
)
def test_invalid_values_for_kernprof(here: Path, text: str, message: str) -> None:
    (here / "lineprof.toml").write_text(f"[tool.lineprof]\n{text}\n")
    with pytest.raises((UsageError, ConfigError)) as caught:
        filled()
    assert str(caught.value).startswith(f"{here}/lineprof.toml: {message}")
    assert caught.value.status == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cli.unit = 'ms'", "unit: bad unit 'ms'; give seconds above 0"),
        ("cli.rich = 'huh'", "rich: bad value 'huh'; give yes or no"),
        ("cli.rich = []", "rich: bad value []; give what --rich takes"),
        ("cli.columns = 'x'", "columns: there is no column 'x'; known"),
        ("show.column_widths.line = 1.5", "the width of column 'line' is 1.5; give"),
    ],
)
def test_invalid_values_for_the_viewer(
    here: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (here / "lineprof.toml").write_text(f"[tool.lineprof]\n{text}\n")
    assert main(["view", "x.lprof"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"lineprof: {here}/lineprof.toml: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(("value", "seconds"), [("true", 1), ("false", 0), ("7", 7)])
def test_an_interval_may_be_on_or_off(here: Path, value: str, seconds: int) -> None:
    text = f"[tool.line_profiler.kernprof]\noutput-interval = {value}\n"
    (here / "line_profiler.toml").write_text(text)
    assert filled().output_interval == seconds


def test_a_file_named_by_config_must_be_valid(here: Path) -> None:
    write(here, "x.py", "print('ran')")
    (here / "bad.toml").write_text("[broken")
    for name in ("no.toml", "bad.toml"):
        commands = {
            "kernprof": kernprof_here,
            "lineprof run": run_command,
            "lineprof": viewer,
        }
        for name_of, command in commands.items():
            outcome = command("--config", name, "x.py", cwd=here)
            assert (outcome.status, outcome.out) == (2, "")
            assert outcome.err.startswith(f"{name_of}: ")
            assert f"{here}/{name}" in outcome.err
            assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("name", ["lineprof.toml", "line_profiler.toml"])
@pytest.mark.parametrize("folder", [".", "below"])
def test_a_file_with_our_name_must_be_toml(here: Path, name: str, folder: str) -> None:
    write(here / folder, "x.py", "print('ran')")
    kernprof_here("-lq", "x.py", cwd=here / folder)
    (here / name).write_text("[[[")
    (here / "pyproject.toml").write_text("[tool.lineprof.kernprof]\nquiet = 1\n")
    commands: dict[str, tuple[Callable[..., Outcome], list[str]]] = {
        "kernprof": (kernprof_here, ["-l", "x.py"]),
        "lineprof run": (run_command, ["-l", "x.py"]),
        "lineprof": (viewer, ["view", "x.lprof"]),
    }
    for name_of, (command, words) in commands.items():
        outcome = command(*words, cwd=here / folder)
        assert (outcome.status, outcome.out) == (2, ""), outcome
        assert outcome.err.startswith(f"{name_of}: {here}/{name}: it is no TOML: ")
        assert "line 1, column " in outcome.err
        assert outcome.err.endswith("; correct it, or give --no-config\n")
        assert outcome.err.count("\n") == 1
        words.insert(1, "--no-config")
        assert command(*words, cwd=here / folder).status == 0
    (here / "good.toml").write_text("")
    words = ["--config", str(here / "good.toml"), "-q", "x.py"]
    assert kernprof_here(*words, cwd=here / folder).out == "ran\n"
    if folder != ".":  # the nearest file is used, and no other is read
        (here / folder / "pyproject.toml").write_text("")
        ran = kernprof_here("-lq", "x.py", cwd=here / folder)
        assert ran.out == "ran\n"


def test_a_program_with_the_global_profiler_ignores_an_invalid_configuration(
    here: Path,
) -> None:
    (here / "lineprof.toml").write_text("[[[")
    program = "from lineprof import profile\n@profile\ndef f(): pass\nf()\nprint('ran')"
    outcome = run(["-c", program], cwd=here, env={"LINE_PROFILE": "1"})
    assert (outcome.status, outcome.out[:4]) == (0, "ran\n")


def test_an_invalid_pyproject_is_reported_and_ignored(here: Path) -> None:
    write(here, "x.py", "profile(lambda: print('ran'))()")
    (here / "pyproject.toml").write_text("[tool.lineprof")
    outcome = kernprof_here("-l", "x.py", cwd=here)
    assert (outcome.status, outcome.out[:4]) == (0, "ran\n")
    assert outcome.err.startswith(f"kernprof: ignoring {here}/pyproject.toml: it is no")
    assert outcome.err.count("\n") == 1


def test_toml_is_parsed_only_if_a_file_has_our_tables(here: Path) -> None:
    write(here, "x.py", "import sys; print('tomllib' in sys.modules)")
    (here / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert kernprof("-lq", "x.py", cwd=here).out == "False\n"
    (here / "pyproject.toml").write_text("[tool.lineprof]\n")
    assert kernprof("-lq", "x.py", cwd=here).out == "True\n"
