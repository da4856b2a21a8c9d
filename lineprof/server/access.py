"""Access to a server of reports: its token, its cookie, the hosts by which it answers.

Everybody on this machine can connect to the server, and every page in the user's
browser can make that browser connect. So a request has to prove two things: that its
sender knows the token (a cookie has it), and that the browser takes the server for
this one (the header Host), not for a host of an attacker whose name was made to lead
here. A browser sends cookies to every port of a host; the cookie of this server is
limited to a folder with a random name, so that servers at other ports do not get it.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from collections.abc import Iterable

_COOKIE = "lineprof"

_HTTP_PORT = 80  # which addresses and the header Host leave out

_WILDCARDS = ("0.0.0.0", "::")  # noqa: S104  # addresses of all interfaces

_IPV4_IN_IPV6 = "::ffff:"  # how the wildcard of IPv6 gets requests of IPv4


class Access:
    """The rules of one run of a server."""

    def __init__(
        self, host: str, address: str, port: int, token: str | None = None
    ) -> None:
        """Take the name that the user gave, and where the server listens.

        Without a `token` there is a new one.
        """
        self.folder = secrets.token_urlsafe(12)  # below it lie all pages
        self._token = token or secrets.token_urlsafe()
        self._once: str | None = None
        self._lock = threading.Lock()
        self._port = port
        self._name = socket.gethostname() if address in _WILDCARDS else in_url(host)
        names = {"127.0.0.1", "localhost", "[::1]", self._name}
        self._hosts = {self._with_port(name).lower() for name in names}

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        return f"http://{self._with_port(self._name)}/?token={self._token}"

    def url_for_once(self) -> str:
        """Return an address that can be opened once.

        For command lines, which all users of a machine can read.
        """
        self._once = secrets.token_urlsafe()
        return f"http://{self._with_port(self._name)}/?token={self._once}"

    def takes_token(self, token: str) -> bool:
        """Tell whether `token` is right; one that is for once is right once."""
        if _equal(token, self._token):
            return True
        with self._lock:
            if self._once is None or not _equal(token, self._once):
                return False
            self._once = None
        return True

    def cookie(self) -> str:
        """Return the header Set-Cookie."""
        path = f"Path=/{self.folder}/"
        return f"{_COOKIE}={self._token}; {path}; HttpOnly; SameSite=Strict"

    def takes_cookies(self, headers: Iterable[str]) -> bool:
        """Tell whether one of the headers Cookie has the token."""
        pairs = (pair.partition("=") for one in headers for pair in one.split(";"))
        found = [value for name, _, value in pairs if name.strip() == _COOKIE]
        return any(_equal(value.strip(), self._token) for value in found)

    def takes_scraper(
        self, tokens: Iterable[str], credentials: Iterable[str], cookies: Iterable[str]
    ) -> bool:
        """Tell whether a scraper has the token, in any of its forms, or the cookie.

        `tokens` are those of its address, `credentials` its headers Authorization. It
        comes again and again, so that a token which is right once is not taken.
        """
        pairs = (one.partition(" ") for one in credentials)
        tokens = [
            *tokens,
            *(word.strip() for scheme, _, word in pairs if scheme.lower() == "bearer"),
        ]
        is_right = [_equal(one, self._token) for one in tokens]
        return self.takes_cookies(cookies) if not is_right else all(is_right)

    def takes_host(self, headers: list[str], address: str) -> bool:
        """Tell whether the headers Host name this server, by one of its names.

        `address` is the one of this machine by which the request came: no attacker's
        name can be an address.
        """
        own = self._with_port(in_url(address.removeprefix(_IPV4_IN_IPV6)))
        return len(headers) == 1 and headers[0].lower() in {*self._hosts, own}

    def _with_port(self, host: str) -> str:
        return host if self._port == _HTTP_PORT else f"{host}:{self._port}"


def token_in(path: str) -> str:
    """Return the token in a file, which is made if there is none; LineprofError."""
    try:
        with suppress(FileExistsError):
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
            with open(os.open(path, flags, 0o600), "w", encoding="ascii") as stream:
                stream.write(f"{secrets.token_urlsafe()}\n")
        with open(path, "rb") as stream:
            status = os.fstat(stream.fileno())
            token = stream.read(_MAX_TOKEN).decode("ascii", "replace").strip()
    except OSError as error:
        raise LineprofError(
            f"cannot read the token in {path}: {error.strerror}",
            hint="name another file with --token-file",
        ) from error
    if status.st_uid not in {os.getuid(), _ROOT}:
        raise LineprofError(
            f"{path} is another user's", hint="name another file with --token-file"
        )
    if status.st_mode & _OTHERS:
        raise LineprofError(f"other users can use {path}", hint=f"chmod 600 {path}")
    if not _TOKEN.fullmatch(token):
        raise LineprofError(
            f"{path} has no token of 20 or more letters and digits",
            hint="remove it: a new one is made",
        )
    return token


_ROOT = 0  # it can read all files, and owns the secrets of containers

_OTHERS = 0o037  # all rights of others, and those of the group but to read

_MAX_TOKEN = 500  # bytes of its file

_TOKEN = re.compile(r"[\w.~-]{20,200}", re.ASCII)  # as it is in addresses and headers


def in_url(host: str) -> str:
    """Return a host's name or address as it is written in a URL."""
    return f"[{host}]" if ":" in host else host


def _equal(given: str, right: str) -> bool:
    """Compare in a time that does not depend on the texts."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), right.encode())
