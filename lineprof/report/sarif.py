"""SARIF 2.1.0 logs of results: for code scanning, editors and CI.

The format is a standard of OASIS, with a published schema. GitHub shows the results of
a log beside the lines of a pull request, within the limits that its page "SARIF support
for code scanning" lists. Times are in nanoseconds (ns).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from lineprof.errors import printable, without_surrogates
from lineprof.files import absolute_path, current_folder, real_path, short_path
from lineprof.model.names import MODULE, short_names
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

ERROR, WARNING, NOTE = "error", "warning", "note"  # levels

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_ROOT = "%SRCROOT%"  # the usual name of the folder that paths are relative to

# The folder of the checkout, by variables that GitHub Actions and GitLab CI set.
GITHUB_ROOT, GITLAB_ROOT = "GITHUB_WORKSPACE", "CI_PROJECT_DIR"

# GitHub refuses a run with more results, and shows 100 places of a result.
_MAX_RESULTS, _MAX_RELATED = 25_000, 99

_MAX_TEXT = 1000  # characters of a message, or of the source of a line


class Rule(NamedTuple):
    """One kind of results."""

    id: str  # such as hot-loop
    title: str  # without a full stop
    text: str  # sentences: when there is a result
    help: str  # sentences: what to do
    level: str  # ERROR, WARNING or NOTE


class Place(NamedTuple):
    """A line that a result is about."""

    file: str
    line: int
    function: Key | None = None
    source: str | None = None  # None: unknown
    message: str = ""  # why the line is related to the result


class Result(NamedTuple):
    """One result."""

    rule: str  # the id of its rule
    message: str
    places: Sequence[Place]  # where it is; after it, related ones
    identity: str  # stays the same if lines move, and if numbers change
    properties: Mapping[str, object]
    rank: float | None = None  # how important it is, 0 to 100; None: unknown


class Message(NamedTuple):
    """A message about the whole log."""

    text: str
    level: str = NOTE


def log(
    name: str,
    rules: Sequence[Rule],
    results: Sequence[Result],
    messages: Iterable[Message],
    profile: Profile,
) -> Iterator[str]:
    """Yield the lines of a log with one run.

    A `name` tells the logs of one commit apart: GitHub replaces those of the same name.
    """
    root = source_root()
    indexes = {rule.id: index for index, rule in enumerate(rules)}
    known = fingerprints(one.identity for one in results)
    shown = [
        _result(one, print_, rules[indexes[one.rule]], indexes, profile, root)
        for one, print_ in islice(zip(results, known), _MAX_RESULTS)
    ]
    notes = [_notification(one) for one in messages]
    if len(results) > len(shown):
        text = f"{len(results) - len(shown):,} more results are left out"
        notes.append(_notification(Message(text, WARNING)))
    run: dict[str, object] = {
        "tool": {
            "driver": {
                "name": "lineprof",
                "version": VERSION,
                "semanticVersion": VERSION,
                "rules": [*map(_rule, rules)],
            }
        },
        "automationDetails": {"id": f"lineprof/{name}/"},
        "invocations": [
            {"executionSuccessful": True, "toolExecutionNotifications": notes}
        ],
        "columnKind": "unicodeCodePoints",
        "results": shown,
    }
    if root:
        run["originalUriBaseIds"] = {_ROOT: {"uri": _file_uri(os.path.join(root, ""))}}
    content = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    yield from json.dumps(content, indent=1).splitlines()


def _rule(rule: Rule) -> dict[str, object]:
    words = rule.id.split("-")
    return {
        "id": rule.id,
        "name": "".join(f"{word[:1].upper()}{word[1:]}" for word in words),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.text},
        "help": {
            "text": f"{rule.text} {rule.help}",
            "markdown": f"{rule.text}\n\n{rule.help}",
        },
        "defaultConfiguration": {"level": rule.level},
        "properties": {"tags": ["performance"], "precision": "very-high"},
    }


def _result(  # noqa: PLR0913, PLR0917  # all from `log`
    one: Result,
    fingerprint: str,
    rule: Rule,
    indexes: Mapping[str, int],
    profile: Profile,
    root: str,
) -> dict[str, object]:
    places = [_location(place, profile, root) for place in one.places]
    done: dict[str, object] = {
        "ruleId": one.rule,
        "ruleIndex": indexes[one.rule],
        "level": rule.level,
        "message": {"text": _plain(one.message)},
        "locations": places[:1],
        "partialFingerprints": {"lineprof/v1": fingerprint},
        "properties": _clean(one.properties),
    }
    if places[1:]:
        more = places[1 : 1 + _MAX_RELATED]
        done["relatedLocations"] = [
            {"id": number, **place} for number, place in enumerate(more, 1)
        ]
    if one.rank is not None:
        done["rank"] = one.rank
    return done


def _location(place: Place, profile: Profile, root: str) -> dict[str, object]:
    path = path_of(place.file, profile, root)
    artifact = {"uri": uri_path(path), "uriBaseId": _ROOT}
    if os.path.isabs(path):
        artifact = {"uri": _file_uri(path)}
    region: dict[str, object] = {"startLine": max(1, place.line)}
    if place.source and len(place.source) <= _MAX_TEXT:
        region["snippet"] = {"text": _clean(place.source)}
    done: dict[str, object] = {}
    if place.file:
        done["physicalLocation"] = {"artifactLocation": artifact, "region": region}
    if place.function is not None:
        name, is_module = place.function[2], place.function[2] == MODULE
        if is_module:
            name = short_names([place.function]).name(place.function)
            name = name.removeprefix("module ")
        done["logicalLocations"] = [
            {
                "name": _clean(name if is_module else name.rpartition(".")[2]),
                "fullyQualifiedName": _clean(name),
                "kind": "module" if is_module else "function",
            }
        ]
    if place.message:
        done["message"] = {"text": _plain(place.message)}
    return done


def _notification(one: Message) -> dict[str, object]:
    return {"level": one.level, "message": {"text": _plain(one.text)}}


# Texts.


_LINK, _PLACEHOLDER = re.compile(r"\]\("), re.compile(r"\{(\d+)\}")


def _plain(text: str) -> str:
    """Return the text of a message, in which nothing is a link or a placeholder.

    In the standard (3.11.5 and 3.11.6) both have a meaning: ``[a](1)`` and ``{0}``.
    """
    text = _PLACEHOLDER.sub(r"{ \1 }", _LINK.sub("] (", _cleaned(text)))
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"


def _clean(value: object) -> object:
    """Return a value whose texts have no control characters and no surrogates."""
    if isinstance(value, str):
        return _cleaned(value)
    if isinstance(value, dict):
        return {_cleaned(str(name)): _clean(one) for name, one in value.items()}
    return value


def _cleaned(text: str) -> str:
    return without_surrogates(printable(text, keep="\t"))


def fingerprints(identities: Iterable[str]) -> Iterator[str]:
    """Yield a fingerprint for each identity; a second one that is equal gets another.

    Each is 64 hexadecimal digits, the same in every run.
    """
    known: Counter[str] = Counter()
    for identity in identities:
        name = identity + "\0" * known[identity]
        known[identity] += 1
        yield hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


# Paths.


def source_root() -> str:
    """Return the folder of the checkout in CI, else the current one; "" if unknown."""
    environ = os.environ
    return environ.get(GITHUB_ROOT) or environ.get(GITLAB_ROOT) or current_folder()


def path_of(file: str, profile: Profile, root: str = "") -> str:
    """Return the path of a file as seen from `root`, or from the current folder.

    It is absolute if the file is not below that folder. A relative name in a profile is
    relative to the folder of its program.
    """
    if not os.path.isabs(file) and profile.processes and not os.path.exists(file):
        file = os.path.join(profile.processes[0].cwd, file)
    if not root:
        return short_path(file)
    path = absolute_path(file)
    for folder in (root, real_path(root)):  # profiles have paths without links
        path = path.removeprefix(os.path.join(folder, ""))
    return path


def uri_path(path: str) -> str:
    """Return a path as part of a URI; colons are escaped, so that it has no scheme."""
    try:
        return quote(os.fsencode(path))
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return quote(path.encode("utf-8", "backslashreplace"))


def _file_uri(path: str) -> str:
    return f"file://{uri_path(path)}"
