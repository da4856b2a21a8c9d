"""Programs as `python` runs them: a script, a folder or zip, a module, code, stdin.

Each kind of program has its `sys.argv[0]` and `sys.path[0]`, and runs in the module
that is ``sys.modules["__main__"]``, with the same names in it, the same frames in a
traceback and the same flushes as under the plain interpreter. `find` returns the
program that a command line names.
"""

from __future__ import annotations

import io
import os
import sys
from importlib.machinery import SourceFileLoader, SourcelessFileLoader

from kernprof.messages import flush_stream
from kernprof.options import ANY_COMMAND
from kernprof.run_options import COMMAND, MODULE, SCRIPT, NotRunError, UsageError
from lineprof.console.output import shell_path
from lineprof.files import SOURCE, absolute_path, current_folder, real_path
from lineprof.recording.sources import keep_script
from lineprof.source_files import FileContent, disk_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from types import CodeType, ModuleType

    from kernprof.run_options import RunOptions
    from kernprof.whole_program import Watcher

    Recording = AbstractContextManager[object]


class Program:
    """A program, and the environment that it begins with."""

    argv0: str  # sys.argv[0]
    first_path: str | None  # sys.path[0]; None if python adds no entry
    stem: str  # %s in the name of the profile
    file_name: str  # %f
    path: str | None = None  # of its file
    always_first_path = False  # even if python leaves sys.path as it is
    texts: dict[str, str]  # source without a file, by the file name of its code
    # Told just before the first line, and before packages are imported to find it.
    watchers: Sequence[Watcher] = ()
    has_ended = False  # the last line has run
    error: BaseException | None = None  # that ended the program
    _started = False
    _flushes = False  # whether python flushes the streams after the last line

    def __init__(self) -> None:
        """Begin without source texts."""
        self.texts = {}

    @property
    def started(self) -> bool:
        """Whether the first line has run."""
        return self._started

    def run(self, recording: Recording) -> None:
        """Run it in ``sys.modules["__main__"]``, within the context `recording`.

        Exceptions of the program propagate. Raises SyntaxError or ValueError if it
        cannot be compiled, NotRunError if a module is not found.
        """
        code = self._load()
        names = _main()
        try:
            with recording:
                self.begin(code, "")
                self._started = True
                try:
                    exec(code, names)  # noqa: S102  # it is the purpose
                    self.has_ended = True
                except BaseException as error:
                    self.error = error
                    raise
        finally:
            if self._flushes:
                flush_stream(sys.stderr)
                flush_stream(sys.stdout)

    def begin(self, code: CodeType, module: str) -> None:
        """Tell the watchers that `code`, of that module, is about to run."""
        for watcher in self.watchers:
            watcher.begin(code, module)

    def leave(self) -> None:
        """Remove the names that python removes after the last line."""
        if self._flushes:  # it is a file
            for name in ("__file__", "__cached__"):
                _main().pop(name, None)

    def refuse(self, error: BaseException) -> None:
        """Let python report why this is not a program, if python says more."""

    def _load(self) -> CodeType:
        """Return the code, and set the names in ``__main__`` that depend on it."""
        raise NotImplementedError


class Script(Program):
    """A file of source or bytecode."""

    path: str
    _flushes = True

    def __init__(
        self, name: str, path: str, data: bytes, state: tuple[int, ...] | None
    ) -> None:
        """Take the file's name as given, its absolute `path` and its content.

        `state` is its `disk_state` from before it was read.
        """
        super().__init__()
        self.argv0 = name
        self.first_path = os.path.dirname(real_path(path))
        self.file_name = os.path.basename(name)
        self.stem = os.path.splitext(self.file_name)[0]
        self.path = path
        self._data = data
        self._state = state

    def _load(self) -> CodeType:
        code = code_of_file(self._data, self.path)
        loader = SourcelessFileLoader if is_bytecode(self._data) else SourceFileLoader
        if self._state and loader is SourceFileLoader:
            content = FileContent(file=self.path, state=self._state, data=self._data)
            keep_script(content)
        self._data = b""
        _main()["__loader__"] = loader("__main__", self.path)
        _set_file(self.path)
        return code

    def refuse(self, error: BaseException) -> None:
        """Replace this process by plain python, for its message of a syntax error.

        Python's message for a file with a wrong encoding is not the one that
        ``compile`` gives for the same bytes.
        """
        if self.started or not isinstance(error, (SyntaxError, ValueError)):
            return
        if not (sys.executable and os.path.isfile(self.path)):
            return  # a pipe has been read already
        from subprocess import (  # type: ignore[attr-defined]  # noqa: PLC0415
            _args_from_interpreter_flags,
        )

        flags: list[str] = _args_from_interpreter_flags()
        flush_stream(sys.stderr)
        flush_stream(sys.stdout)
        os.execv(sys.executable, [sys.executable, *flags, *sys.argv])  # noqa: S606


