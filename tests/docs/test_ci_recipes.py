"""The workflow of GitHub and the job of GitLab in docs/recipes.md, step by step.

Also what TensorBoard is given there.
Their shell runs in a repository with two commits. GitHub is a program `gh` that keeps
comments in a file; GitLab is a server of its Notes API, which curl talks to.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from deadline import DEADLINE
from markdown_reader import check_inert, headings, tables
from pages import PAGES, blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator

yaml = pytest.importorskip("yaml", reason="PyYAML has no wheel for this Python")

pytestmark = pytest.mark.once

BENCH = """\
def work(n):
    parts = {1}
    for number in range(n):
        parts = parts | {number}  # @octocat
    return parts


work(3000)
"""
FASTER = BENCH.replace("parts = parts | {number}", "parts.add(number)")

# Plays `gh api`: the comments are in a file, and jq has the filter of --jq.
GH = """\
#!{python}
import json, os, pathlib, subprocess, sys
file = pathlib.Path({file!r})
state = json.loads(file.read_text())
words = sys.argv[1:]
assert words.pop(0) == "api" and os.environ["GH_TOKEN"] == "secret", words
flags = {{"--paginate": 0, "--silent": 0, "--jq": 1, "-X": 1, "-F": 1}}
given, path = {{}}, []
while words:
    word = words.pop(0)
    if word in flags:
        given[word] = words.pop(0) if flags[word] else True
    else:
        path.append(word)
path, = path
comments = state["comments"]
if "-F" not in given:
    assert path == "repos/octo/cat/issues/7/comments", path
    done = subprocess.run(["jq", "-r", given["--jq"]], input=json.dumps(comments),
                          text=True, check=True, capture_output=True)
    print(done.stdout, end="")
else:
    field, _, value = given["-F"].partition("=@")
    body = pathlib.Path(value).read_text(encoding="utf-8")
    if given.get("-X") == "PATCH":
        number = int(path.removeprefix("repos/octo/cat/issues/comments/"))
        one, = [one for one in comments if one["id"] == number]
        one["body"] = body
    else:
        assert path == "repos/octo/cat/issues/7/comments", path
        comments.append({{"id": 900, "user": {{"type": "Bot"}}, "body": body}})
    state["writes"] += 1
    file.write_text(json.dumps(state))
"""


def recipe(name: str) -> dict[str, Any]:
    """Return the YAML of a file in docs/recipes.md."""
    blocks = [one.text for one in blocks_of(PAGES["recipes.md"])]
    (text,) = [text for text in blocks if text.startswith(f"# {name}\n")]
    done: dict[str, Any] = yaml.safe_load(text)
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a repository whose second commit is faster, and the commit before it."""
    for tool in ("bash", "git", "curl", "jq"):
        if not shutil.which(tool):
            pytest.skip(f"there is no {tool}")
    for text in (BENCH, FASTER):
        (tmp_path / "bench.py").write_text(text, encoding="utf-8")
        git(tmp_path, "init", "-q")
        git(tmp_path, "add", "bench.py")
        git(tmp_path, "commit", "-qm", "Change")
    return tmp_path


