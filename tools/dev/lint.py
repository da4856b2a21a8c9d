"""Check the style of everything: ruff, mypy, stubtest, clang-format, codespell."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.dev.envs import ROOT, Env, StepError, call, install, make, replay, require
from tools.dev.pythons import this

PYTHON = ("lineprof", "kernprof", "tests", "tools", "examples", "benchmarks")
WORDS = ("*.md", "docs", "csrc", *PYTHON)
STUBBED = "lineprof._core"


def c_files() -> list[str]:
    """Every C file of the checkout."""
    folders = ("csrc", "tests", "benchmarks")
    found = [f for name in folders for f in (ROOT / name).rglob("*.[ch]")]
    return sorted(str(file.relative_to(ROOT)) for file in found)


def present(names: tuple[str, ...]) -> list[str]:
    """Those of these files and folders that the checkout has."""
    return sorted(
        str(file.relative_to(ROOT)) for name in names for file in ROOT.glob(name)
    )


def checks() -> dict[str, list[str]]:
    """Name each check and give its command, the program without its folder."""
    return {
        "ruff": ["ruff", "check", *present(PYTHON)],
        "ruff format": ["ruff", "format", "--check", "--diff", *present(PYTHON)],
        "mypy": ["mypy"],
        "stubtest": ["stubtest", "--concise", STUBBED],
        "clang-format": ["clang-format", "--dry-run", "--Werror", *c_files()],
        "codespell": ["codespell", *present(WORDS)],
    }


def main() -> int:
    """Run every check, replay those that found something; 1 if any did."""
    env = Env(ROOT / ".venv")
    python = this()
    try:
        make(env, python)
        require(env, "dev.txt")
        install(env, editable=True, strict=True)
    except StepError as error:
        replay(env.log)
        print(f"lineprof: {error}; its output stands above", file=sys.stderr)
        return 1
    wrong = []
    for name, (program, *arguments) in checks().items():
        log = Path(env.folder / "log" / f"{program}.txt")
        log.unlink(missing_ok=True)
        if call([env.bin / program, *arguments], log):
            replay(log)
            wrong.append(name)
    print(f"lint: {', '.join(wrong)} found something" if wrong else "lint: clean")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
