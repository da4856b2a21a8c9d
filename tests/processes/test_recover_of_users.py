"""`lineprof recover` as root: its own runs, or those of all users."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from as_python import hits_in, kernprof_forked, viewer, write
from other_user import USER, become_other_user, skip_without_other_user

from kernprof.__main__ import command
from kernprof.environment import import_all
from lineprof.processes import recovery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.once  # users and permissions are the same with each Python
KILLED = """
    import os, signal
    @profile
    def work():
        return 1
    work()
    os.kill(os.getpid(), signal.SIGKILL)
    """
root = pytest.mark.usefixtures("_other_user")


@pytest.fixture
def _other_user() -> None:
    skip_without_other_user()


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder to which all users can write, as ``/tmp``, and that is TMPDIR."""
    path = Path(tempfile.mkdtemp(prefix="lineprof-users-"))
    path.chmod(0o1777)
    for name in ("root", "nobody"):
        write(path / name, "killed.py", KILLED)
        (path / name).chmod(0o755)
    os.chown(path / "nobody", USER, USER)
    monkeypatch.delenv("LINEPROF_LIVE")
    monkeypatch.setenv("TMPDIR", str(path))
    monkeypatch.setattr(recovery, "_USUAL_FOLDERS", ())  # those of real users
    yield path
    shutil.rmtree(path)


def as_nobody(act: Callable[[], object]) -> int:
    """Call a function in a process of another user; return how it ended."""
    import_all()  # that user may not read the folder of this Python
    child = os.fork()
    if not child:
        try:
            become_other_user()
            act()
        finally:
            os._exit(77)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def leave_runs(folder: Path) -> None:
    """Run a program that is killed, as root and as another user."""

    def run() -> None:
        os.chdir(folder / "nobody")
        sys.argv = ["kernprof", "-lq", "killed.py"]
        command()

    assert kernprof_forked("-lq", "killed.py", cwd=folder / "root").status == -9
    assert as_nobody(run) == -9


def profiles(folder: Path) -> list[str]:
    """Return the profiles in the folders of the users."""
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*/*.lprof"))


@root
def test_root_recovers_its_own_runs_alone(folder: Path) -> None:
    leave_runs(folder)
    done = viewer("recover", cwd=folder)
    assert (done.status, done.err) == (0, "")
    assert profiles(folder) == ["root/killed.lprof"]
    assert "nobody" not in done.out
    assert viewer("recover", cwd=folder).out == "there is nothing to recover\n"


@root
def test_root_recovers_the_runs_of_all_users_as_these_users(folder: Path) -> None:
    leave_runs(folder)
    listed = viewer("recover", "--all-users", "--list", cwd=folder)
    assert listed.status == 0
    assert profiles(folder) == []
    assert users_with_live_files(folder) == ["nobody", "root"]
    assert viewer("recover", "--all-users", cwd=folder).status == 0
    assert profiles(folder) == ["nobody/killed.lprof", "root/killed.lprof"]
    for name, user in (("root", 0), ("nobody", USER)):
        file = folder / name / "killed.lprof"
        assert hits_in(file) == {"work": {5: 1}}
        assert file.stat().st_uid == user
    done = viewer("recover", "--all-users", cwd=folder)
    assert done.out == "there is nothing to recover\n"


def users_with_live_files(folder: Path) -> list[str]:
    """Return the users that have live files below a folder."""
    names = {0: "root", USER: "nobody"}
    found = folder.glob("lineprof-*/*.live")
    return sorted(names[path.stat().st_uid] for path in found)


@root
def test_a_live_file_of_another_user_writes_with_that_users_rights(
    folder: Path,
) -> None:
    """The file names the profile to write, which may be one of root's."""
    leave_runs(folder)
    [live] = (folder / f"lineprof-{USER}").glob("*.live")
    named, roots = (
        f"{folder}/{n}".encode() for n in ("nobody/killed", "root/others--")
    )
    assert len(named) == len(roots)
    data = live.read_bytes()
    assert named + b".lprof" in data
    live.write_bytes(data.replace(named + b".lprof", roots + b".lprof"))
    done = viewer("recover", "--all-users", cwd=folder)
    assert done.status == 1
    assert f"not all runs of user {USER} could be recovered" in done.err
    assert profiles(folder) == ["root/killed.lprof"]


@root
def test_a_folder_of_another_name_or_owner_is_no_users(folder: Path) -> None:
    (folder / f"lineprof-{USER}").mkdir()  # root's
    (folder / "lineprof-x").mkdir()
    (folder / "lineprof-12345").symlink_to(folder / "nobody")
    found = [path for paths in recovery.folders_of_users().values() for path in paths]
    assert [path for path in found if path.startswith(str(folder))] == []


def test_all_users_needs_root_and_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (["."], ["-o", "x.lprof"]):
        done = viewer("recover", "--all-users", *words, cwd=tmp_path)
        assert done.status == 1
        assert done.err == (
            "lineprof: --all-users writes each profile where its run would have"
            " written it; leave out the places and -o\n"
        )
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = viewer("recover", "--all-users", cwd=tmp_path)
    assert done.err == (
        "lineprof: --all-users takes the runs of other users, which only root may;"
        " run it as root, or leave the flag out\n"
    )
