"""The code objects and functions that one LineProfiler counts."""

from __future__ import annotations

import sys
from _weakref import ref  # `weakref` itself takes 0.7 ms
from collections import namedtuple
from types import FunctionType

from lineprof.bytecode.code_tables import register
from lineprof.decorate.code_copies import (
    MARK,
    CodeCopies,
    copies_of,
    copy_function,
    identity,
    is_own_copying,
    mark_of,
    original,
    unmarked,
)
from lineprof.errors import warn_at_caller
from lineprof.later import Later
from lineprof.recording.sources import RecordedSources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType, ModuleType
    from typing import Any

    from lineprof._core import Tracer
    from lineprof.decorate import callables
    from lineprof.model.records import Key as FunctionKey
    from lineprof.recording import compiled, extensions
    from lineprof.recording.live_file import LiveFile

    Key = tuple[object, ...]
else:
    callables = Later("lineprof.decorate.callables")
    compiled = Later("lineprof.recording.compiled")
    extensions = Later("lineprof.recording.extensions")

_DYNAMIC = "<dynamic-code>"  # cloudpickle's file of all code, from 3.1.3 on
_MODULE = "<module>"
_NAMED = 3  # items that name a function: file, line, name
_IDENTITY = 5  # items of `identity`, with which each key of the core begins


class Span(
    namedtuple("Span", "from_ns until_ns lines_until_ns", defaults=(0, None, None))
):
    """The part of the run in which a function counts: see `Cut`."""

    __slots__ = ()

    from_ns: int
    until_ns: int | None
    lines_until_ns: int | None


