"""`lineprof serve`: reports in a browser that follow their profiles."""

from __future__ import annotations

import io
import ipaddress
import os
import socket
import sys
import threading
import webbrowser
from argparse import BooleanOptionalAction
from functools import partial
from typing import TYPE_CHECKING

from lineprof.cli.command import (
    Command,
    add_argument,
    add_source_root,
    check_source_roots,
    find_profile,
    read_profiles,
)
from lineprof.cli.diff import compared
from lineprof.console.output import print_error, print_lines, shell_word
from lineprof.console.progress import Progress
from lineprof.console.terminal import terminal_of
from lineprof.export import pprof
from lineprof.files import SOURCE
from lineprof.flags import whole
from lineprof.processes.recovery import running_program
from lineprof.processes.so_far import profile_so_far
from lineprof.report.html import comparison, render
from lineprof.report.options import Options
from lineprof.server.access import Access, in_url, token_in
from lineprof.server.profiles import Folder, OneProfile, reading
from lineprof.server.scrapes import Sources
from lineprof.server.server import ReportServer
from lineprof.server.site import Site
from lineprof.source import sources_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from lineprof.model.profile import Profile
    from lineprof.server.profiles import Profiles
    from lineprof.server.renderings import Subject

_LOOPBACK = "127.0.0.1"

_MAX_PORT = 65535

_SSH_PORT = "22"


_port = whole("port", f"give 0 to {_MAX_PORT}", most=_MAX_PORT)


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = partial(add_argument, parser)
    add(
        "FILE",
        "a profile, or a folder: then a page lists the profiles (*.lprof) in it"
        " and below",
        nargs=1,
    )
    add("--port N", "listen at this port (default: any free one)", _port, default=0)
    add(
        "--host ADDRESS",
        "listen at this address of this machine (default: 127.0.0.1, which only"
        " programs on this machine can reach)",
        default=_LOOPBACK,
    )
    add(
        "--token-file FILE",
        "take the token from this file, so that scrapers know it; it is made if there"
        " is none (default: a new token each time)",
    )
    add(
        "--open",
        "open the page in a browser (default: if this machine has a display)",
        action=BooleanOptionalAction,
        dest="is_opened",
    )
    add_source_root(parser)


def _serve(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Serve until Ctrl-C; LineprofError if there is nothing to serve."""
    if len(parsed.files) > 1:
        parser.error("serve takes one FILE, or one folder of profiles")
    roots: list[str] = parsed.source_root
    check_source_roots(roots)
    profiles = _profiles(parsed.files[0], roots)
    token = token_in(parsed.token_file) if parsed.token_file is not None else None
    with ReportServer(parsed.host, parsed.port) as server:
        access = Access(parsed.host, server.address, server.port, token)
        server.answer = Site(
            profiles, partial(_report, roots=roots), sources(roots), access
        ).answer
        _say_where(profiles, access, server)
        if _is_opened(parsed.is_opened):
            threading.Thread(
                target=_open, args=[access.url_for_once()], daemon=True
            ).start()
        server.serve_forever()


def _profiles(place: str, roots: list[str]) -> Profiles:
    """Return what there is to serve; LineprofError if there is nothing."""
    if os.path.isdir(place):
        return Folder(place)
    file = find_profile(place)
    if not os.path.lexists(file) and running_program(file):
        return OneProfile(file)  # it will write the profile
    if file.endswith(SOURCE) or not os.path.isfile(file):
        _read(file, roots)  # may recover it, else says why it cannot be read
    return OneProfile(file)


def _read(file: str, roots: list[str]) -> Profile:
    """Return a profile, without a progress line: threads of requests read it."""
    return read_profiles([file], Progress(io.StringIO()), roots)


def _report(subject: Subject, roots: list[str]) -> Iterator[str]:
    """Return the lines of the report of one profile, or of two as `diff --html` has it.

    ReadingError if one cannot be read.
    """
    read = []
    for one in subject:
        with reading(one):
            read.append(_read(one.path, roots))
    if len(read) == 1:
        (profile,) = read
        return render(profile, sources_of(profile), Options())
    before, after = read
    names = [[one.name] for one in subject]
    return comparison.render(compared([before], [after]), *names)


def sources(roots: list[str]) -> Sources:
    """Return how scrapers get profiles: those of running programs from live files."""
    return Sources(
        running=profile_so_far,
        saved=partial(_read, roots=roots),
        pprof=lambda profile: b"".join(pprof.content(profile)),
        heap=lambda profile: b"".join(pprof.heap_content(profile)),
    )


def _say_where(profiles: Profiles, access: Access, server: ReportServer) -> None:
    """Print the address, and how to open it from elsewhere or who else can."""
    print_lines([f"Serving {profiles.name} at {access.url} (Ctrl-C ends it)"])
    if not ipaddress.ip_address(server.address.partition("%")[0]).is_loopback:
        print_error(
            "other machines can reach this address: who knows its token can read the"
            " profile and its source, and so can who listens to the network"
        )
    elif _is_remote() or not _has_display():
        print_lines([f"To open it on your own machine: {_ssh(server)}"])


def _is_remote() -> bool:
    return bool(os.environ.get("SSH_CONNECTION"))


def _has_display() -> bool:
    names = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform == "darwin" or any(os.environ.get(name) for name in names)


def _ssh(server: ReportServer) -> str:
    """Return the command that makes the server's port one of the user's machine."""
    *_, ssh_port = os.environ.get("SSH_CONNECTION", "").split() or [_SSH_PORT]
    other = "" if ssh_port == _SSH_PORT else f" -p {shell_word(ssh_port)}"
    host = shell_word(socket.gethostname())
    tunnel = shell_word(f"{server.port}:{in_url(server.address)}:{server.port}")
    return f"ssh{other} -L {tunnel} {host}"


def _is_opened(asked: bool | None) -> bool:  # noqa: FBT001  # of a flag
    """Tell whether to open a browser: as `asked`, else where a user would see it."""
    if asked is not None:
        return asked
    is_terminal = terminal_of(sys.stdout).is_terminal
    return _has_display() and not _is_remote() and is_terminal


def _open(url: str) -> None:
    """Open a browser; some block until they end."""
    try:
        is_open = webbrowser.open(url)
    except (OSError, webbrowser.Error):
        is_open = False
    if not is_open:
        print_error("no browser could be opened; open the address above")


COMMAND = Command(add_flags=_add_flags, run=_serve)