def git(folder: Path, *words: str) -> str:
    """Run git, without the user's configuration."""
    names = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    command = ["git", *names, "-c", "commit.gpgsign=false", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return done.stdout.decode().strip()


def shell(folder: Path, script: str, variables: dict[str, str], *flags: str) -> str:
    """Run a script as a job does; return its output."""
    path = [str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    done = subprocess.run(
        [str(shutil.which("bash")), "-e", *flags, "-c", script],
        cwd=folder,
        env={**os.environ, **variables, "PATH": os.pathsep.join(path)},
        capture_output=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_the_workflow_of_github_writes_a_summary_and_one_comment(folder: Path) -> None:
    workflow = recipe(".github/workflows/profile.yml")
    assert workflow[True] == "pull_request"  # `on`, as YAML 1.1 reads it
    assert workflow["permissions"]["pull-requests"] == "write"
    steps = workflow["jobs"]["profile"]["steps"]
    comments = [
        {"id": 1, "user": {"type": "User"}, "body": "<!-- lineprof diff --> mine"},
        {"id": 2, "user": {"type": "Bot"}, "body": "another's"},
    ]
    state, summary = folder / "comments.json", folder / "summary.md"
    state.write_text(json.dumps({"comments": comments, "writes": 0}), encoding="utf-8")
    gh = folder / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text(GH.format(python=sys.executable, file=str(state)), encoding="utf-8")
    gh.chmod(0o755)
    values = {
        "github.event.pull_request.base.sha": git(folder, "rev-parse", "HEAD~"),
        "github.event.pull_request.number": "7",
        "github.token": "secret",
    }
    head = git(folder, "rev-parse", "HEAD")
    for run in (1, 2):
        git(folder, "checkout", "-q", head)
        summary.write_text("", encoding="utf-8")
        for step in steps:
            if "pip install" in step.get("run", "pip install"):
                continue
            variables = {"GITHUB_STEP_SUMMARY": str(summary)}
            variables["GITHUB_REPOSITORY"] = "octo/cat"
            for name, value in step.get("env", {}).items():
                variables[name] = values[value.strip("${} ")]
            shell(folder, step["run"], variables)
        written = json.loads(state.read_text(encoding="utf-8"))
        assert written["comments"][:2] == comments
        (ours,) = written["comments"][2:]
        assert (written["writes"], ours["id"]) == (run, 900)
        diff = (folder / "diff.md").read_text(encoding="utf-8")
        assert ours["body"] == diff
        check_comparison(diff)
        text = summary.read_text(encoding="utf-8")
        check_inert(text)
        assert text.startswith(diff)
        assert "bench.py ran" in headings(text.removeprefix(diff))[0]
        assert "has changed since" not in text
        assert git(folder, "rev-parse", "HEAD") == head


def check_comparison(text: str) -> None:
    """Check a comparison of the two commits."""
    check_inert(text)
    assert text.startswith("<!-- lineprof diff -->\n")
    assert "times faster" in headings(text)[0]
    row = tables(text)[-1][1]
    assert row[-1] == "parts.add(number)  # @octocat"
    assert "edited" in row


GITLAB_USER = {"id": 9}  # of the token


@contextmanager
def gitlab(notes: list[dict[str, Any]]) -> Iterator[str]:
    """Give the address of a server that plays the notes of a merge request."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self, value: object, status: int = 200) -> None:
            assert self.headers["PRIVATE-TOKEN"] == "secret"
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(value).encode())

        def body(self) -> str:
            size = int(self.headers["Content-Length"])
            (text,) = parse_qs(self.rfile.read(size).decode())["body"]
            return text

        def number(self) -> str:
            base = "/api/v4/projects/5/merge_requests/7/notes"
            path = urlsplit(self.path).path
            assert path.startswith(base), path
            return path.removeprefix(base).strip("/")

        def do_GET(self) -> None:
            if self.path == "/api/v4/user":
                self.answer(GITLAB_USER)
                return
            assert self.number() == ""
            assert parse_qs(urlsplit(self.path).query)["sort"] == ["asc"]
            self.answer(notes)

        def do_POST(self) -> None:
            assert self.number() == ""
            number = 40 + len(notes)
            note = {"id": number, "body": self.body(), "author": GITLAB_USER}
            notes.append(note)
            self.answer(notes[-1], 201)

        def do_PUT(self) -> None:
            (note,) = [one for one in notes if f"{one['id']}" == self.number()]
            assert note["author"] == GITLAB_USER
            note["body"] = self.body()
            self.answer(note)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/api/v4"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_job_of_gitlab_keeps_one_note(folder: Path) -> None:
    job = recipe(".gitlab-ci.yml")["profile"]
    body = "<!-- lineprof diff --> of somebody else"
    notes: list[dict[str, Any]] = [{"id": 3, "body": body, "author": {"id": 8}}]
    head, base = git(folder, "rev-parse", "HEAD"), git(folder, "rev-parse", "HEAD~")
    script = "\n".join(one for one in job["script"] if "pip install" not in one)
    with gitlab(notes) as address:
        variables = {
            "CI_API_V4_URL": address,
            "CI_PROJECT_ID": "5",
            "CI_MERGE_REQUEST_IID": "7",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
            "LINEPROF_TOKEN": "secret",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }
        for _ in range(2):
            git(folder, "checkout", "-q", head)
            log = shell(folder, script, variables, "-o", "pipefail")
            assert re.search(r"bench\.py|Total time", log)
            assert "has changed since" not in log
            assert git(folder, "rev-parse", "HEAD") == head
            assert len(notes) == 2
            diff = (folder / "diff.md").read_text(encoding="utf-8")
            assert notes[1]["body"] == diff
            check_comparison(diff)
    assert notes[0]["body"] == body
    assert job["artifacts"]["paths"] == ["*.lprof", "diff.md"]


WRITER = """\
class SummaryWriter:
    def __init__(self, folder): assert folder == "runs/train"
    def __enter__(self): return self
    def __exit__(self, *exception): pass
    def add_text(self, tag, text): print(text)
"""


def test_tensorboard_gets_tables_and_no_html(tmp_path: Path) -> None:
    """It shows tags as text, but those of its list (its plugin_util.py)."""
    blocks = [one.text for one in blocks_of(PAGES["recipes.md"])]
    (text,) = [text for text in blocks if "SummaryWriter" in text]
    module = tmp_path / "torch" / "utils" / "tensorboard.py"
    module.parent.mkdir(parents=True)
    module.write_text(WRITER, encoding="utf-8")
    (tmp_path / "train.py").write_text(BENCH, encoding="utf-8")
    train = ["-m", "kernprof", "-lq", "-o", "train.lprof", "train.py"]
    outputs = [
        subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            check=True,
        ).stdout.decode()
        for words in (train, ["-c", text])
    ]
    screen = outputs[-1]
    hottest, *_ = tables(screen)
    assert "parts = parts | {number}  # @octocat" in {row[-1] for row in hottest}
    assert "<details>" not in screen