class Registry:
    """Code objects registered with one tracer, and the functions they belong to."""

    def __init__(
        self, module: ModuleType, tracer: Tracer, live: LiveFile | None = None
    ) -> None:
        """Start empty; `module` is the C module, `tracer` that of the profiler.

        What a profile needs beside counts is noted in the `live` file.
        """
        self.functions: list[Any] = []  # those shown, in order of registration
        self.sources = RecordedSources(live)
        self._live = live
        self.warnings: list[str] = []  # sentences for the profile
        self.compiled: dict[tuple[str, str], None] = {}  # (compiler, function)
        # Functions counted for a part of the run.
        self.cuts: dict[FunctionKey, Span] = {}
        self.extensions: dict[str, str] = {}  # functions and classes; their files
        self._module = module
        self._tracer = tracer
        self._copies = CodeCopies()
        self._known: dict[Key, object] = {}  # identities of `functions`
        # Identities of other registered code objects, and whether these are shown.
        self._unlisted: dict[Key, bool] = {}
        # Registered code objects by `_value`, and by file.
        self._by_value: dict[Key, dict[str, ref[CodeType]]] = {}
        self._places: set[tuple[str, int]] = set()  # their files and first lines
        # Called as a function comes that was decorated in another process; None: such
        # functions do not count.
        self.adopts: Callable[[], object] | None = None
        self.names: set[str] = set()  # qualified names of registered code objects
        place = id(self)
        _registries[place] = ref(self, lambda _: _forget(place))
        module.code_copies(_adopt, _names, MARK)

    def cut(self, key: FunctionKey, span: Span) -> None:
        """Record that a function was counted for a part of the run alone."""
        self.cuts[key] = span
        if self._live:
            self._live.note(cut=key, span=tuple(span))

    # -- functions ------------------------------------------------------------------

    def has_function(self, function: FunctionType) -> bool:
        """Return whether `function`, or another with its code object, is registered.

        False may also mean that only `add_function` can tell.
        """
        return self._tracer.has_code(function.__code__) and not self._unlisted

    def add_function(self, function: FunctionType) -> bool:
        """Register `function`, to be shown; False if its line numbers are invalid."""
        code = function.__code__
        if not self.add_code(code):
            return False
        key = identity(code)
        if self._unlisted.pop(key, None) is False and self._live:
            self._live.note(shown=key[:_NAMED])
        mine = object()
        if self._known.setdefault(key, mine) is mine:  # not another thread's
            self.functions.append(function)
        return True

    def note_compiled(self, target: object) -> None:
        """Record compiled functions that `target` calls.

        The report warns that their lines cannot be profiled.
        """
        if isinstance(target, FunctionType) or _is_python_class(target):
            return
        self.compiled.update(dict.fromkeys(compiled.compiled_in(target)))
        self.extensions.update(extensions.in_extension(target))

    def note_compiled_by_numba(self) -> None:
        """Record the registered functions that Numba has compiled."""
        if "numba.core.dispatcher" not in sys.modules:
            return
        known = {*self._known, *self._unlisted}
        self.compiled.update(dict.fromkeys(compiled.numba_in(known)))

    # -- code objects ---------------------------------------------------------------

    def add_code(
        self, code: CodeType, *, enables: bool = False, shown: CodeType | None = None
    ) -> bool:
        """Register `code` and its copies; False if its line numbers are invalid.

        With `enables`, calls of `code` enable the profiler, from the first call on.
        Of a copy by value, `shown` is the same code as it is in its file.
        """
        if self._tracer.has_code(code):
            return True
        shown = shown or code
        source, key = self.sources.of(shown), identity(shown)
        file = shown.co_filename
        if not register(self._tracer, code, key, source, enables=enables, file=file):
            self.warnings.append(
                f"{code.co_filename}:{code.co_firstlineno} {code.co_name}: "
                "its lines cannot be counted: their line numbers are invalid"
            )
            return False
        for copy in copies_of(code):
            register(self._tracer, copy, (*identity(copy), "copy"), source)
        if shown is code and code.co_name != _MODULE:
            self._by_value.setdefault(_value(code), {})[code.co_filename] = ref(code)
            self._places.add((code.co_filename, code.co_firstlineno))
            self.names.add(code.co_qualname)
            _names.add(code.co_qualname)
        return True

    def watch(self, code: CodeType, shown: CodeType | None = None) -> bool:
        """Register `code` so that all its calls enable the profiler.

        Returns False if they already did, or if its line numbers are invalid.
        `shown` is that of `add_code`.
        """
        if self._tracer.is_activating(code):
            return False
        if not self.add_code(code, enables=True, shown=shown):
            return False
        if (key := identity(shown or code)) not in self._known:
            self._unlisted.setdefault(key, True)
        for copy in (code, *copies_of(code)):
            self._tracer.set_activating(copy)
        return True

    def is_hidden(self, key: Sequence[object]) -> bool:
        """Return whether the code object with the core's `key` is not shown."""
        shown = self._unlisted and self._unlisted.get(tuple(key[:_IDENTITY]))
        return shown is False

    # -- copies by value ------------------------------------------------------------

    def shown(self, code: CodeType, names: object) -> CodeType | None:
        """Return `code`, about to run with the globals `names`, as it is in its file.

        None if that is not known.
        """
        if mark := mark_of(code):
            return unmarked(code, mark)
        if code.co_filename != _DYNAMIC:
            return code
        known = self._by_value.get(_value(code), {})
        if len(known) == 1:
            return unmarked(code, *known)
        file = names.get("__file__") if isinstance(names, dict) else None
        if not isinstance(file, str):
            return None
        shown = unmarked(code, file)
        return shown if self.sources.has_code(shown) else None

    def adopt(self, code: CodeType) -> None:
        """Count `code`, which is new, as the function that it is a copy of.

        It is one of a registered code object with the same instructions at the same
        place, or of a decorated one of another process if it has the mark. It counts
        under the qualified name that it has. Other instructions at the place of a
        registered one are a compiler's of the program, which runs both.
        """
        mark, known = mark_of(code), self._by_value.get(_value(code), {})
        file = mark or code.co_filename
        if file == _DYNAMIC and len(known) == 1:
            [file] = known
        if file in known:
            of = known[file]()
            if of is None or (of.co_qualname != code.co_qualname and not mark):
                return
            decorated = bool(mark) and self._copies.find(of) is not None
            enables = decorated or self._tracer.is_activating(of)
        elif mark and self.adopts and (file, code.co_firstlineno) not in self._places:
            enables = True
            self.adopts()
        else:
            return
        shown = unmarked(code, file)
        self.add_code(code, enables=enables, shown=shown)
        if (key := identity(shown)) not in self._known:
            self._unlisted.setdefault(key, True)

    # -- copies for decorated functions ---------------------------------------------

    def copy_of(self, func: FunctionType) -> FunctionType:
        """Return a copy of `func` whose calls enable the profiler.

        It has a code object of its own, by which the core tells its calls from calls
        of `func`. There is no wrapper that a call, a traceback or `inspect` would
        have to pass. If `func` is not registered, its lines are not shown. Returns
        `func` itself if its line numbers are invalid.
        """
        code = func.__code__
        copy = self._copies.get(code)
        if not self._tracer.is_activating(copy) and not self._add_copy(code, copy):
            return func
        return copy_function(func, copy)

    def wrapped_code(self, func: FunctionType) -> CodeType | None:
        """Return the code of the registered function that `func` wraps, or None.

        That function may run after the call of `func`, as a context manager's does.
        """
        if "__wrapped__" not in func.__dict__:
            return None
        inner = callables.innermost(func)
        if inner is original(func) or not self._tracer.has_code(inner.__code__):
            return None
        return inner.__code__

    def _add_copy(self, code: CodeType, copy: CodeType) -> bool:
        """Register `copy` with this tracer and with all that count `code`."""
        key, source = identity(copy), self.sources.of(code)
        if not self._tracer.has_code(code) and key not in self._known:
            self._unlisted.setdefault(key, False)
            if self._live:
                self._live.note(hidden=key[:_NAMED])
        others = [
            (tracer, enabling)
            for tracer, enabling in self._module.tracers_of(code)
            if tracer is not self._tracer
        ]
        for tracer, enabling in ((self._tracer, True), *others):
            if not register(tracer, copy, (*key, "copy"), source):
                return False
            if enabling:
                tracer.set_activating(copy)
        return True


