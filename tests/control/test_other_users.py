"""Doors between two users: the folder where programs and their clients meet.

A second real user attacks each of them. Nothing of root's may be read, written or
given away, whatever the other user puts there and at whatever moment.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from as_python import viewer, write
from deadline import DEADLINE
from other_user import (
    OTHER_NAME,
    OWN_NAME,
    REQUIRED,
    USER,
    OtherProgram,
    shared_folder,
    skip_without_other_user,
)
from target_process import (
    Target,
    hidden_folder,
    other_namespaces,
    python_below,
    wait_until,
    why_not,
)

from lineprof import load_stats, process_info
from lineprof.attach import boot, dump
from lineprof.control.address import folder_of_socket
from lineprof.control.place import OF_CLIENTS, open_below, place_of
from lineprof.errors import LineprofError
from lineprof.private_folder import PrivateFolder, Rights

if TYPE_CHECKING:
    from collections.abc import Iterator

TRIES = int(os.environ.get("LINEPROF_TEST_TRIES", "100"))  # of each race
CONTENT = "only root may read this\n"


@pytest.fixture(scope="module", autouse=True)
def _is_root() -> None:
    skip_without_other_user()


@pytest.fixture
def temporary() -> Iterator[Path]:
    yield from shared_folder()


@pytest.fixture
def secret(tmp_path: Path) -> Iterator[Path]:
    """Yield a file of root's alone, which must be the same at the end."""
    path = tmp_path / "secret"
    path.write_text(CONTENT, encoding="utf-8")
    path.chmod(0o600)
    yield path
    status = path.stat()
    assert path.read_text(encoding="utf-8") == CONTENT
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (0, 0o600)


def needs_joining() -> None:
    if reason := why_not():
        (pytest.fail if os.environ.get(REQUIRED) else pytest.skip)(reason)


# -- a hostile program that answers ----------------------------------------------------

ANSWERS = """\
secret, how = sys.argv[1:]
folder = os.path.join(os.environ["TMPDIR"], f"lineprof-{os.getuid()}")
os.mkdir(folder, 0o700)
link = os.path.join(folder, "stolen.lprof")
os.symlink(secret, link)
os.mkfifo(os.path.join(folder, "pipe"))
listening = socket.socket(socket.AF_UNIX)
listening.bind(os.path.join(folder, f"{os.getpid()}.sock"))
listening.listen()
def handles():
    if how == "folder":
        return [os.open(folder, os.O_RDONLY)]
    if how == "pipe":
        return [os.open(os.path.join(folder, "pipe"), os.O_RDWR)]
    if how == "device":
        return [os.open("/dev/zero", os.O_RDONLY)]
    if how == "sparse":
        handle = os.open(os.path.join(folder, "new"), os.O_RDWR | os.O_CREAT)
        os.truncate(handle, 1 << 40)
        return [handle]
    if how in {"counts", "profile"}:
        handle = os.open(os.path.join(folder, "new"), os.O_RDWR | os.O_CREAT)
        os.write(handle, b'{"at": 1, "size": 99}' + os.urandom(10000))
        os.lseek(handle, 0, os.SEEK_SET)
        return [handle]
    return []
print("ready", flush=True)
while True:
    client, _ = listening.accept()
    for line in client.makefile("rb"):
        command = json.loads(line)["command"]
        reply, passed = {"text": "a\\x1b[31mRED\\nforged"}, []
        if command == "attach":
            reply = {"text": "joined", "live": link, "version": lineprof.__version__}
        if command == "detach":
            kind = how if how in {"counts", "profile"} else link
            reply, passed = {"file": kind, "ended": "", "summary": 7}, handles()
        socket.send_fds(client, [json.dumps(reply).encode() + b"\\n"], passed)
"""


