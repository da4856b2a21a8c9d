"""Programs as `python` runs them: a script, a folder or zip, a module, code, stdin.

Each says what `sys.argv` and `sys.path[0]` it begins with, and runs in the
module that is ``sys.modules["__main__"]``, with the same names in it, the same
frames in a traceback and the same flushes as under the plain interpreter.
"""

from __future__ import annotations

import os
import runpy
import sys
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from typing import TYPE_CHECKING

from kernprof.options import COMMAND, MODULE, SCRIPT, NotRunError, UsageError
from kernprof.output_file import current_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import CodeType

    from kernprof.options import Plan

    Recording = AbstractContextManager[object]


# From a program's text to code, with what `python` makes of the text on the way.


def is_bytecode(data: bytes) -> bool:
    """Tell whether a file's content is a ``.pyc`` file's, of whatever version."""
    return data[2:4] == b"\r\n"  # so ends the magic number of all of them


def code_of_file(data: bytes | str, path: str) -> CodeType:
    """Return the code of the file at `path` with content `data`.

    Raises SyntaxError, or ValueError for a null byte, where it is no program.
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
    """Return the code in a ``.pyc`` file, None if it is another version's."""
    import io  # noqa: PLC0415  # bytecode is rare
    import pkgutil  # noqa: PLC0415

    code: CodeType | None = pkgutil.read_code(io.BytesIO(data))
    return code


def _check_encoding(data: bytes, path: str) -> None:
    """Refuse what is not UTF-8 and declares no other encoding (SyntaxError).

    ``compile`` overlooks such bytes in a comment; python, when it reads a
    file, does not.
    """
    try:
        data.decode()
    except UnicodeDecodeError as error:
        import io  # noqa: PLC0415  # most programs are UTF-8
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


# From a plan to the program that it names.


_END_OF_ZIP = b"PK\x05\x06"
_ZIP_TAIL = 22 + (1 << 16)  # bytes: the last record of a zip and its comment


def find(plan: Plan) -> Program:
    """Return the program that `plan` names.

    Raises UsageError for a script that cannot be found or read; a module is
    looked for when it runs.
    """
    if plan.kind == SCRIPT:
        return _script(plan.target)
    if plan.kind == MODULE:
        return Module(plan.target, current_folder())
    if plan.kind == COMMAND:
        return Command(plan.target)
    return Stdin()


def read_file(name: str, what: str) -> tuple[str, str, bytes]:
    """Return a file's name, its path in full and its content.

    It is the one called `name`, or of that bare name on PATH. Raises UsageError,
    which calls it a `what`, where there is none that can be read.
    """
    name = _found(name, what)
    path = _in_full(name)
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
    if os.path.isdir(_in_full(found)):
        return Container(found, _in_full(found))
    given, (name, path, data) = name, read_file(found, "script")
    if _is_zip(path, data):
        return Container(name, path)
    if name != given:
        check_command(name, data)
    return Script(name, path, data)


def _in_full(name: str) -> str:
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
    raise UsageError(
        f"cannot find {what} {name!r}",
        hint="check its name, and the folder that you are in",
    )


def _is_zip(path: str, data: bytes) -> bool:
    """Tell whether python would import from the file, as it does from a zip."""
    if _END_OF_ZIP not in data[-_ZIP_TAIL:]:
        return False
    from pkgutil import get_importer  # noqa: PLC0415  # zips are rare

    return get_importer(path) is not None


# The code that `runpy` runs as ``__main__``, told of before it runs.


def tell(before: Callable[[CodeType, str], None], *, as_module: bool) -> None:
    """Have `before` called with code and module's name, once, by runpy's next run.

    The name is "" but `as_module`, as ``python -m`` runs it. Nothing of it is
    on the stack when the code runs.
    """
    name = "_get_module_details" if as_module else "_get_main_module_details"
    find = getattr(runpy, name)

    def find_and_tell(*arguments: object) -> tuple[str, object, CodeType]:
        setattr(runpy, name, find)
        found: tuple[str, object, CodeType] = find(*arguments)
        before(found[2], found[0] if as_module else "")
        return found

    setattr(runpy, name, find_and_tell)


# Commands that are no Python: said in a line, before python fails at them.


_PYTHON = (b"python", b"pypy", b"uv")
_SHOWN = 40  # characters of a first line


def check_command(path: str, data: bytes) -> None:
    """Refuse (UsageError) what was found on PATH and is not Python by its start.

    Tools begin a script with ``#!/bin/sh`` where the way to its Python is too long
    for a first line; the second has that then.
    """
    first, second = (*data[:4096].split(b"\n", 2), b"")[:2]
    if first.startswith(b"#!"):
        if any(name in line for name in _PYTHON for line in (first, second)):
            return
        shown = first[:_SHOWN].decode(errors="replace").strip()
        why = f"it begins with {shown!r}"
    elif b"\0" in data[:4096] and data[2:4] != b"\r\n":  # no bytecode either
        why = "it is a binary"
    else:
        return
    raise UsageError(
        f"{path!r} is not Python: {why}",
        hint="if that starts a Python script, give the path of the script;"
        f" of a shim of pyenv, what `pyenv which {os.path.basename(path)}` says",
    )


