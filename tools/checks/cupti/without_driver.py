"""Real libraries of CUPTI under kernprof on a machine without a driver.

The wheels of some versions are downloaded into a temporary folder, about 60 MB. Each
library runs with no driver at all, and with the tests' double of a driver, so that the
library is loaded and called, finds no driver of its own, and refuses. The program's
output, its errors and exit status have to be those of a run without GPU recording, and
one line has to say why there are no GPU columns.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.checks.cupti.check import PACKAGES, available
from tools.dev import native
from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    clean_environment,
    explain,
    install,
    make,
    must,
    pip,
)
from tools.dev.pythons import this

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.checks.cupti.check import Version

RELEASES = ((11, 7), (12, 4), (12, 8), (13, 0), (13, 2), (13, 5))
# Versions that the double of the driver says it has.
DRIVERS = (12020, 13000)
RECURSES = (13, 2)  # without end, if lineprof finds a driver and the library none
REASON = "GPU columns off: CUPTI can't be used: "
LIMIT_S = 120
STATUS = 3
PROGRAM = f"""\
import sys

@profile
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total

print("work", work(1000))
print("beside", file=sys.stderr)
sys.exit({STATUS})
"""


class Ran(NamedTuple):
    """An ended run of the program."""

    status: int
    out: str  # up to the line that names the profile
    errors: str
    lines: bool  # whether the table has every line of the function
    reasons: list[str]


def library(env: Env, version: Version, folder: Path) -> Path:
    """Download the wheel of a version; return its library."""
    wheels = folder / "wheels"
    command = [env.python, "-m", "pip", "download", "--no-input", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", wheels]
    must([*command, f"{version.package}=={version.number}"], env.log)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (
            name
            for name in archive.namelist()
            if re.search(r"/lib/libcupti\.so[.\d]*$", name)
        )
        found = Path(archive.extract(name, folder / version.number))
    wheel.unlink()
    return found


def run(env: Env, folder: Path, **changes: str) -> Ran:
    """Run the program under kernprof, with these variables."""
    done = subprocess.run(
        [str(env.python), "-m", "kernprof", "-l", "-v", "program.py"],
        capture_output=True,
        cwd=folder,
        env=clean_environment(**changes),
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    out, _, table = done.stdout.partition("Wrote profile results")
    reasons = [line for line in table.splitlines() if line.startswith(REASON)]
    wanted = PROGRAM.partition("@profile")[2].partition("\n\n")[0].splitlines()
    return Ran(
        status=done.returncode,
        out=out,
        errors=done.stderr,
        lines=all(line in table for line in wanted),
        reasons=[line.removeprefix(REASON) for line in reasons],
    )


def differences(ran: Ran, plain: Ran) -> Iterator[str]:
    """Yield how a run differs from one without GPU recording, and from one line why."""
    if ran.status != STATUS:
        yield f"exit status {ran.status}"
    if (ran.out, ran.errors) != (plain.out, plain.errors):
        yield f"other output: {ran.out[-200:]!r}, {ran.errors[-300:]!r}"
    if not ran.lines:
        yield "no table"
    if len(ran.reasons) != 1:
        yield f"{len(ran.reasons)} reasons"


def drivers(version: Version) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the drivers to run a library with, and the variables for each."""
    yield "none", {"LINEPROF_CUDA": "no-libcuda.so.1"}
    for number in DRIVERS:
        if version.release == RECURSES and number >= RECURSES[0] * 1000:
            continue
        variables = {
            "LINEPROF_CUDA": str(native.DOUBLES / "fake_cuda.so"),
            "FAKE_CUDA_DRIVER_VERSION": str(number),
        }
        yield f"{number // 1000}.{number % 1000 // 10}", variables


def check(env: Env, versions: list[Version], folder: Path) -> int:
    """Run each library with each driver, print a row, count the differences."""
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    plain = run(env, folder, LINEPROF_GPU="off")
    wrong = 0
    for version in versions:
        path = library(env, version, folder)
        common = {"LINEPROF_CUPTI": str(path), "LINEPROF_GPU_FORCE": "1"}
        for name, variables in drivers(version):
            ran = run(env, folder, **common, **variables)
            found = list(differences(ran, plain))
            wrong += len(found)
            print(
                f"{version.number:10} {name:7} {'; '.join(found) or 'fits'}: ", end=""
            )
            print(*ran.reasons, sep="; ", flush=True)
    return wrong


def main() -> int:
    """Set up and check; return 1 if a run differs."""
    env = Env(ROOT / ".venv-check-cupti")
    log = env.log
    try:
        make(env, this())
        pip(env, "pip>=22.1")  # the first with `pip index versions`
        install(env)
        versions = [one for one in available(env, PACKAGES) if one.release in RELEASES]
        log = native.BUILD_LOG
        native.build(this(), strict=False)
        log = env.log
        print("CUPTI      driver  output, exit status, and the reason")
        with tempfile.TemporaryDirectory(prefix="lineprof-cupti-") as folder:
            wrong = check(env, versions, Path(folder))
    except StepError as error:
        return explain(error, log)
    print(f"{len(versions)} libraries without a driver, {wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