def _value(code: CodeType) -> Key:
    """Return a key of what a copy by value has, whatever its file and its names."""
    return (code.co_firstlineno, code.co_code, code.co_linetable)


_registries: dict[int, ref[Registry]] = {}  # the live ones, by id
_names: set[str] = set()  # the names of all of them


def _forget(place: int) -> None:
    """Forget the registry that had that id."""
    _registries.pop(place, None)
    live = [known() for known in [*_registries.values()]]
    names = {name for one in live if one is not None for name in [*one.names]}
    _names.intersection_update(names)


def _adopt(code: CodeType) -> None:
    """Have all registries look whether they count a code object that is new."""
    if is_own_copying():
        return
    for known in [*_registries.values()]:
        registry = known()
        try:
            if registry is not None:
                registry.adopt(code)
        except RuntimeError:  # its tracer is closed
            continue


def _is_python_class(target: object) -> bool:
    """Return whether `target` is a class with members that are written in Python."""
    return isinstance(target, type) and any(
        type(member) is FunctionType for member in vars(target).values()
    )


def functions_to_add(func: object) -> Sequence[FunctionType]:
    """Return the functions that ``add_function(func)`` registers.

    For a function with ``__wrapped__``, that is the one inside, and a warning says so.
    Also warns if `func` has no Python code.
    """
    if isinstance(func, FunctionType) and "__wrapped__" not in func.__dict__:
        return (func,)
    try:
        functions = callables.functions_of(func)
    except TypeError:
        functions = []
    if not functions:
        warn_at_caller(f"{func!r} has no Python code whose lines could be counted")
    wrapped = [callables.innermost(function) for function in functions]
    for outer, inner in zip(functions, wrapped):
        if inner is not original(outer):
            warn_at_caller(
                f"{outer.__qualname__} has `__wrapped__`: the function in it is "
                "profiled, and not the one that a decorator put around it"
            )
    return wrapped