@pytest.mark.parametrize(
    "how", ["nothing", "folder", "pipe", "device", "sparse", "counts", "profile"]
)
def test_attach_reads_no_file_that_the_program_names(
    how: str, temporary: Path, secret: Path, tmp_path: Path
) -> None:
    with OtherProgram(ANSWERS, secret, how, temporary=temporary) as program:
        flags = ("--duration", "0.1", "-o", "x.lprof")
        done = viewer("attach", str(program.pid), *flags, cwd=tmp_path)
    assert done.status == 1
    assert len(done.err.splitlines()) == 1
    assert re.search("gave no profile|is no file|damaged|more than 1024", done.err)
    assert not (tmp_path / "x.lprof").exists()


def test_a_reply_cannot_forge_lines(temporary: Path, secret: Path) -> None:
    with OtherProgram(ANSWERS, secret, "nothing", temporary=temporary) as program:
        done = viewer("ctl", str(program.pid), "status", cwd=temporary)
    assert (done.status, done.err) == (0, "")
    assert len(done.out.splitlines()) == 1
    assert "\x1b" not in done.out


LINKED = """\
folder = os.path.join(os.environ["TMPDIR"], f"lineprof-{os.getuid()}")
os.mkdir(folder, 0o700)
os.symlink(sys.argv[1], os.path.join(folder, f"{os.getpid()}.sock"))
print("ready", flush=True)
time.sleep(1000)
"""


def test_root_connects_to_no_socket_behind_a_link(
    temporary: Path, tmp_path: Path
) -> None:
    with (
        socket_of_root(tmp_path) as path,
        OtherProgram(LINKED, path, temporary=temporary) as program,
    ):
        done = viewer("ctl", str(program.pid), "status", cwd=tmp_path)
    assert done.status == 1
    assert "is no socket of its folder's owner" in done.err


def test_root_connects_to_no_other_process(temporary: Path, secret: Path) -> None:
    """Another process of the user listens at the program's name."""
    with (
        OtherProgram(ANSWERS, secret, "nothing", temporary=temporary) as program,
        OtherProgram(WAITS, temporary=temporary) as other,
    ):
        folder = temporary / OTHER_NAME
        (folder / f"{program.pid}.sock").rename(folder / f"{other.pid}.sock")
        done = viewer("ctl", str(other.pid), "status", cwd=temporary)
    assert done.status == 1
    assert f"process {program.pid} listens in the place of" in done.err


WAITS = """\
print("ready", flush=True)
for line in sys.stdin:
    pass
"""


class socket_of_root:  # noqa: N801  # a context manager
    """A socket that only root may connect to, and that counts connections."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "daemon.sock"

    def __enter__(self) -> Path:
        import socket  # noqa: PLC0415

        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(self._path))
        self._socket.listen()
        self._socket.setblocking(False)
        return self._path

    def __exit__(self, *_: object) -> None:
        with self._socket, pytest.raises(BlockingIOError):
            self._socket.accept()


# -- programs of the other user, joined by root ----------------------------------------

WORKS = """\
def work():
    return sum(range(100))
def loop():
    while True:
        work()
