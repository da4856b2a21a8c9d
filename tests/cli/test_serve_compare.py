"""Two profiles of a folder that `lineprof serve` compares."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from as_python import viewer
from example_calls import example as calls
from example_stats import example
from report_page import Page, source_of
from served import Served, serve

from lineprof.storage import save

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def one(here: Path) -> Iterator[Served]:
    """Serve a folder of three profiles."""
    for age, (name, profile) in enumerate(
        [("new.lprof", example()), ("old.lprof", example()), ("calls.lprof", calls())]
    ):
        save(profile, here / name)
        os.utime(name, (1000 - age, 1000 - age))
    with serve(".") as served:
        assert served.enter() == served.folder
        yield served
        assert served.end(signal.SIGTERM)[1:] == ("", "")


def place(one: Served, *names: str) -> str:
    """Return the address of the comparison of two profiles."""
    rows = one.values(f"{one.folder}list")["profiles"]
    ids = {row["name"]: row["id"] for row in rows}
    return one.folder + "".join(f"{ids[name]}/" for name in names)


@pytest.mark.parametrize("after", ["new.lprof", "calls.lprof"])
def test_the_comparison_is_that_of_diff_html(one: Served, after: str) -> None:
    address = place(one, "old.lprof", after)
    state = one.wait(f"{address}state", lambda found: found["revision"])
    assert state["problem"] == ""
    got = one.ask(f"{address}report")
    assert got.status == 200
    assert viewer("diff", "--html=page", "old.lprof", after, cwd=Path.cwd()).status == 0
    assert got.body == Path("page").read_bytes()
    data = Page(got.text).data
    assert (data["before"], data["after"]) == (["old.lprof"], [after])
    rules = got.headers["Content-Security-Policy"].split("; ")
    assert rules[0] == "default-src 'none'"
    assert rules[-2:] == ["sandbox allow-scripts", "frame-ancestors 'self'"]
    assert set(Page(got.text).policy.split("; ")) < set(rules)


def test_the_page_around_a_comparison_leads_back_and_to_the_other_order(
    one: Served,
) -> None:
    address = place(one, "old.lprof", "new.lprof")
    got = one.ask(address)
    assert got.status == 200
    assert "<title>old.lprof and new.lprof - lineprof</title>" in got.text
    assert '<a id="all" href="../../" >' in got.text
    found = re.search(r'<a id="swap" href="([^"]+)">', got.text)
    assert found
    assert one.folder + found[1].removeprefix("../../") == place(
        one, "new.lprof", "old.lprof"
    )
    scripts = re.findall(r"<script>(.*?)</script>", got.text, re.DOTALL)
    policy = got.headers["Content-Security-Policy"]
    assert f"script-src {' '.join(source_of(text) for text in scripts)};" in policy
    page = one.ask(place(one, "old.lprof")).text
    assert 'href="../" ' in page
    assert "swap" not in page


def test_a_comparison_follows_both_files(one: Served) -> None:
    address = place(one, "old.lprof", "new.lprof")
    seen = [one.wait(f"{address}state", lambda found: found["revision"])]
    report = one.ask(f"{address}report").body
    for name in ("old.lprof", "new.lprof"):
        save(calls(), "next")
        Path("next").replace(name)
        state = one.wait(f"{address}state", lambda found: found not in seen)
        assert state["written"] == Path(name).stat().st_mtime_ns // 1_000_000
        assert one.ask(f"{address}report").body != report
        seen.append(state)
        report = one.ask(f"{address}report").body


@pytest.mark.parametrize("name", ["old.lprof", "new.lprof"])
def test_a_file_that_is_damaged_or_gone_is_named_and_the_last_report_stays(
    one: Served, name: str
) -> None:
    address = place(one, "old.lprof", "new.lprof")
    good = one.wait(f"{address}state", lambda found: found["revision"])
    report = one.ask(f"{address}report").body
    content = Path(name).read_bytes()
    Path(name).write_bytes(content[:50])
    state = one.wait(f"{address}state", lambda found: found["problem"])
    assert state == good | {"problem": f"{name} is cut off; record it again"}
    Path(name).unlink()
    gone = f"{name} is not there any more"
    state = one.wait(f"{address}state", lambda found: found["problem"] == gone)
    assert state == good | {"problem": gone}
    assert one.ask(f"{address}report").body == report
    Path(name).write_bytes(content)
    one.wait(f"{address}state", lambda found: not found["problem"])


def test_addresses_have_ids_alone(one: Served) -> None:
    address = place(one, "old.lprof", "new.lprof")
    first, second = address.split("/")[2:4]
    for path in (
        f"{first}/x/",
        f"x/{first}/",
        f"{first}/new.lprof/",
        f"{first}//",
        f"/{first}/",
        f"{first}/{second}/{first}/",
        f"{first}/{second}/{first}/{second}/",
        f"{first}/{second}/x",
        f"{first}/../{second}/",
        f"{first}/%2e%2e/etc/passwd",
    ):
        got = one.ask(f"{one.folder}{path}")
        assert (got.status, got.text) == (404, "There is no such page.\n"), path
    for path in ("", "state", "report"):
        assert one.ask(f"{address}{path}", Cookie="").status == 403


def test_a_single_profile_is_compared_with_nothing(file: str) -> None:
    with serve(file) as one:
        profile_id = one.enter().split("/")[2]
        got = one.ask(f"{one.folder}{profile_id}/{profile_id}/")
        assert got.status == 404


def test_names_in_a_comparison_are_text_alone(here: Path) -> None:
    name = "<img src=x onerror=a()>\x1b[2J\u202e&.lprof"
    for one_name in (name, "b.lprof"):
        save(example(), here / one_name)
    with serve(".") as one:
        one.enter()
        rows = one.values(f"{one.folder}list")["profiles"]
        address = one.folder + "".join(f"{row['id']}/" for row in rows)
        page = one.ask(address).text
        assert "<img" not in page
        assert "&lt;img src=x onerror=a()&gt;\\x1b[2J\\u202e&amp;.lprof" in page
        one.wait(f"{address}state", lambda found: found["revision"])
        data = Page(one.ask(f"{address}report").text).data
        assert "\x1b" not in json.dumps(data, ensure_ascii=False)
        assert str(here) not in json.dumps([data["before"], data["after"]])
