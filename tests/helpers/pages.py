"""Pages of the documentation: their code blocks, links and headings, and a shell.

A comment on the line above a code block says what it is, if it is not to be run as it
stands; code hosts do not show comments:

    <!-- not run: REASON -->           one of the reasons that `test_code_blocks` counts
    <!-- file: NAME -->                the text of a file that later blocks use
    <!-- changes: NAME -->             functions that replace those of a file
    <!-- query of: NAME -->            SQL for a database that exists by then
    <!-- varies: REGEX -->             parts of an output that differ from run to run
    <!-- as in: PATH -->               lines of an output that another file has as well
    <!-- tested by: PATH::NAME -->     an output that this test compares
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from as_python import viewer
from deadline import DEADLINE

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = {path.name: path for path in (README, *sorted(DOCS.glob("*.md")))}
RUN = ("sh", "console", "python")  # languages of blocks that are run
DONE = ("file", "changes", "query of")  # marks of blocks that change or read files
FILES = ("toml", "ini", *RUN)  # those of blocks that may be files

FENCE = re.compile(
    r"(?:^<!-- ([a-z ]+): ([^\n]+) -->\n)?^```(\w*)\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
TYPED = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
SQL = """\
import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
    print(*row, sep="|")
"""
# Commands that are not lineprof's. The doubles of make are there already.
COMMANDS = {
    "make": """case "$*" in
    demo-gpu-double) ;;
    test) exec python script.py ;;
    *) exit 1 ;;
esac
""",
    "sqlite3": f"exec python -c '{SQL}' \"$@\"\n",
}

NUMBER = re.compile(
    r"[-+~]?\d[\d,]*(?:\.\d+(?:e[+-]\d+)?|e[+-]\d+)"
    r"|\d[\d.,]*(?= ?[nuµm]s\b| s\b| %)"
)
# Lines of a script that has neither syntax of the shell nor its variables, and those of
# them that show a profile.
PLAIN = re.compile(r"(?:python|kernprof|lineprof) [\w ./:=,%+@*-]+(?: #.*)?")
VIEWER = re.compile(
    r"(?:python -m )?lineprof "
    r"((?:view|export|diff|check|merge|[\w./-]+\.lprof)\b[^#]*(?: #.*)?)"
)
UNIT = re.compile(r"(?<=#) ?(?:[nuµm]?s)\b|(?<=\()(?:us|ms)(?=\))")


class Block(NamedTuple):
    """One code block of a page."""

    language: str
    text: str
    mark: str = ""  # one of those above
    value: str = ""  # behind the mark

    @property
    def runs(self) -> bool:
        """Whether `Shell.do` does anything with this block."""
        if self.mark in {"not run", "tested by"}:
            return False
        return self.mark in DONE or self.language in RUN

    @property
    def sessions(self) -> list[tuple[str, str]]:
        """The commands of a console block, each with its output."""
        return TYPED.findall(self.text)


def blocks_of(page: Path) -> list[Block]:
    """Return the code blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(language=language, text=body, mark=mark, value=value)
        for mark, value, language, body in FENCE.findall(text)
    ]


# Links.


