"""Compiled functions, whose lines run without events: Numba, Cython, torch.compile.

None of these packages is imported: compiled functions are recognised by their types.
"""

from __future__ import annotations

import gc
import os
import sys
from types import CodeType, FunctionType

from lineprof.decorate.callables import held_in, is_cython_callable
from lineprof.decorate.code_copies import identity
from lineprof.patterns import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from types import ModuleType

    Key = tuple[object, ...]
    Place = tuple[str, int, str]  # file, first line, name

_NUMBA = "numba.core.dispatcher"
_DYNAMO = "torch._dynamo"
_MAX_NAMED = 30  # functions named in one warning; the others are counted

# Compiled to machine code, by type.


def compiled_in(target: object) -> Iterator[tuple[str, str]]:
    """Yield the compiler and the name of the compiled functions that `target` calls."""
    compiler = compiler_of(target)
    if compiler:
        yield compiler, _name(target)
    elif not isinstance(target, (FunctionType, type)):
        try:
            inside = held_in(target)
        except TypeError:  # no callable
            return
        for part in inside:
            yield from compiled_in(part)


def compiler_of(target: object) -> str:
    """Return the compiler of a function, "" if it runs as Python bytecode."""
    if is_cython_callable(target):
        return "Cython"
    kind = type(target)
    if kind.__name__ == "compiled_function":
        return "Nuitka"
    own = getattr(target, "__dict__", None)
    if isinstance(own, dict) and isinstance(own.get("py_func"), FunctionType):
        return "Numba" if _is_numbas(kind) else kind.__name__
    return "Numba" if _is_numbas(kind) and callable(target) else ""


def numba_in(identities: Collection[Key]) -> Iterator[tuple[str, str]]:
    """Yield the same for the functions with these identities that Numba compiled.

    Its decorator may be above `@profile`, which then does not see the compiled one.
    """
    dispatcher = getattr(sys.modules.get(_NUMBA), "Dispatcher", None)
    if not isinstance(dispatcher, type) or not identities:
        return
    for found in gc.get_objects():
        # isinstance() would evaluate a proxy.
        if dispatcher in type(found).__mro__ and getattr(found, "overloads", None):
            code = getattr(getattr(found, "py_func", None), "__code__", None)
            if isinstance(code, CodeType) and identity(code) in identities:
                yield "Numba", _name(found)


def warnings_of(found: Collection[tuple[str, str]]) -> list[str]:
    """Return a warning for each compiler in `found`, pairs of compiler and function."""
    names: dict[str, list[str]] = {}
    for compiler, name in found:
        names.setdefault(compiler, []).append(name)
    return [
        f"{compiler} compiled {listed(functions, ' and ', _MAX_NAMED)}:"
        " lines that ran so were not seen"
        for compiler, functions in names.items()
    ]


def _is_numbas(kind: type) -> bool:
    return str(kind.__module__).partition(".")[0] == "numba"


def _name(target: object) -> str:
    function = getattr(target, "py_func", target)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", "")
    code = getattr(function, "__code__", None) or getattr(
        getattr(function, "__wrapped__", None), "__code__", None
    )
    if not isinstance(code, CodeType):
        return str(name or type(target).__name__)
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


# Compiled by ``torch.compile``. Its compiler, Dynamo, reads a function's bytecode and
# from then on runs code of its own, which no event source sees. Warnings name the
# functions whose lines are missing, as far as torch tells.

_RESUMED = "torch_dynamo_resume_in_"  # prefix of functions that run after a graph break

_COMPILED = (
    "torch.compile ran code of its own for {}: lines that ran there were not seen, "
    "their time is in the line that made the call"
)
_TAKEN = (
    "torch.compile took {} into its callers' code: lines that ran there were not seen, "
    "their time is in the line that called the compiled code"
)
_WRAPPED = (
    "{}: compiled before it was decorated, so what is counted is torch.compile's "
    "wrapper, together with that of all functions decorated so; its own lines were not "
    "seen"
)
_SOME = (
    "torch.compile ran code of its own for {}: lines that ran there, and in what it "
    "calls, were not seen, and which these are is not known any more"
)
_UNKNOWN = (
    "torch.compile may have run code of its own, and this version of torch does not "
    "say for what: lines that ran there were not seen, their time is in the line that "
    "made the call"
)


