"""The documentation as a site: build/docs, from the pages of docs/ with Sphinx.

Reports of examples are pages of it: see `live`.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote

from tools.dev import native
from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    explain,
    install,
    make,
    must,
    require,
)
from tools.dev.pythons import this
from tools.docs import live

PAGES, SITE = ROOT / "docs", ROOT / "build" / "docs"
# Of a page: what a browser fetches by itself. Of a style: fonts, images, other styles.
FETCHED = re.compile(
    r"""(?:<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc
        |<link\b(?![^>]*\brel="(?:canonical|next|prev|search|index)")[^>]*?\bhref
        )\s*=\s*["']\s*((?:https?:)?//[^"']*)
    |(?:url\(\s*["']?|@import\s+["'])((?:https?:)?//[^"')\s]+)""",
    re.VERBOSE | re.IGNORECASE,
)
# To a file of the site, without the anchor.
LINK = re.compile(r"""<(?:a|img)\b[^>]*?\b(?:href|src)="(?![a-z]+:)([^"#?]+)""")


def fetched(site: Path) -> list[str]:
    """Return what the pages and styles of a site load from other sites."""
    files = sorted([*site.rglob("*.html"), *site.rglob("*.css")])
    return [
        f"{file.relative_to(site)}: {''.join(address)}"
        for file in files
        for address in FETCHED.findall(file.read_text(encoding="utf-8"))
    ]


def dead(site: Path) -> list[str]:
    """Return the links of pages of a site, and their images, that are not there."""
    return [
        f"{page.relative_to(site)}: {link}"
        for page in sorted(site.rglob("*.html"))
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / unquote(link)).exists()
    ]


def main() -> int:
    """Build the site; return 1 if there is a warning, a dead link, or another site."""
    env = Env(ROOT / ".venv-docs")
    log = env.log
    try:
        make(env, this())
        require(env, "docs.txt")
        install(env)
        shutil.rmtree(SITE, ignore_errors=True)
        if live.SIMULATES:
            log = native.BUILD_LOG
            native.build(this(), strict=False, target="doubles")
        live.make(env.python, SITE / "live")
        log = env.folder / "log" / "sphinx.txt"
        log.unlink(missing_ok=True)
        words = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
        folders = [
            "--conf-dir",
            Path(__file__).parent,
            "--doctree-dir",
            env.folder / "trees",
        ]
        must([env.python, "-P", "-m", "sphinx", *words, *folders, PAGES, SITE], log)
    except StepError as error:
        return explain(error, log)
    if others := fetched(SITE):
        print("lineprof: the site loads from other sites:", *others, sep="\n  ")
        return 1
    if links := dead(SITE):
        print("lineprof: the site has dead links:", *links, sep="\n  ")
        return 1
    print(f"docs: {SITE.relative_to(ROOT)}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