def links_of(page: Path) -> list[str]:
    """Return the targets of a page's links and pictures."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    found = re.findall(r"\]\(([^)\s]+)\)|\b(?:src|srcset|href)=\"([^\"]+)\"", text)
    return [markdown or html for markdown, html in found]


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts and MyST make them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {slug(one) for one in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


# Outputs.


def shape(output: str, varying: str = "") -> list[str]:
    """Return the lines of an output without times, which differ from run to run.

    Numbers of hits and calls, which are exact, stay; `varying` matches what else goes.
    """
    lines = []
    for raw in output.rstrip().splitlines():
        line = re.sub(varying, "?", raw) if varying else raw
        line = re.sub(r"(?<=File: )/.*/|(?<= of )/.*/", "", line)
        line = UNIT.sub(" T", NUMBER.sub("#", line))
        lines.append(re.sub(r"={3,}|-{3,}", "===", re.sub(r"\s+", " ", line).strip()))
    return lines


def matches(shown: list[str], printed: list[str]) -> bool:
    """Return whether a page shows what was printed; a line ``...`` is any lines."""
    if "..." not in shown:
        return shown == printed
    at = shown.index("...")
    if shown[:at] != printed[:at]:
        return False
    rest = shown[at + 1 :]
    return any(matches(rest, printed[i:]) for i in range(at, len(printed) + 1))


# Running.


class Shell:
    """A shell in a folder: its variables last, and it has lineprof's commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / ".venv").symlink_to(sys.prefix)
        commands = folder / "commands"
        commands.mkdir()
        for name, script in COMMANDS.items():
            (commands / name).write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
            (commands / name).chmod(0o755)
        path = (Path(sys.prefix, "bin"), commands, os.environ["PATH"])
        self.environment = {
            **os.environ,
            "NO_COLOR": "1",
            # As readers have it: settrace, on 3.12 and later, slows code that is not
            # profiled, and other lines are the hottest then.
            "LINEPROF_CORE": "auto",
            "PATH": os.pathsep.join(map(str, path)),
        }

    def run(self, script: str) -> str:
        """Run a script, which must succeed; return its standard output."""
        lines = [line for line in script.splitlines() if line.strip()]
        if not all(map(PLAIN.fullmatch, lines)):
            return self._run(script)
        return "".join(
            self._view(words[1])
            if (words := VIEWER.fullmatch(line))
            else self._run(line)
            for line in lines
        )

    def _view(self, text: str) -> str:
        """Run the command lineprof in this process, which saves a start of Python."""
        words: list[str] = []
        for word in text.partition(" #")[0].split():
            found = sorted(self.folder.glob(word)) if "*" in word else []
            words += [str(one.relative_to(self.folder)) for one in found] or [word]
        with patch.dict(os.environ, self.environment):
            done = viewer(*words, cwd=self.folder)
        assert done.status == 0, f"{text}\n{done.out}\n{done.err}"
        return done.out.replace(f"{self.folder}/", "")

    def _run(self, script: str) -> str:
        kept = self.folder / ".variables"
        text = f". {kept}\nset -ea\n{script}\nexport -p > {kept}\n"
        kept.touch()
        done = subprocess.run(
            ["/bin/sh", "-c", text],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            timeout=DEADLINE,
            check=False,
        )
        out, err = (part.decode() for part in (done.stdout, done.stderr))
        assert done.returncode == 0, f"{script}\n{out}\n{err}"
        return out.replace(f"{self.folder}/", "")

    def do(self, block: Block) -> None:
        """Run a block, or write its file; compare the outputs that a page shows."""
        if block.mark == "file":
            target = self.folder / block.value
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        elif block.mark == "changes":
            replace_functions(self.folder / block.value, block.text)
        elif block.mark == "query of":
            for query in block.text.strip().split(";\n"):
                self.run(f'sqlite3 {block.value} "{query}"')
        elif block.language == "sh":
            self.run(block.text)
        elif block.language == "python":
            (self.folder / "block.py").write_text(block.text, encoding="utf-8")
            self.run("python block.py")
        for command, output in block.sessions if block.language == "console" else ():
            varying = block.value if block.mark == "varies" else ""
            shown, printed = shape(output, varying), shape(self.run(command), varying)
            assert matches(shown, printed), difference(command, shown, printed)


def replace_functions(file: Path, text: str) -> None:
    """Replace the functions of a module that `text` has as well."""
    for new in ast.parse(text).body:
        assert isinstance(new, ast.FunctionDef)
        module = file.read_text(encoding="utf-8")
        [old] = [
            node
            for node in ast.parse(module).body
            if isinstance(node, ast.FunctionDef) and node.name == new.name
        ]
        lines = module.splitlines()
        lines[old.lineno - 1 : old.end_lineno] = text.splitlines()[
            new.lineno - 1 : new.end_lineno
        ]
        file.write_text("\n".join([*lines, ""]), encoding="utf-8")


def difference(command: str, shown: list[str], printed: list[str]) -> str:
    """Return the two outputs of a command, for the message of an assertion."""
    return "\n".join([command, "the page shows:", *shown, "it prints:", *printed])
