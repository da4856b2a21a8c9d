"""Runner of a test module of CPython in this process, which writes the outcomes.

usage: runner.py MODULE CORE FILE [--memory]. With a core every function of the module
counts its lines, and their memory; `-` is no core, and the module runs alone. FILE gets
JSON: the outcome of each test, the number of watched code objects and of hits, and the
tests that passed although their own lines have no hits.
"""

from __future__ import annotations

import contextlib
import doctest
import faulthandler
import importlib
import inspect
import json
import signal
import sys
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ALONE = "-"
MODULE = "<module>"


class Outcomes(unittest.TestResult):
    """Outcomes of tests, by their ids."""

    def __init__(self) -> None:
        """Start without outcomes."""
        super().__init__()
        self.outcomes: dict[str, str] = {}
        self.reasons: dict[str, str] = {}
        self.passed: dict[str, CodeType] = {}

    def _add(self, test: unittest.TestCase, outcome: str, reason: str = "") -> None:
        name = test.id()
        if self.outcomes.get(name, "passed") == "passed":
            self.outcomes[name] = outcome
        self.reasons[name] = self.reasons.get(name, "") + reason

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        """Print the test that runs, in case the log ends in it."""
        print(test.id(), file=sys.stderr, flush=True)
        super().startTest(test)

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        """Add a test that passed, and its code."""
        self._add(test, "passed")
        method = getattr(test, getattr(test, "_testMethodName", ""), None)
        code = getattr(inspect.unwrap(method), "__code__", None) if method else None
        if code is not None and not isinstance(test, doctest.DocTestCase):
            self.passed[test.id()] = code

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: ANN401, N802
        """Add an error."""
        self._add(test, "error", self._text(err, test))

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: ANN401, N802
        """Add a failure."""
        self._add(test, "failed", self._text(err, test))

    def addSubTest(  # noqa: N802
        self,
        test: unittest.TestCase,
        subtest: unittest.TestCase,
        err: Any,  # noqa: ANN401
    ) -> None:
        """Add a failure in part of a test."""
        if err is not None:
            self._add(test, "failed", f"{subtest.id()}: {self._text(err, test)}")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        """Add a skipped test."""
        self._add(test, "skipped", reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: ANN401, ARG002, N802
        """Add an expected failure."""
        self._add(test, "failed as expected")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        """Add an unexpected success."""
        self._add(test, "passed unexpectedly")

    def _text(self, err: Any, test: unittest.TestCase) -> str:  # noqa: ANN401
        return self._exc_info_to_string(err, test)  # type: ignore[attr-defined,no-any-return]


class Watch:
    """Profiler of all functions of some modules, or nothing if the core is `-`."""

    def __init__(self, core: str, *, memory: bool) -> None:
        """Open a profiler with this core, unless the core is `-`."""
        self.profiler: Any = None
        self.codes: set[CodeType] = set()
        if core != ALONE:
            from lineprof import LineProfiler  # noqa: PLC0415  # not if alone

            self.profiler = LineProfiler(core=core, memory=memory)

    def __call__(self, code: CodeType) -> CodeType:
        """Watch the functions in the code of a module; return the code."""
        for inner in functions_in(code):
            if self.profiler is not None:
                self.codes.add(inner)
                self.profiler.watch(inner)
        return code

    def hits(self) -> dict[tuple[str, int], int]:
        """Return the hits of functions, by file and first line."""
        counted: dict[tuple[str, int], int] = {}
        if self.profiler is not None:
            for function in self.profiler.get_stats().functions:
                key = (function.file, function.line)
                hits = sum(row.hits for row in function.rows)
                counted[key] = counted.get(key, 0) + hits
        return counted


def functions_in(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects in `code`, and `code` itself unless a module's."""
    if code.co_name != MODULE:
        yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from functions_in(inner)


@contextlib.contextmanager
def watched_imports(module: str, watch: Watch) -> Iterator[None]:
    """Watch the code of a module and its submodules before the code runs."""
    get_code = SourceFileLoader.get_code

    def get_watched_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        code = get_code(self, fullname)
        if code is not None and (fullname + ".").startswith(module + "."):
            watch(code)
        return code

    SourceFileLoader.get_code = get_watched_code  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:  # or tests that trace imports would see it
        SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


def watch_examples(watch: Watch) -> None:
    """Watch the examples in docstrings, of which generators have many."""

    def compile_watched(*args: Any) -> Any:  # noqa: ANN401
        return watch(compile(*args))

    namespace: dict[str, Any] = vars(doctest)
    namespace["compile"] = compile_watched


def tests_of(name: str) -> unittest.TestSuite:
    """Load the tests of a module, with the examples in its docstrings."""
    suite = unittest.TestSuite()
    suite.addTest(unittest.defaultTestLoader.loadTestsFromName(name))
    module = importlib.import_module(name)
    if hasattr(module, "__test__") and not hasattr(module, "load_tests"):
        suite.addTest(doctest.DocTestSuite(module))  # otherwise test_main() runs them
    return suite


def main() -> None:
    """Run a module's tests."""
    module, core, file, *flags = sys.argv[1:]
    del sys.argv[1:]
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # if not in the foreground
    watch = Watch(core, memory=bool(flags))
    watch_examples(watch)
    with watched_imports(module, watch):
        tests = tests_of(module)
    result = Outcomes()
    tests.run(result)
    hits = watch.hits()
    unheard = [
        name
        for name, code in result.passed.items()
        if code in watch.codes and not hits.get((code.co_filename, code.co_firstlineno))
    ]
    answer = {
        "outcomes": result.outcomes,
        "reasons": result.reasons,
        "watched": len(watch.codes),
        "hits": sum(hits.values()),
        "unheard": unheard,
    }
    Path(file).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