def missing_lines(
    functions: Iterable[FunctionType], modules: Mapping[str, ModuleType] | None = None
) -> list[str]:
    """Return sentences that name those of `functions` whose lines torch.compile hid.

    If torch no longer knows all functions that it compiled, the last sentence is about
    the whole program. `modules` replaces ``sys.modules``.
    """
    modules = sys.modules if modules is None else modules
    if _DYNAMO not in modules:
        return []
    try:
        compiled = _compiled(modules)
        taken, is_all = _taken(modules)
    except Exception:  # noqa: BLE001  # internals of torch, of any version
        return [_UNKNOWN] if _has_compiled(modules) else []
    hidden: dict[str, list[str]] = {}
    for function in functions:
        sentence, name = _hidden(function, compiled, taken)
        if sentence:
            hidden.setdefault(sentence, []).append(name)
    if compiled and not is_all:
        hidden[_SOME] = [_shown(place) for place in sorted(compiled)]
    return [
        sentence.format(listed(names, " and ", _MAX_NAMED))
        for sentence, names in hidden.items()
    ]


def _hidden(
    function: FunctionType, compiled: Mapping[Place, int], taken: set[Place]
) -> tuple[str, str]:
    """Return the sentence about a function, or "", and the function's name in it."""
    inner = function.__dict__.get("_torchdynamo_orig_callable")
    original = getattr(inner, "__code__", None)
    if isinstance(original, CodeType):
        return _WRAPPED, _shown(_place(original), inner)
    place = _place(function.__code__)
    if place in compiled:
        return _COMPILED, _shown(place, function, compiled[place])
    return (_TAKEN if place in taken else ""), _shown(place, function)


def _compiled(modules: Mapping[str, ModuleType]) -> dict[Place, int]:
    """Return the functions that Dynamo compiled, and how many times."""
    times: dict[Place, int] = {}
    for metrics in modules[f"{_DYNAMO}.utils"].get_compilation_metrics():
        name, file = metrics.co_name, metrics.co_filename
        if metrics.has_guarded_code and not name.startswith(_RESUMED):
            place = (file, metrics.co_firstlineno, name)
            times[place] = times.get(place, 0) + 1
    # Metrics survive a reset of Dynamo, but only the newest are kept.
    entries_of = modules[f"{_DYNAMO}.eval_frame"]._debug_get_cache_entry_list  # noqa: SLF001
    for known in list(modules[f"{_DYNAMO}.convert_frame"].input_codes.seen):
        code = known()
        entries = entries_of(code) if code is not None else ()
        if entries and not code.co_name.startswith(_RESUMED):
            place = _place(code)
            times[place] = max(times.get(place, 0), len(entries))
    return times


def _has_compiled(modules: Mapping[str, ModuleType]) -> bool:
    """Return whether Dynamo compiled anything; True if that is unknown."""
    try:
        return bool(modules[f"{_DYNAMO}.utils"].counters.get("frames"))
    except Exception:  # noqa: BLE001  # as above
        return True


def _taken(modules: Mapping[str, ModuleType]) -> tuple[set[Place], bool]:
    """Return the functions whose bytecode Dynamo read, and whether these are all.

    A function that it inlined into the caller's code is only found in the cache of
    the bytecode that it read.
    """
    module = modules[f"{_DYNAMO}.bytecode_transformation"]
    cache = module._cached_cleaned_instructions  # noqa: SLF001
    info = cache.cache_info()
    is_all = info.maxsize is None or info.currsize < info.maxsize
    return {_place(code) for code in _keys(cache)}, is_all


def _keys(cache: Callable[..., object]) -> Iterator[CodeType]:
    """Yield the code objects in the keys of a ``functools.lru_cache``."""
    for held in gc.get_referents(cache):
        for key in list(held) if type(held) is dict else ():
            first = key[0] if isinstance(key, tuple) and key else key
            if isinstance(first, CodeType):
                yield first


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_firstlineno, code.co_name


def _shown(place: Place, function: object = None, times: int = 1) -> str:
    file, line, name = place
    name = getattr(function, "__qualname__", name)
    often = f", compiled {times} times" if times > 1 else ""
    return f"{name} ({os.path.basename(file)}:{line}{often})"
