"""The thread that answers requests: how it ends."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from lineprof._core import call_soon, memory_quiet
from lineprof.control.client import Connection
from lineprof.control.listener import Listener, Peer
from lineprof.control.place import Place
from lineprof.control.watch import Patience
from lineprof.private_folder import PrivateFolder, Rights
from lineprof.quiet_threads import ForkGuard

if TYPE_CHECKING:
    from pathlib import Path

SOON = 60.0  # s; only a fault reaches it


class Owner:
    """An owner whose answer takes until it is told to end."""

    def __init__(self) -> None:
        self.asked, self.may_answer = threading.Event(), threading.Event()

    def handle(self, _peer: Peer, _request: dict[str, Any]) -> dict[str, Any]:
        self.asked.set()
        self.may_answer.wait(SOON)
        return {"text": "done"}

    def left(self, peer: Peer) -> None: ...

    def waited(self) -> None: ...

    def forked(self) -> None: ...


def client(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(str(path))
    return connection


@pytest.mark.serial
def test_it_ends_at_once_although_clients_come_and_go(tmp_path: Path) -> None:
    ForkGuard.prepare(call_soon, memory_quiet)
    owner, path = Owner(), tmp_path / f"{os.getpid()}.sock"
    listener = Listener(PrivateFolder.open(str(tmp_path)), path.name, owner)
    listener.start()
    with client(path) as asking, client(path) as leaving:
        leaving.sendall(b'{"command": "status"')  # not a whole request
        asking.sendall(b'{"command": "status"}\n')
        assert owner.asked.wait(SOON)
        leaving.close()
        with client(path):
            began = time.monotonic()
            timer = threading.Timer(0.2, owner.may_answer.set)
            timer.start()
            listener.close()
            assert time.monotonic() - began < SOON
            timer.join()
        assert asking.recv(100) == b'{"text": "done"}\n'


def test_a_client_that_has_left_finds_the_program_as_it_was(tmp_path: Path) -> None:
    ForkGuard.prepare(call_soon, memory_quiet)
    owner, path = Owner(), tmp_path / f"{os.getpid()}.sock"
    owner.may_answer.set()
    listener = Listener(PrivateFolder.open(str(tmp_path)), path.name, owner)
    listener.start()
    place = Place(str(tmp_path), "", os.getpid(), Rights.own())
    patience = Patience(os.getpid(), print, str)
    before = sys.getswitchinterval()
    is_busy = True

    def work() -> None:
        while is_busy:
            pass

    busy = threading.Thread(target=work)
    busy.start()
    try:
        for _ in range(20):
            with Connection(os.getpid(), place) as connection:
                assert connection.ask("status", patience) == {"text": "done"}
            assert sys.getswitchinterval() == before
    finally:
        is_busy = False
        busy.join()
        listener.close()


@pytest.mark.serial
def test_a_client_leaves_a_program_that_goes_on_talking(tmp_path: Path) -> None:
    place = Place(str(tmp_path), "", os.getpid(), Rights.own())
    ended = threading.Event()

    def talk() -> None:
        with contextlib.suppress(OSError):
            peer, _ = listening.accept()
            with peer:
                while not ended.wait(0.02):
                    peer.send(b"x")

    with socket.socket(socket.AF_UNIX) as listening:
        with PrivateFolder.open(str(tmp_path)) as folder:
            folder.bind(listening, place.socket)
        listening.listen()
        thread = threading.Thread(target=talk)
        thread.start()
        connection = Connection(os.getpid(), place)
        began = time.monotonic()
        connection.leave()
        assert time.monotonic() - began < SOON
        ended.set()
        thread.join()
