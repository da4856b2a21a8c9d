"""Style checks of the whole checkout, with the tools of tools/requirements/dev.txt."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    call,
    explain,
    install,
    make,
    replay,
    require,
)
from tools.dev.pythons import this

PYTHON = ("lineprof", "kernprof", "tests", "tools", "examples", "benchmarks")
WORDS = ("*.md", "docs", "csrc", *PYTHON)
STUBBED = "lineprof._core"


def c_files() -> list[str]:
    """Return the C files of the checkout."""
    folders = ("csrc", "tests", "benchmarks")
    found = [f for name in folders for f in (ROOT / name).rglob("*.[ch]")]
    return sorted(str(file.relative_to(ROOT)) for file in found)


def present(patterns: tuple[str, ...]) -> list[str]:
    """Return the files and folders that match these patterns of names."""
    found = [file for pattern in patterns for file in ROOT.glob(pattern)]
    return sorted(str(file.relative_to(ROOT)) for file in found)


def commands() -> dict[str, list[str]]:
    """Return the command of each check by its name, the program without a folder."""
    return {
        "ruff": ["ruff", "check", *present(PYTHON)],
        "ruff format": ["ruff", "format", "--check", "--diff", *present(PYTHON)],
        "mypy": ["mypy"],
        "import-linter": ["lint-imports", "--no-cache", "--no-logo"],
        "stubtest": ["stubtest", "--concise", STUBBED],
        "clang-format": ["clang-format", "--dry-run", "--Werror", *c_files()],
        "codespell": ["codespell", *present(WORDS)],
    }


def main() -> int:
    """Run all checks, print the output of those that failed; return 1 if any failed."""
    env = Env(ROOT / ".venv")
    python = this()
    try:
        make(env, python)
        require(env, "dev.txt")
        install(env, editable=True, strict=True)
    except StepError as error:
        return explain(error, env.log)
    failed = []
    for name, (program, *arguments) in commands().items():
        log = Path(env.folder / "log" / f"{program}.txt")
        log.unlink(missing_ok=True)
        if call([env.bin / program, *arguments], log):
            replay(log)
            failed.append(name)
    print(f"lint: {', '.join(failed)} failed" if failed else "lint: clean")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