class _Imported(Program):
    """A program that python finds as it imports modules."""

    _module = "__main__"
    _as_module = False  # as python -m does
    _remedy = "give a folder or zip with a __main__.py"

    @property
    def started(self) -> bool:
        """Whether the module was found and has begun."""
        return "__file__" in _main()  # runpy sets it just before the first line

    def run(self, recording: Recording) -> None:
        """Run it; NotRunError if there is no such module."""
        why_not = _run_module(self._module, recording, self, alter_argv=self._as_module)
        if why_not:
            raise NotRunError(why_not, hint=self._remedy)
        self.has_ended = True


class Container(_Imported):
    """A folder or a zip file with a ``__main__`` module."""

    always_first_path = True

    def __init__(self, name: str, path: str) -> None:
        """Take the container's name as given, and its absolute `path`."""
        super().__init__()
        self.argv0 = name
        self.path = self.first_path = path
        self.file_name = os.path.basename(absolute_path(path))
        self.stem = os.path.splitext(self.file_name)[0]


class Module(_Imported):
    """A module, as ``python -m`` runs it."""

    argv0 = "-m"
    _as_module = True
    _remedy = "check its name, and where you are"

    def __init__(self, name: str, folder: str) -> None:
        """Take the module's dotted name, and the current folder."""
        super().__init__()
        self.stem = self.file_name = self._module = name
        self.first_path = folder or None  # the current folder may have been removed


class Command(Program):
    """Code from the command line, as ``python -c`` runs it."""

    argv0 = "-c"
    first_path = ""

    def __init__(self, text: str) -> None:
        """Take the code."""
        super().__init__()
        if sys.version_info >= (3, 14):  # all of it may be indented
            from textwrap import dedent  # noqa: PLC0415  # seldom needed

            text = dedent(text)
        self.stem = self.file_name = f"kernprof-command-{os.urandom(4).hex()}"
        self.texts["<string>"] = text + "\n"

    def _load(self) -> CodeType:
        return code_of_command(self.texts["<string>"])


class Stdin(Program):
    """A program on standard input, as ``python -`` runs it."""

    argv0 = "-"
    first_path = ""
    _flushes = True

    def __init__(self) -> None:
        """Read standard input later, when the program runs."""
        super().__init__()
        self.stem = self.file_name = f"kernprof-stdin-{os.urandom(4).hex()}"

    def _load(self) -> CodeType:
        stream = getattr(sys.stdin, "buffer", sys.stdin)
        data = stream.read() if stream else b""
        code = code_of_file(data, "<stdin>")
        text = data if isinstance(data, str) else data.decode(errors="replace")
        self.texts["<stdin>"] = text
        _set_file("<stdin>")
        return code


# Finding: from the options to the program that they name.


_END_OF_ZIP = b"PK\x05\x06"  # the beginning of the last record of a zip
_ZIP_TAIL = 22 + (1 << 16)  # bytes: that record and its comment


def find(options: RunOptions) -> Program:
    """Return the program that `options` name.

    Raises UsageError for a script that cannot be found or read; a module is searched
    for when it runs.
    """
    if options.kind == SCRIPT:
        try:
            return _script(options.target)
        except UsageError as error:
            words = _hint_on_words(options.target, options.arguments)
            error.hint = words or error.hint
            raise
    if options.kind == MODULE:
        return Module(options.target, current_folder())
    if options.kind == COMMAND:
        return Command(options.target)
    return Stdin()


