"""Check of line endings: one newline at the end of a file, no blanks before one."""

from __future__ import annotations

import sys
from pathlib import Path


def problem(data: bytes) -> str:
    """Return what is wrong with the line endings of a text; '' if nothing."""
    if data and not data.endswith(b"\n"):
        return "no newline at the end"
    if data.endswith(b"\n\n"):
        return "blank lines at the end"
    for number, line in enumerate(data.split(b"\n"), 1):
        if line != line.rstrip():
            return f"blanks at the end of line {number}"
    return ""


def main(names: list[str]) -> int:
    """Print one line for each file with a problem; return 1 if there is one."""
    findings = [(name, problem(Path(name).read_bytes())) for name in names]
    for name, finding in findings:
        if finding:
            print(f"{name}: {finding}")
    return 1 if any(finding for _, finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
