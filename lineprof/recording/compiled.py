"""Functions that were compiled to machine code: their lines run without events.

Nothing here imports Numba or Cython; what they made is known by its type.
"""

from __future__ import annotations

import gc
import os
import sys
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from lineprof.decorate.callables import held_in, is_cython_callable
from lineprof.decorate.code_copies import identity

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from types import ModuleType

    Key = tuple[object, ...]

    Place = tuple[str, int, str]  # file, first line, name

_NUMBA = "numba.core.dispatcher"
_NAMED = 30  # so many functions are named, the others counted


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
    """Return what compiled a function, "" for one that runs as Python."""
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
    """Yield the same for what Numba compiled of functions with these identities.

    Its decorator may stand above ours, or where we are shown no decorators.
    """
    dispatcher = getattr(sys.modules.get(_NUMBA), "Dispatcher", None)
    if not isinstance(dispatcher, type) or not identities:
        return
    import gc  # noqa: PLC0415  # seldom

    for found in gc.get_objects():
        # isinstance() would ask a proxy for what it stands for.
        if dispatcher in type(found).__mro__ and getattr(found, "overloads", None):
            code = getattr(getattr(found, "py_func", None), "__code__", None)
            if isinstance(code, CodeType) and identity(code) in identities:
                yield "Numba", _name(found)


def sentences(found: Collection[tuple[str, str]]) -> list[str]:
    """Return what to say of compiled functions, a sentence for each compiler."""
    names: dict[str, list[str]] = {}
    for compiler, name in found:
        names.setdefault(compiler, []).append(name)
    return [
        f"{compiler} compiled {_listed(some)}: lines that ran so were not seen"
        for compiler, some in names.items()
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


def _listed(names: list[str]) -> str:
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return ", ".join(names)


# What ``torch.compile`` ran in the program's stead, as far as torch can be asked.
#
# Its compiler, Dynamo, reads a function's bytecode and runs code of its own from
# then on, which no event source sees: what is missing is named instead. Nothing
# here imports torch, and nothing of it is changed.


PACKAGE = "torch._dynamo"
_RESUMED = "torch_dynamo_resume_in_"  # names of what runs after a graph break
_MAX_NAMED = 30  # so many functions are named, the others counted

# What is said of functions whose lines are missing.
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

    The last speaks of the program as a whole, where torch no longer knows all that
    it compiled. `modules` stands for ``sys.modules``.
    """
    modules = sys.modules if modules is None else modules
    if PACKAGE not in modules:
        return []
    try:
        compiled = _compiled(modules)
        taken, is_all = _taken(modules)
    except Exception:  # noqa: BLE001  # torch's inside, of whatever version
        return [_UNKNOWN] if _has_compiled(modules) else []
    hidden: dict[str, list[str]] = {}
    for function in functions:
        sentence, name = _hidden(function, compiled, taken)
        if sentence:
            hidden.setdefault(sentence, []).append(name)
    if compiled and not is_all:
        hidden[_SOME] = [_shown(place) for place in sorted(compiled)]
    return [
        sentence.format(_listed_in_a_sentence(names))
        for sentence, names in hidden.items()
    ]


def _hidden(
    function: FunctionType, compiled: Mapping[Place, int], taken: set[Place]
) -> tuple[str, str]:
    """Return the sentence that a function belongs to, or "", and its name there."""
    inner = function.__dict__.get("_torchdynamo_orig_callable")
    original = getattr(inner, "__code__", None)
    if isinstance(original, CodeType):
        return _WRAPPED, _shown(_place(original), inner)
    place = _place(function.__code__)
    if place in compiled:
        return _COMPILED, _shown(place, function, compiled[place])
    return (_TAKEN if place in taken else ""), _shown(place, function)


def _compiled(modules: Mapping[str, ModuleType]) -> dict[Place, int]:
    """Return what Dynamo compiled, and how many times."""
    times: dict[Place, int] = {}
    for metrics in modules[f"{PACKAGE}.utils"].get_compilation_metrics():
        name, file = metrics.co_name, metrics.co_filename
        if metrics.has_guarded_code and not name.startswith(_RESUMED):
            place = (file, metrics.co_firstlineno, name)
            times[place] = times.get(place, 0) + 1
    # The metrics outlive a reset, but only the newest are kept.
    entries_of = modules[f"{PACKAGE}.eval_frame"]._debug_get_cache_entry_list  # noqa: SLF001
    for known in list(modules[f"{PACKAGE}.convert_frame"].input_codes.seen):
        code = known()
        entries = entries_of(code) if code is not None else ()
        if entries and not code.co_name.startswith(_RESUMED):
            place = _place(code)
            times[place] = max(times.get(place, 0), len(entries))
    return times


def _has_compiled(modules: Mapping[str, ModuleType]) -> bool:
    """Return whether Dynamo was at work; True where that can't be told."""
    try:
        return bool(modules[f"{PACKAGE}.utils"].counters.get("frames"))
    except Exception:  # noqa: BLE001  # as above
        return True


def _taken(modules: Mapping[str, ModuleType]) -> tuple[set[Place], bool]:
    """Return what Dynamo read, and whether that is all it ever read.

    What it takes into its callers' code leaves no other trace than the cache
    of the bytecode that it read.
    """
    module = modules[f"{PACKAGE}.bytecode_transformation"]
    cache = module._cached_cleaned_instructions  # noqa: SLF001
    info = cache.cache_info()
    is_all = info.maxsize is None or info.currsize < info.maxsize
    return {_place(code) for code in _keys(cache)}, is_all


def _keys(cache: Callable[..., object]) -> Iterator[CodeType]:
    """Yield the code objects for which a ``functools.lru_cache`` has an answer."""
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


def _listed_in_a_sentence(names: Sequence[str]) -> str:
    """Return names as a sentence has them."""
    *first, last = names[:_MAX_NAMED]
    if len(names) > _MAX_NAMED:
        return f"{', '.join([*first, last])} and {len(names) - _MAX_NAMED} more"
    return f"{', '.join(first)} and {last}" if first else last
