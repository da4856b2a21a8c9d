"""The command kernprof: its flags, the files that it writes, and its messages."""

from __future__ import annotations

import marshal
import os
import pstats
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from as_python import hits_in, kernprof_forked, run, viewer, write
from deadline import DEADLINE

from lineprof import load_stats

PROGRAM = """\
import sys
@profile
def double(x):
    return 2 * x
print(double(2), sys.argv[1:])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a small program."""
    write(tmp_path, "x.py", PROGRAM)
    return tmp_path


def names(folder: Path) -> list[str]:
    """Names of a folder's entries."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.smoke
def test_kernprof_writes_a_profile_and_prints_the_command_that_shows_it(
    folder: Path,
) -> None:
    outcome = kernprof_forked("-l", "x.py", "a", "-v", cwd=folder)
    lines = outcome.out.splitlines()
    assert lines[:3] == [
        "4 ['a', '-v']",
        "Wrote profile results to 'x.lprof'",
        "Inspect results with:",
    ]
    assert lines[3].endswith("-m lineprof view x.lprof")
    assert (outcome.status, outcome.err) == (0, "")
    assert hits_in(folder / "x.lprof") == {"double": {4: 1}}
    command = shlex.split(lines[3])
    shown = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE,
    )
    assert "Function: double at line 2" in shown.stdout


def test_the_profile_has_the_programs_command_line_and_source(folder: Path) -> None:
    kernprof_forked("-l", "x.py", "a", cwd=folder)
    stats = load_stats(folder / "x.lprof")
    [process] = stats.processes
    assert process.argv == ("x.py", "a")
    assert process.cwd == str(folder)
    assert process.exit == ""
    [function] = stats.functions
    assert function.file == str(folder / "x.py")
    assert stats.sources[function.file].text == PROGRAM


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("sys.argv += [3, pathlib.Path('b')]", ("x.py", "a", "3", "b")),
        ("class Odd:\n    def __str__(self): 1 / 0\nsys.argv = [Odd()]", ("<Odd>",)),
        ("sys.argv = 5", ()),
        ("del sys.argv", ()),
    ],
)
def test_a_program_may_change_its_command_line(
    change: str, expected: tuple[str, ...], tmp_path: Path
) -> None:
    write(tmp_path, "x.py", f"import pathlib\n{PROGRAM}{change}\n")
    outcome = kernprof_forked("-l", "x.py", "a", cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    assert load_stats(tmp_path / "x.lprof").processes[0].argv == expected


def test_v_prints_the_table(folder: Path) -> None:
    outcome = kernprof_forked("-lv", "x.py", cwd=folder)
    viewed = viewer("view", "x.lprof", cwd=folder)
    expected = f"4 []\nWrote profile results to 'x.lprof'\n{viewed.out}"
    assert outcome.out == expected
    assert "Timer unit: 1e-06 s\n\nTotal time: " in outcome.out


def test_unit_and_skip_zero(folder: Path) -> None:
    with (folder / "x.py").open("a") as stream:
        stream.write("@profile\ndef unused():\n    pass\n")
    for words, unit in ((["-u", "1e-3"], "0.001"), (["-u1"], "1")):
        outcome = kernprof_forked("-lv", *words, "x.py", cwd=folder)
        assert f"Timer unit: {unit} s" in outcome.out
        assert "Function: unused" in outcome.out
    outcome = kernprof_forked("-lvuauto", "x.py", cwd=folder)
    assert "Timer unit: beside each time" in outcome.out
    outcome = kernprof_forked("-lvz", "--unit=1e-9", "x.py", cwd=folder)
    assert "Timer unit: 1e-09 s" in outcome.out
    assert "Function: unused" not in outcome.out


def test_an_empty_table_says_why(folder: Path) -> None:
    write(folder, "plain.py", "print(1)\n")
    outcome = kernprof_forked("-lv", "--no-whole", "plain.py", cwd=folder)
    assert outcome.status == 0
    assert outcome.err == (
        "kernprof: the profile is empty: no function was registered;"
        " put @profile above a function or give it to add_function\n"
    )
    assert (
        kernprof_forked("-l", "--no-whole", "plain.py", cwd=folder).err == outcome.err
    )
    assert kernprof_forked("-lq", "--no-whole", "plain.py", cwd=folder).err == ""
    write(folder, "never.py", "@profile\ndef f(): pass\n")
    assert kernprof_forked("-l", "never.py", cwd=folder).err == (
        "kernprof: the profile is empty: the one function registered was never called\n"
    )


LOGGED = re.compile(
    r"\[kernprof \d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (DEBUG|INFO)\] (.*)"
)


def test_a_warning_names_a_profile_imported_from_line_profiler(folder: Path) -> None:
    write(folder, "line_profiler.py", "def profile(f):\n    return f\n")
    write(folder, "x.py", f"from line_profiler import profile\n{PROGRAM}")
    outcome = kernprof_forked("-lv", "x.py", cwd=folder)
    said = "kernprof: the program imports line_profiler's profile, not lineprof's"
    assert outcome.err.splitlines()[1:] == [said]


def test_vv_logs_the_core_the_clock_and_the_gpu(folder: Path) -> None:
    outcome = kernprof_forked("-lvv", "--core", "settrace", "x.py", cwd=folder)
    assert outcome.err == ""
    logged = [LOGGED.fullmatch(line) for line in outcome.out.splitlines()]
    lines = [match.groups() for match in logged if match]
    (_, config), script, (_, core), output, wrote = lines
    assert config == "No config file"
    assert script == ("DEBUG", "Profiling script: 'x.py'")
    assert re.match(r"core: settrace \(.+\); clock: \w+ \(.+\); gpu: \w+ \(", core)
    assert output == ("DEBUG", f"Output destination: '{folder / 'x.lprof'}'")
    assert wrote == ("INFO", "Wrote profile results to 'x.lprof'")
    assert "Function: double" in outcome.out
    assert load_stats(folder / "x.lprof").processes[0].core == "settrace"


def test_the_debug_variable_logs_without_the_table(folder: Path) -> None:
    write(folder, "before.py", "")
    write(folder, "own.toml", "[tool.line_profiler.kernprof]\nskip-zero = true\n")
    words = ("--config=own.toml", "-lsbefore.py", "-i2", "x.py")
    outcome = kernprof_forked(*words, cwd=folder, env={"LINE_PROFILER_DEBUG": "1"})
    assert re.search(r"DEBUG\] Loaded configs from '.*own.toml'\n", outcome.out)
    assert "DEBUG] Executing file 'before.py' as pre-profiling setup\n" in outcome.out
    assert "DEBUG] Writing the profile every 2 s\n" in outcome.out
    assert "INFO] Inspect results with:\n" in outcome.out
    assert "Function:" not in outcome.out
    assert outcome.err == ""


def test_summaries_and_colours(folder: Path) -> None:
    outcome = kernprof_forked("-lvr", "--summarize", "x.py", cwd=folder)
    assert f" seconds - {folder / 'x.py'}:2 - double\n" in outcome.out
    assert "\x1b" not in outcome.out  # stdout is a pipe
    assert "seconds - " not in kernprof_forked("-lv", "x.py", cwd=folder).out


def test_profile_without_l_or_b_gets_a_hint_of_one_line(folder: Path) -> None:
    (folder / "plain.py").write_text("double = 1\nprofile\n")
    plain = run(["plain.py"], cwd=folder)
    outcome = kernprof_forked("-q", "plain.py", cwd=folder)
    said = (
        "kernprof: 'profile' is a builtin with -l (every line) or -b (every call)"
        " alone; try: kernprof -l plain.py\n"
    )
    assert (outcome.status, outcome.out, outcome.err) == (1, "", plain.err + said)
    (folder / "plain.py").write_text("try: profile\nexcept NameError: print(1)\n")
    outcome = kernprof_forked("-q", "plain.py", cwd=folder)
    assert (outcome.status, outcome.out, outcome.err) == (0, "1\n", "")
    outcome = kernprof_forked(
        "-lq", "-c", "del __builtins__.profile; profile", cwd=folder
    )
    assert "try: kernprof" not in outcome.err  # with -l the program deleted it


def test_quiet(folder: Path) -> None:
    with (folder / "x.py").open("a") as stream:
        stream.write("import os\nsys.stderr.write('error\\n')\n")
        stream.write("sys.stdout.flush(); os.system('echo child; echo bad >&2')\n")
    for words, out, err in (
        (["-lq"], "4 []\nchild\n", "error\nbad\n"),
        (["-lqq"], "", "error\nbad\n"),
        (["-lqqq"], "", ""),
        (["-lqqqq", "-v"], "", ""),
    ):
        outcome = kernprof_forked(*words, "x.py", cwd=folder)
        assert (outcome.status, outcome.out, outcome.err) == (0, out, err)
        assert hits_in(folder / "x.lprof") == {"double": {4: 1}}
        (folder / "x.lprof").unlink()
    outcome = kernprof_forked("-lvq", "x.py", cwd=folder)
    assert "Inspect results with:" in outcome.out


def test_flags_in_all_their_forms(folder: Path) -> None:
    for words in (
        ["-l", "-q", "-o", "out", "x.py"],
        ["-lq", "-oout", "x.py"],
        ["-qlo", "out", "x.py"],
        ["--line-by-line", "--quiet", "--outfile", "out", "x.py"],
        ["--line", "--q", "--outf=out", "--", "x.py"],
        ["-lqoout", "-mx"],
        ["-lqo", "out", "-m", "x"],
        ["-qlbmx", "-o", "the program's"],
    ):
        outcome = kernprof_forked(*words, cwd=folder)
        assert (outcome.status, outcome.err) == (0, "")
        name = "x.lprof" if words[-1].startswith("the") else "out"
        assert hits_in(folder / name) == {"double": {4: 1}}
        (folder / name).unlink()


def test_a_program_may_have_a_name_like_a_flag(folder: Path) -> None:
    (folder / "x.py").rename(folder / "-m")
    assert kernprof_forked("-lq", "--", "-m", "-l", cwd=folder).out == "4 ['-l']\n"


def test_names_of_profiles(folder: Path) -> None:
    write(folder, "pack/__init__.py", "")
    write(folder, "pack/inner.py", PROGRAM)
    write(folder, "pack/__main__.py", PROGRAM)
    write(folder, "a.b.py", PROGRAM)
    for words, name in (
        (["x.py"], "x.lprof"),
        (["a.b.py"], "a.b.lprof"),
        (["pack/inner.py"], "inner.lprof"),
        (["-m", "pack.inner"], "pack.inner.lprof"),
        (["-m", "pack"], "pack.lprof"),
        (["pack/"], "pack.lprof"),
        (["-o", "%f-%s.lprof", "pack/inner.py"], "inner.py-inner.lprof"),
        (["-c", PROGRAM], r"kernprof-command-\w{8}\.lprof"),
        (["-"], r"kernprof-stdin-\w{8}\.lprof"),
    ):
        outcome = kernprof_forked("-lq", *words, cwd=folder, text=PROGRAM)
        assert outcome.out.startswith("4 "), outcome
        [found] = [path.name for path in folder.glob("*lprof")]
        assert re.fullmatch(name, found)
        assert hits_in(folder / found) == {"double": {4: 1}}
        (folder / found).unlink()


def test_the_source_of_a_command_and_of_stdin_is_in_the_profile(folder: Path) -> None:
    for words in (["-c", PROGRAM], ["-"]):
        kernprof_forked("-lqo", "out", *words, cwd=folder, text=PROGRAM)
        stats = load_stats(folder / "out")
        text = stats.sources[stats.functions[0].file].text
        assert text is not None
        assert text.strip() == PROGRAM.strip()


def test_a_variable_names_the_profile(folder: Path) -> None:
    env = {"LINEPROF_OUTFILE": "from-%q{WHERE}-%s", "WHERE": "here"}
    kernprof_forked("-lq", "x.py", cwd=folder, env=env)
    assert hits_in(folder / "from-here-x") == {"double": {4: 1}}
    kernprof_forked("-lqo", "flag", "x.py", cwd=folder, env=env)
    assert hits_in(folder / "flag") == {"double": {4: 1}}
    kernprof_forked("-lq", "x.py", cwd=folder, env={"LINEPROF_OUTFILE": ""})
    assert hits_in(folder / "x.lprof") == {"double": {4: 1}}


def test_a_call_profile_does_not_take_the_suffix_of_a_line_profile(
    folder: Path,
) -> None:
    kernprof_forked("-bq", "x.py", cwd=folder, env={"LINEPROF_OUTFILE": "%f.lprof"})
    assert (folder / "x.py.prof").exists()
    assert not (folder / "x.py.lprof").exists()


def test_a_program_that_changes_folder(folder: Path) -> None:
    (folder / "other").mkdir()
    with (folder / "x.py").open("a") as stream:
        stream.write("import os; os.chdir('other')\n")
    outcome = kernprof_forked("-l", "x.py", cwd=folder)
    assert f"Wrote profile results to '{folder}/x.lprof'" in outcome.out
    assert hits_in(folder / "x.lprof") == {"double": {4: 1}}
    assert not any((folder / "other").iterdir())


def test_names_that_a_shell_would_split(folder: Path) -> None:
    outcome = kernprof_forked("-lo", "it's here", "x.py", cwd=folder)
    assert shlex.split(outcome.out.splitlines()[-1])[-1] == "it's here"


def test_the_printed_command_names_python_as_short_as_possible(folder: Path) -> None:
    home = Path(sys.executable).parent
    env = {"PATH": str(home)}
    outcome = kernprof_forked("-l", "x.py", cwd=folder, env=env)
    name = "python" if (home / "python").exists() else "python3"
    assert outcome.out.splitlines()[-1] == f"{name} -m lineprof view x.lprof"


def test_a_script_on_the_path(folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "x.py").rename(folder / "bin" / "tool")
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    outcome = kernprof_forked("-lq", "tool", "a", cwd=folder, env={"PATH": path})
    assert (outcome.out, outcome.err) == ("4 ['a']\n", "")
    assert hits_in(folder / "tool.lprof") == {"double": {4: 1}}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "no program to run was given; usage: kernprof"),
        (["-l"], "no program to run was given; usage: kernprof"),
        (["-l", "--"], "no program to run was given; usage: kernprof"),
        (["-l", "no.py"], "cannot find script 'no.py'; check its name"),
        (["-l", "no/no.py"], "cannot find script 'no/no.py'; check its name"),
        (["-x", "x.py"], "unknown flag -x; kernprof --help"),
        (["-lxv", "x.py"], "unknown flag -x; kernprof --help"),
        (["--nope", "x.py"], "unknown flag --nope; kernprof --help"),
        (["--ver", "x.py"], "--ver could be --verbose or --version; write"),
        (["--quiet=1", "x.py"], "--quiet takes no value; leave out '=1'"),
        (["-l", "-o"], "-o needs a value; usage:"),
        (["-l", "-m"], "-m needs a value; usage:"),
        (["-l", "-u", "fast", "x.py"], "bad unit 'fast'; give seconds above 0"),
        (["-u", "0", "x.py"], "bad unit '0'; give seconds above 0"),
        (["-l", "-u", "nan", "x.py"], "bad unit 'nan'; give seconds above 0"),
        (["-l", "--core", "fast", "x.py"], "there is no core 'fast'; choose one of"),
        (["-l", "-o", "%x", "x.py"], "unknown placeholder '%x' in the output name"),
        (["-l", "-o", "%q{NO_SUCH}", "x.py"], "variable 'NO_SUCH' in the output name"),
        (["-l", "-o", "no/x", "x.py"], "cannot write the profile to 'no/x': there is"),
        (["-l", "-o", "", "x.py"], "cannot write the profile to '': the name is empty"),
        (["-l", "-o", "/dev/zero", "x.py"], "cannot write the profile to '/dev/zero'"),
    ],
)
def test_an_invalid_command_line_is_an_error_of_one_line(
    folder: Path, words: list[str], line: str
) -> None:
    (folder / "x.lprof").write_text("earlier")
    outcome = kernprof_forked(*words, cwd=folder)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"kernprof: {line}")
    assert outcome.err.count("\n") == 1
    assert (folder / "x.lprof").read_text() == "earlier"


@pytest.mark.parametrize("mode", ["-l", "-b"])
def test_the_null_device_takes_any_profile(folder: Path, mode: str) -> None:
    before = Path(os.devnull).stat()
    outcome = kernprof_forked(f"{mode}v", "-o", os.devnull, "x.py", cwd=folder)
    assert (outcome.status, outcome.err) == (0, "")
    assert "double" in outcome.out
    assert names(folder) == ["x.py"]
    assert Path(os.devnull).stat().st_ino == before.st_ino


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["-m", "no_such"], "No module named no_such; check its name"),
        (["-m", "x.inner"], "Error while finding module specification for 'x.inner'"),
        (["."], "can't find '__main__' module in "),
    ],
)
def test_a_missing_program_is_an_error_of_one_line(
    folder: Path, words: list[str], line: str
) -> None:
    name = f"{words[-1]}.lprof"
    (folder / "x.py").write_text("")
    (folder / name).write_text("earlier")
    outcome = kernprof_forked("-l", "-o", name, *words, cwd=folder)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith(f"kernprof: {line}")
    assert outcome.err.count("\n") == 1
    assert (folder / name).read_text() == "earlier"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_script_is_an_error(folder: Path) -> None:
    (folder / "x.py").chmod(0)
    outcome = kernprof_forked("-l", "x.py", cwd=folder)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("kernprof: cannot read script 'x.py': Permission")


@pytest.mark.parametrize("live", ["", "off"])
def test_a_full_disk_fails_a_program_that_succeeded_if_its_counts_are_lost(
    folder: Path, live: str
) -> None:
    (folder / "x.lprof").write_text("earlier")
    write(
        folder,
        "x.py",
        """
        import resource, sys
        print("before")
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        sys.exit(int(sys.argv[1]))
        """,
    )
    environment = {"LINEPROF_LIVE": live or str(folder.parent / "live")}
    for given, status in (("0", 1 if live else 0), ("7", 7)):
        outcome = kernprof_forked("-l", "x.py", given, cwd=folder, env=environment)
        assert (outcome.status, outcome.out) == (status, "before\n")
        assert outcome.err.startswith("kernprof: ")
        assert "x.lprof" in outcome.err
        assert outcome.err.count("\n") == 1
        assert (folder / "x.lprof").read_text() == "earlier"
        assert names(folder) == ["x.lprof", "x.py"]


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("ending", "how"),
    [("", ""), ("sys.exit(3)", ""), ("1 / 0", "exception"), ("double('a' / 2)", None)],
)
def test_the_profile_says_how_the_program_ended(
    folder: Path, ending: str, how: str | None
) -> None:
    with (folder / "x.py").open("a") as stream:
        stream.write(ending)
    kernprof_forked("-l", "x.py", cwd=folder)
    [process] = load_stats(folder / "x.lprof").processes
    assert process.exit == ("exception" if how is None else how)
    assert hits_in(folder / "x.lprof") == {"double": {4: 1}}


@pytest.mark.smoke
def test_threads_and_exit_handlers_are_counted(folder: Path) -> None:
    with (folder / "x.py").open("a") as stream:
        stream.write(
            "import atexit, threading\n"
            "atexit.register(double, 1)\n"
            "def late():\n"
            "    threading.main_thread().join()\n"
            "    double(1)\n"
            "threading.Thread(target=late).start()\n"
        )
    kernprof_forked("-lq", "x.py", cwd=folder)
    assert hits_in(folder / "x.lprof") == {"double": {4: 3}}


@pytest.mark.smoke
def test_profile_can_also_be_imported(folder: Path) -> None:
    source = PROGRAM.replace("import sys", "import sys; from lineprof import profile")
    write(folder, "x.py", source)
    assert kernprof_forked("-lq", "x.py", cwd=folder).out == "4 []\n"
    assert hits_in(folder / "x.lprof") == {"double": {4: 1}}
    assert names(folder) == ["x.lprof", "x.py"]


def functions(path: Path) -> set[str]:
    return {name for _, _, name in pstats.Stats(str(path)).stats}  # type: ignore[attr-defined]


@pytest.mark.smoke
def test_without_l_calls_are_recorded(folder: Path) -> None:
    write(folder, "x.py", PROGRAM.replace("@profile\n", ""))
    outcome = kernprof_forked("x.py", cwd=folder)
    assert "Wrote profile results to 'x.prof'" in outcome.out
    assert outcome.out.endswith("-m pstats x.prof\n")
    recorded = functions(folder / "x.prof")
    assert {"<module>", "double"} <= recorded
    assert not {name for name in recorded if "kernprof" in name or name == "run"}
    table = kernprof_forked("-v", "x.py", cwd=folder).out
    assert "function calls in" in table
    assert "(double)" in table


@pytest.mark.smoke
def test_b_records_calls_of_decorated_functions_and_blocks(folder: Path) -> None:
    with (folder / "x.py").open("a") as stream:
        stream.write("with profile:\n    len([])\n")
    assert kernprof_forked("-bq", "x.py", cwd=folder).out == "4 []\n"
    recorded = functions(folder / "x.prof")
    assert "double" in recorded
    assert "<built-in method builtins.len>" in recorded
    assert "<built-in method builtins.print>" not in recorded


def test_b_warns_if_no_decorated_function_was_called(folder: Path) -> None:
    write(folder, "x.py", "print('ran')\n")
    outcome = kernprof_forked("-bv", "x.py", cwd=folder)
    assert outcome.status == 0
    assert "0 function calls in 0.000 seconds" in outcome.out
    assert outcome.err == (
        "kernprof: the profile is empty: nothing under @profile was called\n"
    )
    assert kernprof_forked("-b", "x.py", cwd=folder).err == outcome.err
    # (The bytes that marshal writes depend on reference counts.)
    assert marshal.loads((folder / "x.prof").read_bytes()) == {}  # noqa: S302


@pytest.mark.smoke
def test_the_installed_command(folder: Path) -> None:
    entry = "import sys\nfrom kernprof.__main__ import command\nsys.exit(command())"
    write(folder, "bin/kernprof", entry)
    write(folder, "bin/sibling.py", "1 / 0")
    ending = "try: import sibling\nexcept ImportError: pass\nsys.exit(3)\n"
    with (folder / "x.py").open("a") as stream:
        stream.write(ending)
    outcome = run(["bin/kernprof", "-lq", "x.py", "a"], cwd=folder)
    assert (outcome.status, outcome.out, outcome.err) == (3, "4 ['a']\n", "")
    assert hits_in(folder / "x.lprof") == {"double": {4: 1}}
    write(folder, "bad.py", "def f():\n    1 / 0\nf()")
    plain = run(["bad.py"], cwd=folder)
    assert run(["bin/kernprof", "-lq", "bad.py"], cwd=folder) == plain


def test_the_command_that_line_profiler_installs(folder: Path) -> None:
    entry = "import sys\nfrom kernprof import main\nsys.exit(main())"
    write(folder, "bin/kernprof", entry)
    write(folder, "bad.py", "def f():\n    1 / 0\nf()")
    plain = run(["bad.py"], cwd=folder)
    assert run(["bin/kernprof", "-lq", "bad.py"], cwd=folder) == plain
    assert run(["bin/kernprof", "-lq", "x.py", "a"], cwd=folder).out == "4 ['a']\n"


def test_help_and_version(folder: Path) -> None:
    helped = kernprof_forked("-h", cwd=folder)
    assert helped.status == 0
    assert helped.out.startswith("usage: kernprof [flags]")
    assert max(map(len, helped.out.splitlines())) <= 80
    version = kernprof_forked("-V", cwd=folder)
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", version.out)