def _hint_on_words(name: str, arguments: Sequence[str]) -> str:
    """Return what to do if `name`, which is no script, may be meant for a command."""
    if os.path.exists(name) or os.sep in name:
        return ""
    if name in {"help", "version"}:
        return f"kernprof --{name} prints it"
    profile = next((word for word in arguments if word.endswith(".lprof")), "")
    if profile:
        return f"lineprof view {shell_path(profile)} shows the profile"
    if any(word.endswith(SOURCE) and os.path.isfile(word) for word in arguments):
        return f"leave out {name!r}: the program comes first"
    return ""


def read_file(name: str, what: str) -> tuple[str, str, bytes]:
    """Return the name, the absolute path and the content of a file.

    The file is called `name`, or has that bare name on PATH. Raises UsageError, which
    calls the file a `what`, if there is none or it cannot be read.
    """
    name = _found(name, what)
    path = _absolute(name)
    try:
        with open(path, "rb") as stream:
            return name, path, stream.read()
    except OSError as error:
        raise UsageError(
            f"cannot read {what} {name!r}: {error.strerror}",
            hint="give a file that you may read",
        ) from None


def _script(name: str) -> Program:
    found = _found(name, "script")
    if os.path.isdir(_absolute(found)):
        if not os.path.isabs(_absolute(found)):  # nor can python
            raise UsageError(
                f"cannot run folder {name!r}: the current folder was removed",
                hint="give its full path",
            )
        return Container(found, _absolute(found))
    state = disk_state(_absolute(found))
    given, (name, path, data) = name, read_file(found, "script")
    if _is_zip(path, data):
        return Container(name, path)
    if name.endswith(".lprof") and data.startswith(_PROFILE):
        raise UsageError(
            f"{name} is a profile", hint=f"lineprof view {shell_path(name)} shows it"
        )
    if name != given:
        check_command(name, data)
    return Script(name, path, data, state)


def _absolute(name: str) -> str:
    return name if os.path.isabs(name) else os.path.join(current_folder(), name)


def _found(name: str, what: str) -> str:
    """Return `name`, or the path of the file of that bare name on PATH."""
    if os.path.exists(name):
        return name
    if os.sep not in name:
        from shutil import which  # noqa: PLC0415  # seldom needed

        found = which(name, os.F_OK)
        if found:
            return found
    hint = "check its name, and the folder that you are in"
    if os.path.exists(f"{name.replace('.', os.sep)}.py"):
        hint = f"a module is run by -m {name}"
    elif os.path.exists(f"{name}.py"):
        hint = f"there is {name}.py"
    raise UsageError(f"cannot find {what} {name!r}", hint=hint)


def _is_zip(path: str, data: bytes) -> bool:
    """Return whether python would import from the file, as it does from a zip."""
    if _END_OF_ZIP not in data[-_ZIP_TAIL:]:
        return False
    from pkgutil import get_importer  # noqa: PLC0415  # zips are rare

    return get_importer(path) is not None


_PROFILE = b"SQLite format 3"  # the first bytes of one

_PYTHON = (b"python", b"pypy", b"uv")
_SHOWN = 40  # characters of a first line


def check_command(path: str, data: bytes) -> None:
    """Raise UsageError for a command on PATH that does not begin as a Python script.

    Tools begin a script with ``#!/bin/sh`` if the path of its Python is too long for
    a first line; the second line has the path then.
    """
    first, second = (*data[:4096].split(b"\n", 2), b"")[:2]
    if first.startswith(b"#!"):
        if any(name in line for name in _PYTHON for line in (first, second)):
            return
        shown = first[:_SHOWN].decode(errors="replace").strip()
        why = f"it begins with {shown!r}"
    elif b"\0" in data[:4096] and not is_bytecode(data):
        why = "it is a binary"
    else:
        return
    raise UsageError(
        f"{path!r} is no Python script: {why}",
        hint="if that starts a Python script, give the path of the script, or profile"
        f" all that it starts: {ANY_COMMAND};"
        f" of a shim of pyenv, what `pyenv which {os.path.basename(path)}` says",
    )


