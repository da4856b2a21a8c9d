"""From a program's text to code, with what `python` makes of the text on the way."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType


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
