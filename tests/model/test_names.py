"""Names of functions and of the code of files, as views show them."""

from __future__ import annotations

import pytest

from lineprof.model.names import STANDARD_LIBRARY, ShortNames, library_of
from lineprof.report.lookup import Finder


@pytest.mark.parametrize(
    ("file", "others", "name"),
    [
        ("script.py", (), "script"),
        ("/home/me/script.py", (), "script"),
        ("/home/a/util.py", ("/home/b/util.py",), "a.util"),
        ("pkg/m.py", (), "m"),
        ("/p/shop/db.py", ("/p/shop/__init__.py",), "shop.db"),
        ("/p/shop/__init__.py", (), "shop"),
        ("/p/a/b/c.py", ("/p/a/__init__.py", "/p/a/b/__init__.py"), "a.b.c"),
        ("/p/a/b/c.py", ("/p/a/b/__init__.py",), "b.c"),
        ("/__init__.py", (), "__init__"),
        ("/app.py", ("/__init__.py",), "app"),
        ("/v/lib/python3.13/site-packages/sympy/core/add.py", (), "sympy.core.add"),
        ("/usr/lib/python3/dist-packages/yaml/__init__.py", (), "yaml"),
        ("/usr/lib64/python3.12/json/decoder.py", (), "json.decoder"),
        ("<string>", (), "<string>"),
        ("<stdin>", (), "<stdin>"),
    ],
)
def test_the_code_of_a_file_has_the_name_of_its_module(
    file: str, others: tuple[str, ...], name: str
) -> None:
    key = (file, 1, "<module>")
    keys = [key, *((one, 1, "<module>") for one in others)]
    names = ShortNames((one for one, _, _ in keys), keys)
    assert names.name(key) == names.called(key) == f"module {name}"
    assert names.function(key) == f"{names.file(file)}:1(module)"
    finder = Finder(keys)
    for shown in (names.name(key), names.function(key)):
        assert finder.function(shown) == key


def test_modules_of_one_name_have_their_places() -> None:
    files = [f"/{one}/pkg/{name}.py" for one in "ab" for name in ("__init__", "mod")]
    keys = [(file, 1, "<module>") for file in files]
    shown = [ShortNames(files).called(key) for key in keys]
    for folder, name in zip("ab", shown[1::2]):
        assert name == f"module pkg.mod ({folder}/pkg/mod.py:1)"
    assert len({*shown}) == len(shown)
    assert [Finder(keys).function(one) for one in shown] == keys


@pytest.mark.parametrize(
    ("file", "library"),
    [
        ("/home/me/project/x.py", ""),
        ("x.py", ""),
        ("/home/me/lib/x.py", ""),
        ("/v/lib/python3.13/site-packages/sympy/core/add.py", "sympy"),
        ("/v/lib/python3.13/site-packages/six.py", "six"),
        ("/usr/lib/python3/dist-packages/yaml/__init__.py", "yaml"),
        ("/usr/lib/python3.12/json/decoder.py", STANDARD_LIBRARY),
        ("/usr/lib64/python3.12/json/decoder.py", STANDARD_LIBRARY),
        ("/opt/lib/python3.13t/ast.py", STANDARD_LIBRARY),
        ("/opt/python313.zip/ast.py", STANDARD_LIBRARY),
        ("<frozen importlib._bootstrap>", STANDARD_LIBRARY),
        (r"C:\v\Lib\site-packages\yaml\load.py", "yaml"),
        ("<string>", ""),
    ],
)
def test_the_library_of_a_file_follows_from_its_folder(file: str, library: str) -> None:
    assert library_of(file) == library