print("ready", flush=True)
loop()
"""


def test_root_attaches_to_a_program_of_the_other_user(
    temporary: Path, tmp_path: Path
) -> None:
    needs_joining()
    with OtherProgram(WORKS, temporary=temporary) as program:
        for _ in range(2):
            flags = ("--duration", "0.3", "-o", "x.lprof")
            done = viewer("attach", str(program.pid), *flags, cwd=tmp_path)
            assert (done.status, done.err) == (0, "")
    assert hits_of_work(tmp_path / "x.lprof") > 0
    assert (tmp_path / "x.lprof").stat().st_uid == 0
    folder = temporary / OTHER_NAME
    assert folder.stat().st_uid == USER
    assert [*folder.glob(f"{program.pid}[!0-9]*")] == []


def test_root_has_the_counts_of_a_program_that_is_killed(
    temporary: Path, tmp_path: Path
) -> None:
    needs_joining()
    with OtherProgram(WORKS, temporary=temporary) as program:
        command = [sys.executable, "-m", "lineprof", "attach", str(program.pid)]
        with subprocess.Popen(
            [*command, "-d", "60", "-o", tmp_path / "x.lprof"],
            stdout=subprocess.PIPE,
            text=True,
        ) as client:
            assert client.stdout.readline().startswith("Attached")
            (file,) = (temporary / OTHER_NAME).glob("*.live")
            before = file.read_bytes()
            wait_until(lambda: file.read_bytes() != before)
            program.process.kill()
            out, _ = client.communicate(timeout=DEADLINE)
            assert client.returncode == 0
    assert f"(process {program.pid}: it was killed" in out
    assert hits_of_work(tmp_path / "x.lprof") > 0
    assert not file.exists()


def hits_of_work(path: Path) -> int:
    """Return how often the body of `work` ran."""
    return sum(
        row.hits
        for function in load_stats(path).functions
        if function.name == "work"
        for row in function.rows
    )


# -- folders that the other user made first --------------------------------------------

SQUATS = """\
temporary, name, how, target = sys.argv[1:]
folder = os.path.join(temporary, name)
os.umask(0)
if how == "open":
    os.mkdir(folder, 0o777)
elif how == "private":
    os.mkdir(folder, 0o700)
else:
    os.symlink(target, folder)
print("ready", flush=True)
time.sleep(1000)
"""


@pytest.fixture(params=["open", "private", "link"])
def squatted(
    request: pytest.FixtureRequest, temporary: Path, tmp_path: Path
) -> Iterator[Path]:
    """Yield a folder for temporary files in which root's name is taken."""
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    words = (temporary, OWN_NAME, request.param, own)
    with OtherProgram(SQUATS, *words, temporary=temporary):
        yield temporary
    assert [*own.iterdir()] == []
    assert [*(temporary / OWN_NAME).iterdir()] == []


COUNTING = """\
print("ready", flush=True)
n = 0
while True:
    n += 1
"""