# Compiling: from the content of a file to code, with the errors of plain python.


def is_bytecode(data: bytes) -> bool:
    """Return whether a file's content is bytecode, of any version of Python."""
    return data[2:4] == b"\r\n"  # the end of every magic number


def code_of_file(data: bytes | str, path: str) -> CodeType:
    """Return the code of the file at `path` with content `data`.

    Raises SyntaxError, or ValueError for a null byte, if it is not a program.
    """
    if isinstance(data, bytes):
        code = _bytecode(data) if is_bytecode(data) else None
        if code is not None:
            return code
        _check_encoding(data, path)
    return compile(data, path, "exec", dont_inherit=True)


def code_of_command(text: str) -> CodeType:
    """Return the code of `text` as ``python -c`` compiles it; SyntaxError as there."""
    code = compile(text, "<string>", "exec", dont_inherit=True)
    import linecache  # noqa: PLC0415  # seldom needed

    register = getattr(linecache, "_register_code", None)
    if register is not None:  # from 3.13 on tracebacks show the lines of -c
        by_code = hasattr(linecache, "_interactive_cache")  # from 3.14 on
        register(code if by_code else "<string>", text, "<string>")
    return code


def _bytecode(data: bytes) -> CodeType | None:
    """Return the code in a ``.pyc`` file; None if it is of another version."""
    import pkgutil  # noqa: PLC0415

    code: CodeType | None = pkgutil.read_code(io.BytesIO(data))
    return code


def _check_encoding(data: bytes, path: str) -> None:
    """Raise SyntaxError for a file that is not UTF-8 and declares no encoding.

    ``compile`` ignores such bytes in a comment; python, when it reads a file, does
    not.
    """
    try:
        data.decode()
    except UnicodeDecodeError as error:
        import tokenize  # noqa: PLC0415

        try:
            encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        except SyntaxError:
            encoding = "utf-8"
        if not encoding.startswith("utf-8"):
            return
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte {data[error.start]:#x} is not UTF-8"
        raise SyntaxError(message, (path, line, None, None)) from None


def _main() -> dict[str, object]:
    names: dict[str, object] = getattr(sys.modules.get("__main__"), "__dict__", {})
    return names


def _set_file(path: str) -> None:
    _main()["__file__"] = path
    if sys.version_info < (3, 15):
        _main()["__cached__"] = None


def _run_module(
    name: str, recording: Recording, program: Program, *, alter_argv: bool
) -> str:
    """Run a module with the function that the interpreter calls for -m.

    Returns why there is no such module, "" if it was run.
    """
    import runpy  # noqa: PLC0415  # scripts do without

    try:
        with recording:
            for watcher in program.watchers if alter_argv else ():
                watcher.begin_packages(name)
            if program.watchers:
                _call_before(runpy, program.begin, as_module=alter_argv)
            runpy._run_module_as_main(name, alter_argv)  # type: ignore[attr-defined]  # noqa: SLF001
    except SystemExit as stop:
        inner = stop.__traceback__.tb_next if stop.__traceback__ else None
        error = stop.__context__
        has_run = inner is None or inner.tb_next is not None  # the exit is the module's
        if has_run or not isinstance(error, runpy._Error):  # type: ignore[attr-defined]  # noqa: SLF001
            raise
        return str(error)
    return ""


def _call_before(
    runpy: ModuleType, before: Callable[[CodeType, str], None], *, as_module: bool
) -> None:
    """Patch `runpy` to call `before` once, with the code that it is about to run.

    The module's name is passed as well if `as_module`, as for ``python -m``, else
    "". No frame of the patch is on the stack when the code runs.
    """
    name = "_get_module_details" if as_module else "_get_main_module_details"
    find_code = getattr(runpy, name)

    def find_code_and_call(*arguments: object) -> tuple[str, object, CodeType]:
        setattr(runpy, name, find_code)
        found: tuple[str, object, CodeType] = find_code(*arguments)
        before(found[2], found[0] if as_module else "")
        return found

    setattr(runpy, name, find_code_and_call)
