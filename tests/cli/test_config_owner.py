"""Configuration files that another user could have written: they are not used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import Outcome, kernprof, kernprof_here, run, viewer, write
from deadline import DEADLINE
from ipython_shell import cells, needs_ipython

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("here")
is_root = os.geteuid() == 0
needs_root = pytest.mark.skipif(not is_root, reason="only root makes others' files")
SETPRIV = shutil.which("setpriv")

STRANGER, OTHER = 64321, 64322  # users without a name
NAMES = ("lineprof.toml", "line_profiler.toml", "pyproject.toml")
EVIL = """
[tool.{table}.kernprof]
line-by-line = true
setup = "evil.py"
outfile = "out.lprof"
"""
HINT = "to use it all the same, name it with --config or LINE_PROFILER_RC\n"
PROGRAM = """
import builtins
decorate = getattr(builtins, "profile", lambda f: f)
decorate(lambda: print('ran'))()
"""
GLOBAL = """
from lineprof import profile
@profile
def f():
    return 1
f()
print('ran')
"""
SWITCHED_ON = """
[tool.line_profiler.setup]
environ_flags = ["HOME"]
[tool.line_profiler.write]
output_prefix = "{}"
"""


@pytest.fixture
def below(here: Path) -> Path:
    """Make a folder with a program in it; setup and configuration are above."""
    write(here, "evil.py", "print('EVIL RAN')\n")
    write(here, "below/evil.py", "print('EVIL RAN')\n")
    write(here, "below/x.py", PROGRAM)
    return here / "below"


def configure(file: Path, text: str, owner: int = 0, mode: int = 0o644) -> Path:
    """Write a file of configuration; `owner` is 0 for this user."""
    file.write_text(text)
    file.chmod(mode)
    if owner:
        os.chown(file, owner, owner)
    return file


def refused(file: Path, reason: str, command: str = "kernprof") -> str:
    return f"{command}: ignoring {file}: {reason}; {HINT}"


def files_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.rglob("*") if file.is_file())


@needs_root
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("table", ["lineprof", "line_profiler"])
def test_the_file_of_another_user_is_not_used_and_that_is_said(
    here: Path, below: Path, name: str, table: str
) -> None:
    file = configure(here / name, EVIL.format(table=table), STRANGER)
    before = files_in(here)
    outcome = kernprof_here("-l", "-o", "mine.lprof", "x.py", cwd=below)
    assert outcome.out.startswith("ran\n")
    assert outcome.err == refused(file, f"it belongs to user {STRANGER}")
    assert outcome.status == 0
    assert files_in(here) == sorted([*before, "mine.lprof"])
    assert kernprof_here("-lq", "x.py", cwd=below).err == ""


@needs_root
def test_the_file_of_another_user_is_used_if_it_is_named(
    here: Path, below: Path
) -> None:
    file = configure(here / "lineprof.toml", EVIL.format(table="lineprof"), STRANGER)
    words = ["--config", "../lineprof.toml", "x.py"]
    variable: Mapping[str, str] = {"LINE_PROFILER_RC": str(file)}
    for outcome in (
        kernprof_here(*words, cwd=below),
        kernprof("x.py", cwd=below, env=variable),
    ):
        assert (outcome.status, outcome.err) == (0, "")
        assert outcome.out.startswith("EVIL RAN\nran\n")


@needs_root
def test_a_file_of_ones_own_further_up_is_used_then(here: Path, below: Path) -> None:
    configure(below / "lineprof.toml", EVIL.format(table="lineprof"), STRANGER)
    configure(here / "lineprof.toml", "[tool.lineprof.kernprof]\nunit = 1\nquiet = 1\n")
    outcome = kernprof_here("-l", "x.py", cwd=below)
    assert outcome.out == "ran\n"
    assert outcome.err.startswith(f"kernprof: ignoring {below}/lineprof.toml: ")
    assert outcome.err.count("\n") == 1


@needs_root
@pytest.mark.parametrize(
    "text", ["[project]\ndependencies = ['lineprof']\n", "[lineprof", "\xff lineprof"]
)
def test_the_file_of_another_user_that_has_no_effect_is_not_mentioned(
    here: Path, below: Path, text: str
) -> None:
    file = here / "pyproject.toml"
    file.write_bytes(text.encode("latin-1"))
    os.chown(file, STRANGER, STRANGER)
    outcome = kernprof_here("-l", "x.py", cwd=below)
    assert (outcome.status, outcome.err) == (0, "")


@needs_root
def test_an_invalid_file_of_another_user_is_no_error(here: Path, below: Path) -> None:
    file = configure(here / "lineprof.toml", "[[[", STRANGER)
    outcome = kernprof_here("-l", "x.py", cwd=below)
    assert outcome.out.startswith("ran\n")
    assert outcome.err == refused(file, f"it belongs to user {STRANGER}")


@pytest.mark.parametrize(
    ("mode", "folder", "reason"),
    [
        (0o646, 0o755, "everyone can write to it"),
        (0o666, 0o755, "everyone can write to it"),
        (0o666, 0o1777, "everyone can write to it"),
        (0o644, 0o777, "everyone can write to its folder"),
        (0o644, 0o757, "everyone can write to its folder"),
        (0o644, 0o1777, ""),  # only its owner can replace it
        (0o600, 0o700, ""),
    ],
)
def test_a_file_that_others_can_write_is_not_used(
    here: Path, below: Path, mode: int, folder: int, reason: str
) -> None:
    file = configure(here / "lineprof.toml", EVIL.format(table="lineprof"), mode=mode)
    here.chmod(folder)
    outcome = kernprof_here("x.py", cwd=below)
    assert outcome.status == 0
    if reason:
        assert outcome.err == refused(file, reason)
        assert "EVIL" not in outcome.out
    else:
        assert outcome.out.startswith("EVIL RAN\nran\n")


@needs_root
@pytest.mark.parametrize(
    ("group", "what"),
    [(0, "private"), (STRANGER, f"group {STRANGER} can"), (1, "group 'daemon' can")],
)
@pytest.mark.parametrize("in_folder", [False, True])
def test_only_the_users_own_group_may_write(
    here: Path, below: Path, group: int, what: str, *, in_folder: bool
) -> None:
    file = configure(here / "lineprof.toml", EVIL.format(table="lineprof"))
    changed = here if in_folder else file
    os.chown(changed, 0, group)
    changed.chmod(0o775 if in_folder else 0o664)
    outcome = kernprof_here("x.py", cwd=below)
    if what == "private":
        assert outcome.out.startswith("EVIL RAN\nran\n")
    else:
        place = "its folder" if in_folder else "it"
        assert outcome.err == refused(file, f"{what} write to {place}")


@needs_root
def test_the_folder_may_not_belong_to_another_user(here: Path, below: Path) -> None:
    file = configure(here / "lineprof.toml", EVIL.format(table="lineprof"))
    os.chown(here, STRANGER, STRANGER)
    outcome = kernprof_here("x.py", cwd=below)
    assert outcome.err == refused(file, f"its folder belongs to user {STRANGER}")


@needs_root
def test_neither_a_link_nor_its_target_may_belong_to_another_user(
    here: Path, below: Path
) -> None:
    target = configure(here / "real.toml", EVIL.format(table="lineprof"))
    link = below / "lineprof.toml"
    link.symlink_to(target)
    assert kernprof_here("x.py", cwd=below).out.startswith("EVIL RAN\nran\n")
    os.chown(target, STRANGER, STRANGER)
    reason = f"it belongs to user {STRANGER}"
    assert kernprof_here("x.py", cwd=below).err == refused(link, reason)
    os.chown(target, 0, 0)
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    assert kernprof_here("x.py", cwd=below).err == refused(link, reason)
    os.chown(link, 0, 0, follow_symlinks=False)
    reason = "everyone can write to its folder"
    for folder in (here, below):
        folder.chmod(0o777)
        assert kernprof_here("x.py", cwd=below).err == refused(link, reason)
        folder.chmod(0o755)


@needs_root
def test_the_owner_of_the_script_is_trusted(here: Path, below: Path) -> None:
    """In a container root runs a checkout that belongs to another user."""
    for path in (here, below, *below.iterdir()):
        os.chown(path, STRANGER, STRANGER)
    configure(here / "lineprof.toml", EVIL.format(table="lineprof"), STRANGER)
    for words in (["x.py"], ["-m", "x"], ["-c", PROGRAM]):
        outcome = kernprof(*words, cwd=below)
        assert outcome.out.startswith("EVIL RAN\nran\n"), outcome
    viewed = viewer("view", "out.lprof", cwd=below)
    assert "ignoring" not in viewed.err
    for words in (["-m", "x"], ["-c", PROGRAM]):  # -P: no import from that folder
        flags = ["-P", "-m", "kernprof", "-l", *words]
        outcome = run(flags, cwd=below)
        assert "EVIL RAN" not in outcome.out
        assert "lineprof.toml: it belongs to" in outcome.err
    os.chown(below / "x.py", OTHER, OTHER)
    assert "lineprof.toml: it belongs to" in kernprof("x.py", cwd=below).err


@needs_root
def test_root_under_sudo_trusts_the_user_who_called_it(here: Path, below: Path) -> None:
    configure(here / "lineprof.toml", EVIL.format(table="lineprof"), STRANGER)
    for user, ran in ((str(STRANGER), True), (str(OTHER), False), ("x", False)):
        outcome = kernprof("-l", "x.py", cwd=below, env={"SUDO_UID": user})
        assert outcome.out.startswith("EVIL RAN\nran\n") is ran


@needs_root
@pytest.mark.skipif(not SETPRIV, reason="setpriv changes the user and can still read")
@pytest.mark.parametrize(
    ("owner", "used"), [(0, True), (STRANGER, True), (OTHER, False)]
)
def test_a_user_takes_files_of_its_own_and_of_root(
    here: Path, below: Path, owner: int, *, used: bool
) -> None:
    file = configure(here / "lineprof.toml", EVIL.format(table="lineprof"), owner)
    readable = "+dac_read_search"  # the interpreter may be in root's home
    done = subprocess.run(
        [
            *(str(SETPRIV), "--reuid", str(STRANGER), "--regid", str(STRANGER)),
            *("--clear-groups", "--inh-caps", readable, "--ambient-caps", readable),
            *(sys.executable, "-m", "kernprof", "-l", "-o", os.devnull, "x.py"),
        ],
        cwd=below,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
        env={**os.environ, "SUDO_UID": str(OTHER)},
    )
    assert done.returncode == 0
    assert done.stdout.startswith("EVIL RAN\nran\n") is used
    if not used:
        assert done.stderr == refused(file, f"it belongs to user {OTHER}")


@pytest.mark.parametrize(
    ("words", "sets"),
    [
        ([], "setup = 'evil.py', outfile = 'out.lprof'"),
        (["-o", "my.lprof"], "setup = 'evil.py'"),
        (["-s", ""], "outfile = 'out.lprof'"),
        (["-o", "my.lprof", "-s", ""], ""),
        (["-q"], ""),
        (["--no-config", "-l"], ""),
    ],
)
def test_a_file_that_was_not_named_says_what_it_runs_and_writes(
    here: Path, below: Path, words: list[str], sets: str
) -> None:
    text = EVIL.format(table="lineprof") + "quiet = 1\n"
    file = configure(here / "lineprof.toml", text)
    line = f"kernprof: {file} sets {sets}; --no-config ignores that file\n"
    outcome = kernprof_here(*words, "x.py", cwd=below)
    assert outcome.err == (line if sets else "")
    assert outcome.status == 0
    named = kernprof_here("--config", str(file), "x.py", cwd=below)
    assert named.err == ""


def test_what_is_set_is_said_before_it_runs(here: Path, below: Path) -> None:
    configure(here / "lineprof.toml", EVIL.format(table="lineprof"))
    write(below, "evil.py", "import sys; sys.exit('stopped')\n")
    first, *_, last = kernprof("x.py", cwd=below).err.splitlines()
    assert "sets setup = 'evil.py'" in first
    assert last == "stopped"


@needs_root
def test_the_viewer_does_not_take_the_file_of_another_user(
    here: Path, below: Path
) -> None:
    kernprof_here("-lq", "--whole", "x.py", cwd=below)
    plain = viewer("view", "x.lprof", cwd=below)
    text = "[tool.lineprof.cli]\nunit = 1\n"
    file = configure(here / "line_profiler.toml", text, STRANGER)
    viewed = viewer("view", "x.lprof", cwd=below)
    assert viewed.out == plain.out
    reason = f"it belongs to user {STRANGER}"
    assert viewed.err == refused(file, reason, "lineprof") + plain.err


@needs_root
@needs_ipython
def test_a_magic_does_not_take_the_file_of_another_user(
    here: Path, below: Path
) -> None:
    text = "[tool.lineprof.show.column_widths]\nline = 9\n"
    file = configure(here / "lineprof.toml", text)
    program = ("def f():\n    return 1", "%lprun -f f f()")
    wide = cells(*program, cwd=below)
    assert "\n        2         1 " in wide
    assert "ignoring" not in wide
    os.chown(file, STRANGER, STRANGER)
    plain = cells(*program, cwd=below)
    assert "\n     2         1 " in plain
    assert refused(file, f"it belongs to user {STRANGER}", "lineprof") in plain


@needs_root
def test_a_program_is_not_profiled_because_another_user_says_so(
    here: Path, below: Path
) -> None:
    write(below, "x.py", GLOBAL)
    text = SWITCHED_ON.format(here / "out")
    configure(here / "pyproject.toml", text, STRANGER)
    before = files_in(here)
    plain = Outcome(0, "ran\n", "")
    assert run(["x.py"], cwd=below) == plain
    assert files_in(here) == before


@needs_root
def test_a_profiled_program_says_that_the_file_of_another_user_is_not_used(
    here: Path, below: Path
) -> None:
    write(below, "x.py", GLOBAL)
    text = SWITCHED_ON.format(here / "out")
    file = configure(here / "pyproject.toml", text, STRANGER)
    outcome = run(["x.py"], cwd=below, env={"LINE_PROFILE": "1"})
    assert outcome.status == 0
    reason = f"it belongs to user {STRANGER}"
    assert outcome.err == refused(file, reason, "lineprof")
    assert not (here / "out.lprof").exists()
    assert (below / "profile_output.lprof").exists()


def test_a_profiled_program_says_which_file_sets_where_it_writes(
    here: Path, below: Path
) -> None:
    write(below, "x.py", GLOBAL)
    file = configure(here / "pyproject.toml", SWITCHED_ON.format(here / "out"))
    outcome = run(["x.py"], cwd=below)
    assert outcome.err == (
        f"lineprof: {file} sets output_prefix = '{here}/out';"
        " LINE_PROFILER_RC can name another file\n"
    )
    assert (here / "out.lprof").exists()
    named = run(["x.py"], cwd=below, env={"LINE_PROFILER_RC": str(file)})
    assert (named.status, named.err) == (0, "")
    write(below, "x.py", GLOBAL + "profile.output_prefix = 'mine'\n")
    own = run(["x.py"], cwd=below)
    assert (own.status, own.err) == (0, "")


def test_control_characters_in_the_name_of_a_folder_are_not_printed(
    here: Path,
) -> None:
    folder = here / "a\x1b[31mb"
    write(folder, "x.py", PROGRAM)
    configure(folder / "lineprof.toml", EVIL.format(table="lineprof"), mode=0o666)
    for words in (["-l", "x.py"], ["x.py"]):
        outcome = kernprof_here(*words, cwd=folder)
        assert "\\x1b[31m" in outcome.err
        assert "\x1b" not in outcome.err
    configure(folder / "lineprof.toml", "[tool.lineprof.kernprof]\noutfile = 'o'\n")
    outcome = kernprof_here("x.py", cwd=folder)
    assert "\\x1b[31m" in outcome.err
    assert "\x1b" not in outcome.err
