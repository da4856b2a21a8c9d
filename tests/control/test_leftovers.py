"""Files that killed programs and clients leave are removed by the next client."""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

import pytest

from lineprof.control.place import OF_CLIENTS, SCRIPT, remove_leftovers
from lineprof.private_folder import PrivateFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[PrivateFolder]:
    with PrivateFolder.open(str(tmp_path / "own"), make=True) as one:
        yield one


def make_old(folder: PrivateFolder, name: str) -> None:
    """Let a file be an hour old."""
    then = time.time() - 3600
    os.utime(f"{folder.path}/{name}", (then, then))


def test_a_socket_at_which_nobody_listens_is_removed(folder: PrivateFolder) -> None:
    for name in ("1.sock", "2.sock"):
        with socket.socket(socket.AF_UNIX) as dead:
            folder.bind(dead, name)
            dead.listen()
    make_old(folder, "1.sock")
    remove_leftovers(folder)
    assert folder.names() == ["2.sock"]  # which may be about to listen


def test_a_program_that_listens_is_not_even_woken(folder: PrivateFolder) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        folder.bind(listening, "1.sock")
        listening.listen()
        listening.setblocking(False)
        make_old(folder, "1.sock")
        remove_leftovers(folder)
        assert folder.names() == ["1.sock"]
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_files_of_a_client_are_removed_once_it_has_gone(folder: PrivateFolder) -> None:
    names = [f"1-a{end}" for end in sorted(OF_CLIENTS)]
    with PrivateFolder.open(folder.path) as client:
        for name in names:
            client.create(name)
            make_old(folder, name)
        remove_leftovers(folder)
        assert sorted(folder.names()) == names
    remove_leftovers(folder)
    assert folder.names() == []


def test_profiles_and_live_files_are_kept(folder: PrivateFolder) -> None:
    names = ["1-a.live", "1-a.lprof", "other.txt"]
    with PrivateFolder.open(folder.path) as client:
        for name in names:
            client.create(name)
            make_old(folder, name)
    remove_leftovers(folder)
    assert sorted(folder.names()) == names


def test_links_are_left_as_they_are(folder: PrivateFolder, tmp_path: Path) -> None:
    (tmp_path / "target.code").write_text("kept", encoding="utf-8")
    (tmp_path / "own" / "1-a.code").symlink_to(tmp_path / "target.code")
    os.mkfifo(tmp_path / "own" / "1-a.boot")
    make_old(folder, "1-a.boot")
    remove_leftovers(folder)
    assert (tmp_path / "target.code").read_text(encoding="utf-8") == "kept"
    assert sorted(folder.names()) == ["1-a.boot", "1-a.code"]


def test_a_script_stays_as_long_as_its_process_may_run_it(
    folder: PrivateFolder,
) -> None:
    names = [f"{pid}-a{SCRIPT}" for pid in (os.getpid(), 999_999_999)]
    with PrivateFolder.open(folder.path) as client:
        for name in names:
            client.create(name)
            make_old(folder, name)
    remove_leftovers(folder)
    assert folder.names() == names[:1]