class Program:
    """What to run, and what it finds when it begins."""

    argv0: str
    first_path: str  # sys.path[0]
    stem: str  # %s in the name of the profile
    file_name: str  # %f
    always_first_path = False  # also where python leaves sys.path alone
    texts: dict[str, str]  # source that no file holds, by its code's name
    # Told of its code and its name as a module, just before its first line.
    before: Callable[[CodeType, str], None] | None = None
    _started = False
    _flushes = False  # whether python empties the streams after the last line

    def __init__(self) -> None:
        """Have no source but that of files."""
        self.texts = {}

    @property
    def started(self) -> bool:
        """Whether a line of it ran."""
        return self._started

    def run(self, recording: Recording) -> None:
        """Run it, `recording`, in ``sys.modules["__main__"]``.

        Raises what the program raises; SyntaxError or ValueError where it
        cannot be compiled, NotRunError where a module is not found.
        """
        code = self._load()
        names = _main()
        try:
            with recording:
                if self.before:
                    self.before(code, "")
                self._started = True
                exec(code, names)  # noqa: S102  # it is the purpose
        finally:
            if self._flushes:
                _flush(sys.stderr)
                _flush(sys.stdout)

    def leave(self) -> None:
        """Take away what python takes away when the last line has run."""
        if self._flushes:  # a file
            for name in ("__file__", "__cached__"):
                _main().pop(name, None)

    def refuse(self, error: BaseException) -> None:
        """Let python say, where it can say better, why this is no program."""

    def _load(self) -> CodeType:
        """Return the code, and tell ``__main__`` where it is from."""
        raise NotImplementedError


class Script(Program):
    """A file of source, or of bytecode."""

    _flushes = True

    def __init__(self, name: str, path: str, data: bytes) -> None:
        """Take what the file is called, its `path` in full and its content."""
        super().__init__()
        self.argv0 = name
        self.first_path = os.path.dirname(os.path.realpath(path))
        self.file_name = os.path.basename(name)
        self.stem = os.path.splitext(self.file_name)[0]
        self._path = path
        self._data = data

    def _load(self) -> CodeType:
        code = code_of_file(self._data, self._path)
        loader = SourcelessFileLoader if is_bytecode(self._data) else SourceFileLoader
        self._data = b""
        _main()["__loader__"] = loader("__main__", self._path)
        _set_file(self._path)
        return code

    def refuse(self, error: BaseException) -> None:
        """Become plain python, which tells of the text's fault in its own words.

        What it says of a file whose encoding is wrong is not what ``compile`` says
        of the same text.
        """
        if self.started or not isinstance(error, (SyntaxError, ValueError)):
            return
        if not (sys.executable and os.path.isfile(self._path)):
            return  # a pipe is empty by now
        from subprocess import (  # type: ignore[attr-defined]  # noqa: PLC0415
            _args_from_interpreter_flags,
        )

        flags: list[str] = _args_from_interpreter_flags()
        _flush(sys.stderr)
        _flush(sys.stdout)
        os.execv(sys.executable, [sys.executable, *flags, *sys.argv])  # noqa: S606


class Container(Program):
    """A folder or a zip file with a ``__main__`` in it."""

    always_first_path = True

    def __init__(self, name: str, path: str) -> None:
        """Take what the container is called, and its `path` in full."""
        super().__init__()
        self.argv0 = name
        self.first_path = path
        self.file_name = os.path.basename(os.path.abspath(path))
        self.stem = os.path.splitext(self.file_name)[0]

    @property
    def started(self) -> bool:
        """Whether its ``__main__`` was found and begun."""
        return _module_started()

    def run(self, recording: Recording) -> None:
        """Run it; NotRunError where it holds no ``__main__``."""
        why_not = _run_module("__main__", recording, self.before, alter_argv=False)
        if why_not:
            raise NotRunError(why_not, hint="give a folder or zip with a __main__.py")


class Module(Program):
    """A module, as ``python -m`` runs it."""

    argv0 = "-m"

    def __init__(self, name: str, folder: str) -> None:
        """Take the module's dotted name, and the current folder."""
        super().__init__()
        self.stem = self.file_name = name
        self.first_path = folder

    @property
    def started(self) -> bool:
        """Whether the module was found and begun."""
        return _module_started()

    def run(self, recording: Recording) -> None:
        """Run it; NotRunError where there is no such module."""
        why_not = _run_module(self.stem, recording, self.before, alter_argv=True)
        if why_not:
            raise NotRunError(why_not, hint="check its name, and where you are")


class Command(Program):
    """Code from the command line, as ``python -c`` runs it."""

    argv0 = "-c"
    first_path = ""

    def __init__(self, text: str) -> None:
        """Take the code."""
        super().__init__()
        if sys.version_info >= (3, 14):  # where all of it may be indented
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
        """Read nothing yet."""
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


def _main() -> dict[str, object]:
    names: dict[str, object] = getattr(sys.modules.get("__main__"), "__dict__", {})
    return names


def _flush(stream: object) -> None:
    try:
        stream.flush()  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001  # it is the program's, or there is none
        return


def _set_file(path: str) -> None:
    _main()["__file__"] = path
    if sys.version_info < (3, 15):
        _main()["__cached__"] = None


def _module_started() -> bool:
    return "__file__" in _main()  # runpy puts it there, just before the first line


def _run_module(
    name: str,
    recording: Recording,
    before: Callable[[CodeType, str], None] | None,
    *,
    alter_argv: bool,
) -> str:
    """Do as the interpreter does for -m, by the very function that it calls.

    Returns why there is no such module, "" for one that was run.
    """
    import runpy  # noqa: PLC0415  # a script does without

    try:
        with recording:
            if before:
                tell(before, as_module=alter_argv)
            runpy._run_module_as_main(name, alter_argv)  # type: ignore[attr-defined]  # noqa: SLF001
    except SystemExit as stop:
        inner = stop.__traceback__.tb_next if stop.__traceback__ else None
        why = stop.__context__
        ended = inner is None or inner.tb_next is not None  # by what runpy ran
        if ended or not isinstance(why, runpy._Error):  # type: ignore[attr-defined]  # noqa: SLF001
            raise
        return str(why)
    return ""
