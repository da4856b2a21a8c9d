"""Development environment in .venv: editable lineprof, linters and commit hooks."""

from __future__ import annotations

import sys

from tools.dev import native
from tools.dev.envs import ROOT, Env, StepError, explain, install, make, must, require
from tools.dev.pythons import this


def main() -> int:
    """Set everything up and print the next commands; return 1 if a step fails."""
    python = this()
    env = Env(ROOT / ".venv")
    log = env.log
    try:
        make(env, python)
        require(env, "dev.txt")
        require(env, "peers.txt")
        install(env, editable=True, strict=True)
        log = native.BUILD_LOG
        native.build(python, strict=True)
        if (ROOT / ".git").exists():
            log = env.log
            must([env.bin / "pre-commit", "install"], log)
    except StepError as error:
        return explain(error, log)
    print("ready: .venv/bin/pytest runs one Python's tests; make test runs all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
