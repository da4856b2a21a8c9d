"""Comparison of lineprof's declarations of CUPTI with the headers of every version.

The headers are downloaded with the wheels of CUPTI into build/cupti, about 300 MB,
and compiled with csrc/gpu/cupti_abi.h; cuda.h comes with the wheels of the runtime.
Each driver call whose name says that it launches, copies, sets, waits, captures, ...
must be in a list of ours or have its reason in names.py. Needs a C compiler; CUPTI
does not run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.checks.cupti import double, driver, signatures
from tools.checks.cupti.declarations import CSRC, read_ours
from tools.checks.cupti.names import (
    CALLS,
    COMMON,
    CONCERNS,
    ENDS,
    FIELDS,
    NOT_OURS,
    RUNTIME_CALLS,
    SINCE,
    VALUES,
)
from tools.checks.cupti.parameters import calls_without_place, size_assertions
from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    clean_environment,
    make,
    must,
    pip,
    replay,
)
from tools.dev.pythons import this

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools.checks.cupti.declarations import Ours

HERE = Path(__file__).resolve().parent
CACHE = ROOT / "build" / "cupti"
PACKAGES = ("nvidia-cuda-cupti-cu11", "nvidia-cuda-cupti-cu12", "nvidia-cuda-cupti")
RUNTIMES = tuple(name.replace("cupti", "runtime") for name in PACKAGES)
OLDEST, NEWEST = (11, 7), (13, 5)  # that lineprof supports
CALL, RUNTIME_CALL = "CUPTI_DRIVER_TRACE_CBID_(cu", "CUPTI_RUNTIME_TRACE_CBID_(cuda"
PARTS = ("result", "version", "activity*", "callbacks", "profiler_target", "*_cbid")
META = "generated_cuda_meta.h"  # with the parameters of the driver's calls


class Version(NamedTuple):
    """Version of CUPTI: a package and its number."""

    package: str
    number: str

    @property
    def release(self) -> tuple[int, ...]:
        """Major and minor version of CUDA."""
        return tuple(int(part) for part in self.number.split(".")[:2])

    @property
    def folder(self) -> Path:
        """Folder of the version's headers."""
        kind = "runtime-" if self.package in RUNTIMES else ""
        return CACHE / f"{kind}{self.number}"


def counterpart(struct: str, field: str) -> str | None:
    """Return NVIDIA's name of a field; "" for padding, None if unknown."""
    known = {**COMMON, **FIELDS.get(struct, {})}
    return known.get(field, known.get(field.partition("[")[0]))


def successors(theirs: str, header: str) -> list[str]:
    """Return a struct of the headers and all later structs of its family."""
    family, number = re.fullmatch(r"(\w+?)(\d*)", theirs).groups()  # type: ignore[union-attr]
    found = set(re.findall(rf"\}} ?({family}\d*);", header))
    minimum = int(number or 1)
    return sorted(name for name in found if int(name[len(family) :] or 1) >= minimum)


def assertions(ours: Ours, header: str, release: tuple[int, ...]) -> Iterator[str]:
    """Yield static assertions in C that our declarations agree with the headers."""
    for struct, (theirs, names) in ours.structs.items():
        if release < SINCE.get(struct, OLDEST):
            continue
        for name in successors(theirs, header):
            for field in names:
                other = counterpart(struct, field)
                if other and release >= SINCE.get(f"{struct}.{field}", OLDEST):
                    yield f"AT({struct}, {field}, {name}, {other});"
    for value in ours.values:
        if re.search(rf"\b{VALUES[value]}\b", header):
            yield f"IS({value}, {VALUES[value]});"
    for number, name in ours.numbered:
        yield f"IS({number}, {name});"


def unknown(ours: Ours) -> list[str]:
    """Return the names in our sources that names.py lacks."""
    wrong = [
        f"{value} has no counterpart" for value in ours.values if value not in VALUES
    ]
    wrong += [
        f"{name} says nothing of its calls" for name in ours.calls if name not in CALLS
    ]
    return wrong + [
        f"{struct}.{field} has no counterpart"
        for struct, (_, names) in ours.structs.items()
        for field in names
        if counterpart(struct, field) is None
    ]


def names_of_calls(header: str, of: str = CALL) -> dict[int, str]:
    """Return the names of the driver's (or the runtime's) calls by their ids."""
    found = re.findall(rf"{of}[A-Z]\w*)\s*=\s*(\d+)", header)
    return {int(number): name for name, number in found}


