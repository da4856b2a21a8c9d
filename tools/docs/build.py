"""The documentation as a site: build/docs, from the pages of docs/ with Sphinx."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

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

PAGES, SITE = ROOT / "docs", ROOT / "build" / "docs"
# Of a page: what a browser fetches by itself. Of a style: fonts, images, other styles.
FETCHED = re.compile(
    r"""(?:<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc
        |<link\b(?![^>]*\brel="(?:canonical|next|prev|search|index)")[^>]*?\bhref
        )\s*=\s*["']\s*((?:https?:)?//[^"']*)
    |(?:url\(\s*["']?|@import\s+["'])((?:https?:)?//[^"')\s]+)""",
    re.VERBOSE | re.IGNORECASE,
)


def fetched(site: Path) -> list[str]:
    """Return what the pages and styles of a site load from other sites."""
    files = sorted([*site.rglob("*.html"), *site.rglob("*.css")])
    return [
        f"{file.relative_to(site)}: {''.join(address)}"
        for file in files
        for address in FETCHED.findall(file.read_text(encoding="utf-8"))
    ]


def main() -> int:
    """Build the site; return 1 if there is a warning, or if it loads other sites."""
    env = Env(ROOT / ".venv-docs")
    log = env.log
    try:
        make(env, this())
        require(env, "docs.txt")
        install(env)
        log = env.folder / "log" / "sphinx.txt"
        log.unlink(missing_ok=True)
        shutil.rmtree(SITE, ignore_errors=True)
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
    print(f"docs: {SITE.relative_to(ROOT)}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