@pytest.mark.parametrize("command", ["attach", "dump", "ctl"])
def test_a_folder_that_another_user_made_is_refused(
    command: str,
    squatted: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needs_joining()
    if command == "dump" and sys.version_info >= (3, 14):
        pytest.skip("Python 3.14 reads stacks without a file")
    monkeypatch.setattr(dump, "_py_spy", lambda: None)
    words = {"ctl": ("status",), "attach": ("-d", "0.1")}.get(command, ())
    with Target(COUNTING, env={"TMPDIR": str(squatted)}) as target:
        done = viewer(command, str(target.pid), *words, cwd=tmp_path)
    assert done.status == 1
    folder = squatted / OWN_NAME
    assert re.fullmatch(
        f"lineprof: (other users can write to {folder}|{folder} is no folder); .*\n",
        done.err,
    )


def test_a_program_does_not_listen_in_such_a_folder(squatted: Path) -> None:
    with pytest.raises((LineprofError, OSError)):
        folder_of_socket(str(squatted / OWN_NAME))


def test_a_program_runs_without_a_live_file_there(
    squatted: Path, tmp_path: Path
) -> None:
    write(tmp_path, "x.py", "@profile\ndef f(): return 1\nprint(f())\n")
    done = subprocess.run(
        [sys.executable, "-m", "kernprof", "-lq", "x.py"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(squatted)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert load_stats(tmp_path / "x.lprof").functions[0].calls == 1


# -- races -----------------------------------------------------------------------------

SWAPS = """\
folder = os.path.join(os.environ["TMPDIR"], f"lineprof-{os.getuid()}")
secret, aside = sys.argv[1], os.path.join(os.environ["TMPDIR"], "aside")
os.mkdir(folder, 0o700)
os.mkdir(aside, 0o700)
print("ready", flush=True)
number = 0
while True:
    for name in os.listdir(folder):
        path, link = os.path.join(folder, name), os.path.join(aside, str(number))
        number += 1
        try:
            os.symlink(secret, link)
            os.rename(link, path)  # in the place of the file that root has just made
        except OSError:
            pass
"""


def test_a_new_file_that_is_swapped_for_a_link_gives_nothing_away(
    temporary: Path, secret: Path
) -> None:
    """Root makes, reads and removes files of the folder while links replace them."""
    groups = os.getgroups()
    with OtherProgram(SWAPS, secret, temporary=temporary) as program:
        place = place_of(program.pid)
        for number in range(TRIES):
            with place.folder(make=True) as folder:
                names = [f"{number}{end}" for end in OF_CLIENTS]
                for name in names:
                    folder.create(name, b"of root")
                for name in names:
                    with suppress(OSError, LineprofError):  # it is a link by now
                        assert folder.read(name, 100) == b"of root"
                for name in names:
                    folder.remove(name)
    assert (os.geteuid(), os.getegid(), os.getgroups()) == (0, 0, groups)


FLIPS = """\
name, target = sys.argv[1:]
folder = os.path.join(os.environ["TMPDIR"], name)
os.umask(0)
print("ready", flush=True)
while True:
    for act in (lambda: os.mkdir(folder, 0o777), lambda: os.rmdir(folder),
                lambda: os.symlink(target, folder), lambda: os.unlink(folder)):
        try:
            act()
        except OSError:
            pass
"""


def test_a_folder_that_comes_and_goes_is_never_used(
    temporary: Path, tmp_path: Path
) -> None:
    """Another user makes and removes the folder of root's name, and a link."""
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    path = temporary / OWN_NAME
    used = refused = 0
    with OtherProgram(FLIPS, OWN_NAME, own, temporary=temporary):
        for _ in range(TRIES):
            try:
                with PrivateFolder.open(str(path), make=True) as folder:
                    folder.create("1-1.code", b"code")
                    assert folder.status("1-1.code").st_uid == 0
                    assert path.lstat().st_uid == 0  # it is root's own, and stays
                    folder.remove("1-1.code")
                used += 1
                path.rmdir()
            except (OSError, LineprofError):
                refused += 1
    assert used + refused == TRIES
    assert [*own.iterdir()] == []


MOVES = """\
secret = sys.argv[1]
temporary = os.environ["TMPDIR"]
folder = os.path.join(temporary, f"lineprof-{os.getuid()}")
names = [os.path.join(temporary, one) for one in ("a", "b")]
os.mkdir(names[0], 0o700)
os.symlink(os.path.dirname(secret), names[1])
print("ready", flush=True)
while True:
    for name in names:
        try:
            os.rename(name, folder)
            os.rename(folder, name)
        except OSError:
            pass
"""


def test_root_puts_nothing_behind_a_folder_that_becomes_a_link(
    temporary: Path, secret: Path
) -> None:
    before = {*secret.parent.iterdir()}
    with OtherProgram(MOVES, secret, temporary=temporary) as program:
        place = place_of(program.pid)
        for number in range(TRIES):
            try:
                with place.folder(make=True) as folder:
                    folder.create(f"{number}.code", b"code")
                    assert folder.status(f"{number}.code").st_uid == USER
            except (OSError, LineprofError):
                continue
    assert {*secret.parent.iterdir()} == before
    assert os.geteuid() == 0


# -- what a program takes from a client ------------------------------------------------


@pytest.mark.parametrize("how", ["owner", "mode", "link", "pipe"])
def test_a_program_runs_no_code_that_another_user_may_have_written(
    how: str, tmp_path: Path
) -> None:
    code = tmp_path / "1.code"
    code.write_bytes(b"code")
    code.chmod(0o600)
    assert boot._own_content(str(code)) == b"code"
    if how == "owner":
        os.chown(code, USER, USER)
    elif how == "mode":
        code.chmod(0o622)
    else:
        code.rename(tmp_path / "2.code")
        if how == "link":
            code.symlink_to(tmp_path / "2.code")
        else:
            os.mkfifo(code)
    try:
        assert boot._own_content(str(code)) == b""
    except OSError as error:
        assert how == "link", error  # noqa: PT017


def test_links_of_a_program_with_other_mounts_lead_to_its_own_files(
    tmp_path: Path,
) -> None:
    """As in a container: a link with a full path is one below the program's root."""
    top = tmp_path / "root"
    (top / "a" / "deep").mkdir(parents=True)
    (top / "etc").mkdir()
    (top / "link").symlink_to("/etc")
    (top / "a" / "up").symlink_to("../../../../../etc")
    (top / "loop").symlink_to("loop")
    (tmp_path / "etc").mkdir()
    handle = os.open(top, os.O_RDONLY)
    try:
        for path in ("/link", "a/up", "/a/../../../etc/.", "/a/deep/../up"):
            found = open_below(handle, path)
            assert os.path.samestat(os.fstat(found), (top / "etc").stat()), path
            os.close(found)
        with pytest.raises(OSError, match="symbolic links"):
            open_below(handle, "/loop")
        with pytest.raises(FileNotFoundError):
            open_below(handle, "/no/such")
    finally:
        os.close(handle)


def test_a_program_in_other_namespaces_does_not_lead_root_astray(
    tmp_path: Path,
) -> None:
    """Its folder is a link, which leads to a folder of root's on this side."""
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    program = f"""\
import os
os.symlink({str(own)!r}, {f"{hidden_folder()}/{OWN_NAME}"!r})
{COUNTING}"""
    env = {"TMPDIR": hidden_folder()}
    with Target(program, before=other_namespaces(), env=env) as target:
        pid = python_below(target.pid)
        place = place_of(pid)
        assert place.root == f"/proc/{pid}/root"
        assert place.inside.startswith(hidden_folder())
        with pytest.raises(LineprofError, match="is no folder"):
            place.folder(make=True)
        done = viewer("attach", str(pid), "-d", "0.1", cwd=tmp_path)
    assert done.status == 1
    assert "is no folder" in done.err
    assert [*own.iterdir()] == []


HIDDEN = """\
print("ready", flush=True)
time.sleep(1000)
"""


def test_links_of_the_kernel_do_not_lead_to_folders_of_root(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/proc/self/cwd would be the folder of root's client, whatever is above it."""
    closed = temporary / "closed"
    closed.mkdir(mode=0o700)
    inner = closed / "inner"
    inner.mkdir()
    inner.chmod(0o777)
    monkeypatch.chdir(inner)
    with OtherProgram(HIDDEN, temporary=Path("/proc/self/cwd")) as program:
        place = place_of(program.pid)
        with suppress(LineprofError, OSError), place.folder(make=True):
            pass
    assert [*inner.iterdir()] == []


def test_a_signal_does_not_leave_root_with_rights_of_another_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups, plain = os.getgroups(), os.setegid

    def interrupted(group: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        plain(group)

    monkeypatch.setattr(os, "setegid", interrupted)
    with pytest.raises(KeyboardInterrupt), Rights(USER, USER, ()):
        pass
    assert (os.geteuid(), os.getegid(), os.getgroups()) == (0, 0, groups)


def test_a_live_file_names_no_file_that_is_opened(tmp_path: Path) -> None:
    """Its identity has the file of a control group, which says who was killed."""
    pipe = tmp_path / "memory.events"
    os.mkfifo(pipe)
    for path in (str(pipe), f"/sys/fs/cgroup/../../..{pipe}", "/dev/zero", 7):
        known = {**process_info.identity(), "oom": (path, 0)}
        assert not process_info.oom_kills_since(known)
    known = {**process_info.identity(), "oom": ("/sys/fs/cgroup/memory.events", "0")}
    assert not process_info.oom_kills_since(known)