def unlisted(ours: Ours, named: Mapping[int, str]) -> list[str]:
    """Return the calls that concern us by their names, and that nobody has judged."""
    listed = {
        number
        for name, numbers in ours.calls.items()
        if name not in {"driver_queries", *RUNTIME_CALLS}  # only not recorded
        for number in numbers
    }
    judged = re.compile(f"(?:{'|'.join(NOT_OURS)}){ENDS}")
    wrong = []
    for number, name in named.items():
        is_judged = bool(judged.fullmatch(name))
        if is_judged and number in listed:
            wrong.append(f"{number}, {name}, is in a list and in NOT_OURS")
        elif not is_judged and number not in listed and concerns(name):
            wrong.append(f"{number}, {name}, is in no list, nor in NOT_OURS")
    return wrong


def concerns(name: str) -> bool:
    """Return whether a call may launch work, wait for it, or begin a capture."""
    return bool(re.search(CONCERNS, name))


def wrong_calls(ours: Ours, header: str) -> list[str]:
    """Return the ids that do not belong in their list, and those that a list lacks."""
    driver, runtime = names_of_calls(header), names_of_calls(header, RUNTIME_CALL)
    wrong = []
    for listed, numbers in ours.calls.items():
        named = runtime if listed in RUNTIME_CALLS else driver
        fits = re.compile(rf"(?:{CALLS[listed]}){ENDS}")
        wrong += [
            f"{number} of {listed} is {named[number]}"
            for number in numbers
            if number in named and not fits.fullmatch(named[number])
        ]
        wrong += [
            f"{listed} lack {number}, {name}"
            for number, name in named.items()
            if number not in numbers and fits.fullmatch(name)
        ]
    return wrong


def missing(ours: Ours, header: str, release: tuple[int, ...]) -> list[str]:
    """Return the structs and functions that we need and the headers lack."""
    wrong = [
        f"there is no {theirs}"
        for struct, (theirs, _) in ours.structs.items()
        if release >= SINCE.get(struct, OLDEST) and not successors(theirs, header)
    ]
    return wrong + [
        f"there is no {name}"
        for name, optional in ours.functions.items()
        if not optional and not re.search(rf"\b{name} ?\(", header)
    ]


