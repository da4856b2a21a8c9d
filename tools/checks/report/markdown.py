"""Markdown as a renderer reads it: tables, blocks of code, and what else is in it.

The renderer is markdown-it-py, of tools/requirements/pages.txt, with the tables of
https://github.github.com/gfm/ and with HTML, so that markup which was not meant shows.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from tools.checks.findings import MissingReader

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCRIPT = """
import json, sys
from markdown_it import MarkdownIt
reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
tokens = reader.parse(sys.stdin.buffer.read().decode("utf-8", "surrogatepass"))
found = {"tables": [], "blocks": [], "kinds": []}
for token in tokens:
    found["kinds"].append(token.type)
    if token.type == "table_open":
        found["tables"].append([])
    elif token.type == "tr_open":
        found["tables"][-1].append([])
    elif token.type == "fence":
        found["blocks"].append(token.content)
    elif token.type == "inline":
        found["kinds"] += [one.type for one in token.children]
        if token.level == 4 or (token.level == 3 and found["tables"]):
            text = "".join(one.content for one in token.children)
            found["tables"][-1][-1].append(text)
print(json.dumps(found))
"""

WRITER = """
import json, sys
from lineprof.report.markdown import code, prose
texts = json.load(sys.stdin)
print(json.dumps([[prose(one, inside=True), code(one, inside=True)] for one in texts]))
"""


def written(python: Path, texts: Sequence[str]) -> list[list[str]]:
    """Return texts as reports in Markdown have them: each as a sentence, and as code.

    The tests of these reports read them by the renderers of GitHub and GitLab.
    """
    given = json.dumps(texts).encode()
    done = subprocess.run(
        [python, "-c", WRITER], input=given, stdout=subprocess.PIPE, check=True
    )
    found: list[list[str]] = json.loads(done.stdout)
    return found


def read(python: Path, text: str) -> dict[str, Any]:
    """Return the `tables` (rows of cells), code `blocks` and `kinds` of a text.

    MissingReader unless `python` has markdown-it-py.
    """
    done = subprocess.run(
        [python, "-c", SCRIPT],
        input=text.encode("utf-8", "surrogatepass"),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        remedy = f"{python} -m pip install --no-deps -r tools/requirements/pages.txt"
        raise MissingReader("markdown-it-py", remedy)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
