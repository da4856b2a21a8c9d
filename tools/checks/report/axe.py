"""Accessibility of a page as axe-core sees it: no rule may be violated.

axe-core comes from the package in tools/requirements/pages.txt, which has its one
script; see https://github.com/dequelabs/axe-core/blob/develop/doc/rule-descriptions.md.
"""

from __future__ import annotations

import functools
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch, MissingReader

if TYPE_CHECKING:
    from tools.checks.browser import Page

PACKAGE = "axe_playwright_python"
FIND = f"import importlib.util as u; print(u.find_spec({PACKAGE!r}).origin)"
# All rules but the experimental ones, and those of level AAA, which are off by default.
# A frame is looked at by itself: axe-core would have to be in it.
OPTIONS = {
    "rules": {"target-size": {"enabled": True}},
    "resultTypes": ["violations"],
    "iframes": False,
}
RUN = f"""
axe.run(document, {json.dumps(OPTIONS)}).then(({{ violations }}) =>
  violations.flatMap((rule) => rule.nodes.map((node) => [
    rule.impact, rule.id, node.target.join(" "),
    node.any.concat(node.all, node.none).map((one) => one.message).join("; "),
  ])))
"""


@functools.cache
def script(python: Path) -> str:
    """Return axe-core as installed for `python`; MissingReader if it is not."""
    done = subprocess.run(
        [python, "-c", FIND], capture_output=True, text=True, check=False
    )
    if done.returncode:
        remedy = f"{python} -m pip install --no-deps -r tools/requirements/pages.txt"
        raise MissingReader("axe-core", remedy)
    file = Path(done.stdout.strip()).with_name("axe.min.js")
    return file.read_text(encoding="utf-8")


def no_violations(where: str, one: Page, axe: str) -> None:
    """Raise Mismatch if the page, as it is shown, violates a rule."""
    if not one.value("typeof axe === 'object'"):
        one.value(f"{axe};0")
    found = one.value(RUN)
    if found:
        impact, rule, target, reason = found[0]
        raise Mismatch(
            f"{where}: axe-core finds {len(found)}; the first is {impact}, {rule}:"
            f" {target}: {reason}"
        )