def compiled(version: Version, lines: list[str]) -> list[str]:
    """Compile assertions against the headers of a version; return those that fail."""
    source = version.folder / "check.c"
    text = "\n".join(['#include "compare.h"', *lines, ""])
    source.write_text(text, encoding="utf-8")
    command = [*compiler(), "-std=c11", "-fsyntax-only", "-w", "-fmax-errors=0"]
    command += ["-I", str(CSRC), "-I", str(HERE / "headers")]
    command += ["-I", str(version.folder / "include"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.returncode:
        return []
    failed = re.findall(r'static assertion failed(?: due to .*)?: "(.*)"', done.stderr)
    return failed or [done.stderr[-1000:]]


def compiler() -> list[str]:
    """Return the command of a C compiler; exit if there is none."""
    for command in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if command and shutil.which(command.split()[0]):
            return command.split()
    sys.exit("lineprof: no C compiler; on Debian: apt install gcc libc6-dev")


def available(env: Env, packages: tuple[str, ...]) -> list[Version]:
    """Return the newest wheel of each version on the package index, oldest first."""
    newest: dict[tuple[int, ...], Version] = {}
    for package in packages:
        answer = subprocess.run(
            [str(env.python), "-m", "pip", "index", "versions", package],
            capture_output=True,
            text=True,
            env=clean_environment(),
            check=False,
        )
        listed = re.search(r"^Available versions: (.*)$", answer.stdout, re.MULTILINE)
        if not listed:
            raise StepError(f"the package index has no {package}: {answer.stderr}")
        for number in listed[1].split(", "):  # newest first
            version = Version(package, number)
            newest.setdefault(version.release, version)
    return [newest[release] for release in sorted(newest)]


def fetch(env: Env, version: Version) -> None:
    """Download and unpack the headers of a version, unless present."""
    include = version.folder / "include"
    if include.exists():
        return
    wheels = version.folder / "wheels"
    command = [env.python, "-m", "pip", "download", "--no-input", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", wheels]
    must([*command, f"{version.package}=={version.number}"], env.log)
    (wheel,) = wheels.glob("*.whl")
    part = version.folder / "part"
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            inside = name.partition("/include/")[2]
            if inside.endswith(".h"):
                target = part / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))
    shutil.rmtree(wheels)
    part.rename(include)


def check(version: Version, runtime: Version | None, ours: Ours) -> list[str]:
    """Compare one version and print its line; return the differences.

    `runtime` is that of the same CUDA, with its cuda.h, or None if there is none.
    """
    include = version.folder / "include"
    header = "\n".join(
        file.read_text(encoding="utf-8", errors="replace")
        for part in PARTS
        for file in include.glob(f"cupti_{part}.h")
    )
    lines = [*assertions(ours, header, version.release), *limits()]
    lines += double.assertions(version.release, header)
    types = list(signatures.assertions(signatures.ours(), header))
    types += signatures.assertions(double.declared(), header)
    meta = (include / META).read_text(encoding="utf-8", errors="replace")
    named = names_of_calls(header)
    wrong = missing(ours, header, version.release) + wrong_calls(ours, header)
    wrong += unlisted(ours, named)
    wrong += double.wrong_functions(version.release, header)
    wrong += calls_without_place(ours.sizes, named, meta)
    if runtime:
        cuda = (runtime.folder / "include/cuda.h").read_text(encoding="utf-8")
        wrong += driver.differences(cuda)
    sizes = size_assertions(ours.sizes, named, meta)
    wrong += compiled(version, [*lines, *types, *sizes])
    at = sum(line.startswith("AT(") for line in lines)
    kernel = successors("CUpti_ActivityKernel7", header)
    newest = max(kernel, key=len_and_name, default="-").replace("CUpti_Activity", "")
    optional = [
        name.replace("cupti", "").replace("Activity", "")
        for name, may_lack in ours.functions.items()
        if may_lack and not re.search(rf"\b{name} ?\(", header)
    ]
    verdict = "fits" if not wrong else f"{len(wrong)} wrong"
    row = f"{version.number:10} {newest:9} {at:6} {len(lines) - at:6} {len(types):6}"
    row += f" {'yes' if runtime else 'no':6} {verdict:9} "
    print((row + ", ".join(optional)).rstrip(), flush=True)
    for text in wrong:
        print(f"           {text}")
    return wrong


def limits() -> Iterator[str]:
    """Yield assertions that our tables have room for the calls of this version."""
    for file, domain in (("cupti_calls.h", "DRIVER"), ("activity.c", "RUNTIME")):
        source = (CSRC / "gpu" / file).read_text(encoding="utf-8")
        found = re.search(r"\b(?:LP_CUPTI_)?CALLS = (\d+)", source)
        room = found[1] if found else 0
        yield f"AT_MOST({room}, CUPTI_{domain}_TRACE_CBID_SIZE);"


def stale(versions: list[Version]) -> list[str]:
    """Return the patterns of NOT_OURS that fit no call of any version."""
    names = {
        name
        for version in versions
        for name in names_of_calls(
            (version.folder / "include/cupti_driver_cbid.h").read_text(encoding="utf-8")
        ).values()
    }
    return [
        f"{pattern} in NOT_OURS fits no call"
        for pattern in NOT_OURS
        if not any(re.fullmatch(f"(?:{pattern}){ENDS}", name) for name in names)
    ]


def len_and_name(name: str) -> tuple[int, str]:
    """Sort key that puts Kernel9 before Kernel10."""
    return len(name), name


def main() -> int:
    """Compare all versions; return 1 if any differs."""
    ours = read_ours()
    gaps = unknown(ours)
    if gaps:
        sys.exit(
            "lineprof: tools/checks/cupti/names.py lags behind: " + "; ".join(gaps)
        )
    env = Env(ROOT / ".venv-check-cupti")
    try:
        make(env, this())
        pip(env, "pip>=22.1")  # the first with `pip index versions`
        versions = [v for v in available(env, PACKAGES) if v.release >= OLDEST]
        runtimes = {v.release: v for v in available(env, RUNTIMES)}
        runtimes = {
            v.release: runtimes[v.release] for v in versions if v.release in runtimes
        }
        for version in [*versions, *runtimes.values()]:
            fetch(env, version)
    except StepError as error:
        replay(env.log)
        sys.exit(f"lineprof: {error}")
    print(
        "CUPTI      kernel   fields values  types cuda.h           "
        "optional functions it lacks"
    )
    wrong = [
        text
        for version in versions
        for text in check(version, runtimes.get(version.release), ours)
    ]
    for text in stale(versions):
        print(text)
        wrong.append(text)
    newest = versions[-1].release
    if newest > NEWEST:
        news = ".".join(map(str, newest))
        print(
            f"{news} is newer than what lineprof was made for: read its release notes"
        )
    print(f"{len(versions)} versions, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
