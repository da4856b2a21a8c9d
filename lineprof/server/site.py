"""Answers to requests for served profiles, without the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, urlsplit

from lineprof.server import pages
from lineprof.server.renderings import Renderings
from lineprof.server.scrapes import PLACE, Scrapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lineprof.server.access import Access
    from lineprof.server.pages import Answer
    from lineprof.server.profiles import Profiles
    from lineprof.server.renderings import Render, Subject
    from lineprof.server.scrapes import Query, Sources, Wait

_FORBIDDEN, _BAD_REQUEST = 403, 400

_NS_PER_MS = 1_000_000

_MAX_FIELDS = 200  # of a query

_MAX_SUBJECT = 2  # profiles of a report


class Request(NamedTuple):
    """The parts of a request that matter."""

    target: str  # path and query
    hosts: Sequence[str]  # headers Host
    cookies: Sequence[str]  # headers Cookie
    credentials: Sequence[str]  # headers Authorization
    address: str  # of this machine, by which the request came
    wait: Wait | None  # None if only headers are asked for


class Site:
    """The pages of one run of the server.

    Their paths are ``/``, with the token; ``/FOLDER/`` and ``/FOLDER/list``, the list;
    ``/FOLDER/ID/`` with ``state`` and ``report`` below it, a profile;
    ``/FOLDER/ID/ID/`` with the same, a comparison of the first with the second.
    Scrapers ask below `scrapes.PLACE`.
    """

    def __init__(
        self, profiles: Profiles, render: Render, sources: Sources, access: Access
    ) -> None:
        """Take the profiles, how they are rendered and read, and the rules."""
        self._profiles = profiles
        self._scrapes = Scrapes(profiles, sources)
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
            query = parse_qs(
                target.query, keep_blank_values=True, max_num_fields=_MAX_FIELDS
            )
        except ValueError:
            return pages.text(_BAD_REQUEST, "Bad request.")
        if target.path == "/":
            return self._first(query.get("token", []))
        if f"{target.path}/".startswith(f"{PLACE}/"):
            return self._scraped(request, target.path.removeprefix(PLACE), query)
        if not self._access.takes_cookies(request.cookies):
            return _without_token()
        return self._page(target.path.removeprefix(f"/{self._access.folder}/"))

    def _scraped(self, request: Request, path: str, query: Query) -> Answer:
        """Return the answer to a scraper, for a path below `PLACE`."""
        tokens, credentials = query.get("token", []), request.credentials
        if self._access.takes_scraper(tokens, credentials, request.cookies):
            return self._scrapes.answer(path, query, request.wait)
        return pages.without_token(_WITHOUT)

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
        *ids, name = path.split("/")
        found = [self._profiles.find(one) for one in ids[:_MAX_SUBJECT]]
        subject = tuple(one for one in found if one is not None)
        if not subject or len(subject) < len(ids) or (len(ids) > 1 and not is_folder):
            return pages.no_such_page()
        if not name:
            names = [one.name for one in subject]
            return pages.report_page(names, ids, in_folder=is_folder)
        return self._part_of(subject, name)

    def _part_of(self, subject: Subject, name: str) -> Answer:
        """Return what the page around a report asks for."""
        if name == "state":
            return pages.values(self._renderings.status(subject)._asdict())
        body = self._renderings.report(subject) if name == "report" else b""
        if not body:
            return pages.no_such_page()
        return pages.report(body, is_comparison=len(subject) > 1)

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
    return pages.text(_FORBIDDEN, _WITHOUT)


_WITHOUT = (
    "The token is missing or wrong: open the address that lineprof serve printed."
)
