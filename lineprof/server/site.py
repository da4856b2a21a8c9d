"""Answers to requests for served profiles, without the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, urlsplit

from lineprof.server import pages
from lineprof.server.renderings import Renderings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lineprof.server.access import Access
    from lineprof.server.pages import Answer
    from lineprof.server.profiles import Profiles
    from lineprof.server.renderings import Render

_FORBIDDEN, _NOT_FOUND, _BAD_REQUEST = 403, 404, 400

_NS_PER_MS = 1_000_000

_MAX_FIELDS = 8  # of a query


class Request(NamedTuple):
    """The parts of a request that matter."""

    target: str  # path and query
    hosts: Sequence[str]  # headers Host
    cookies: Sequence[str]  # headers Cookie
    address: str  # of this machine, by which the request came


class Site:
    """The pages of one run of the server.

    Their paths are ``/``, with the token; ``/FOLDER/`` and ``/FOLDER/list``, the list;
    ``/FOLDER/ID/`` with ``state`` and ``report`` below it, a profile.
    """

    def __init__(self, profiles: Profiles, render: Render, access: Access) -> None:
        """Take the profiles, the function that renders a report, and the rules."""
        self._profiles = profiles
        self._renderings = Renderings(render)
        self._access = access

    def answer(self, request: Request) -> Answer:
        """Return the answer to a request of any sender."""
        if not self._access.takes_host([*request.hosts], request.address):
            return pages.text(
                _FORBIDDEN,
                "This server does not answer by that name or port: open the address"
                " that lineprof serve printed.",
            )
        try:
            target = urlsplit(request.target)
            query = parse_qs(target.query, max_num_fields=_MAX_FIELDS)
        except ValueError:
            return pages.text(_BAD_REQUEST, "Bad request.")
        if target.path == "/":
            return self._first(query.get("token", []))
        if not self._access.takes_cookies(request.cookies):
            return _without_token()
        return self._page(target.path.removeprefix(f"/{self._access.folder}/"))

    def _first(self, tokens: list[str]) -> Answer:
        """Return the page for the address that was printed."""
        if len(tokens) != 1 or not self._access.takes_token(tokens[0]):
            return _without_token()
        one = self._profiles.only
        place = f"/{self._access.folder}/{f'{one.id}/' if one else ''}"
        return pages.first_page(place, self._access.cookie())

    def _page(self, path: str) -> Answer:
        """Return what is at a path below the folder, for who knows the token."""
        is_folder = self._profiles.only is None
        if is_folder and not path:
            return pages.folder_page(self._profiles.name)
        if is_folder and path == "list":
            return self._list()
        profile_id, _, name = path.partition("/")
        profile = self._profiles.find(profile_id)
        if profile is not None and path == f"{profile.id}/":
            return pages.profile_page(profile.name, in_folder=is_folder)
        if profile is not None and name == "state":
            return pages.values(self._renderings.status(profile)._asdict())
        if profile is not None and name == "report":
            body = self._renderings.report(profile)
            if body:
                return pages.report(body)
        return pages.text(_NOT_FOUND, "There is no such page.")

    def _list(self) -> Answer:
        listing = self._profiles.listing()
        rows = [
            {
                "id": one.profile.id,
                "name": one.profile.name,
                "program": one.program,
                "written": one.state.written_ns // _NS_PER_MS,
                "wall": one.wall_ns,
                "size": one.state.size,
            }
            for one in listing.rows
        ]
        return pages.values({"profiles": rows, "remark": listing.remark})


def _without_token() -> Answer:
    return pages.text(
        _FORBIDDEN,
        "The token is missing or wrong: open the address that lineprof serve printed.",
    )
