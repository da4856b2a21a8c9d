"""The functions that one profiler counts."""

from __future__ import annotations

import sys
from types import FunctionType

from lineprof.first_use import tell, watchers
from lineprof.profiler_mixin import ByCountProfilerMixin
from lineprof.register import add_code
from lineprof.switch import Switch
from lineprof.twins import Twins, copies_of, identity, original, twin_function
from lineprof.user_warning import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import CodeType, ModuleType
    from typing import Any, Callable, Union

    from lineprof.gpu import GpuOptions
    from lineprof.scoping import Policies, ScopingPolicy

    Key = tuple[object, ...]
    Scoping = Union[ScopingPolicy, str, Policies, None]

_Code = type((lambda: 0).__code__)
_IDENTITY = 5  # parts that a key of the core begins with


class Registry(Switch, ByCountProfilerMixin):
    """Registers code objects with the core, and remembers their functions."""

    def __init__(
        self,
        core: str | None,
        clock: object,
        gpu: GpuOptions | str | None,
        nvtx: str | None,
    ) -> None:
        """Open the core, with nothing registered."""
        self.functions: list[Any] = []
        self.texts: Mapping[str, str] = {}  # of no file (``python -c``), by its name
        self._warnings: list[str] = []
        self._twins = Twins()
        self._known: dict[Key, object] = {}  # of functions
        self._compiled: dict[tuple[str, str], None] = {}  # by what, and names
        # Of code objects without a function of ours: is it to be shown?
        self._unlisted: dict[Key, bool] = {}
        super().__init__(core, clock, gpu, nvtx)

    def add_function(self, func: object) -> None:
        """Count the lines of `func` whenever the profiler is enabled.

        Nothing is wrapped: every caller's calls count, on every thread. Of a
        function with ``__wrapped__``, what a decorator made, the decorated one
        is counted, and a warning says so. Warns, too, when there are no lines
        to count.
        """
        for function in self._functions_to_add(func):
            self._register(function)

    def _functions_to_add(self, func: object) -> Sequence[FunctionType]:
        if isinstance(func, FunctionType) and "__wrapped__" not in func.__dict__:
            return (func,)
        from lineprof.targets import functions_of, innermost  # noqa: PLC0415  # seldom

        self._note_compiled(func)
        try:
            functions = functions_of(func)
        except TypeError:
            functions = []
        if not functions:
            warn(f"{func!r} has no Python code whose lines could be counted")
        wrapped = [innermost(function) for function in functions]
        for outer, inner in zip(functions, wrapped):
            if inner is not original(outer):
                warn(
                    f"{outer.__qualname__} has `__wrapped__`: the function in it is "
                    "profiled, and not the one that a decorator put around it"
                )
        return wrapped

    def add_callable(
        self,
        obj: object,
        guard: Callable[[FunctionType], object] | None = None,
        name: str | None = None,  # noqa: ARG002  # what line_profiler logs
    ) -> int:
        """Count the lines of a callable, or of what holds callables, like a property.

        `guard` says of a function whether it is to be left out: by default
        those that this profiler has decorated. Returns 1 if a function was
        added, else 0. Raises TypeError when `obj` can't be called.
        """
        from lineprof.targets import innermost  # noqa: PLC0415  # seldom needed

        self._note_compiled(obj)
        guard = guard or self._already_a_wrapper
        functions = [
            function
            for function in self.get_underlying_functions(obj)
            if not guard(function)
        ]
        for function in functions:
            self.add_function(innermost(function))
        return 1 if functions else 0

    def add_class(
        self, cls: type, *, scoping_policy: Scoping = None, wrap: bool = False
    ) -> int:
        """Count the lines of what is in a class; return how many members those are.

        `scoping_policy` says how near to it they must be defined: see
        `ScopingPolicy`; None takes what is defined in the same module. With
        `wrap`, members are replaced by what enables the profiler, too.
        """
        return self._add_namespace(cls, scoping_policy, wrap=wrap)

    def add_module(
        self, mod: ModuleType, *, scoping_policy: Scoping = None, wrap: bool = False
    ) -> int:
        """Count the lines of what is in a module; as `add_class` does.

        None takes what is defined in the module's package, and no modules.
        """
        return self._add_namespace(mod, scoping_policy, wrap=wrap)

    def _add_namespace(
        self, namespace: type | ModuleType, scoping_policy: Scoping, *, wrap: bool
    ) -> int:
        from lineprof.namespaces import Registrar  # noqa: PLC0415  # seldom needed
        from lineprof.scoping import ScopingPolicy  # noqa: PLC0415  # as well

        policies = ScopingPolicy.to_policies(scoping_policy)
        values = {kind: policy.value for kind, policy in policies.items()}
        return Registrar(self, values, wrap=wrap).add(namespace)

    def watch(self, target: object) -> int:
        """Count the lines of `target` in all its calls, on every thread.

        Nothing is replaced or wrapped: calls from anywhere enable the profiler
        for as long as they last. `target` is a code object, or whatever can be
        decorated: functions, methods, properties, partial objects, classes.
        Returns how many code objects are watched anew. Raises TypeError for what
        can't be called.
        """
        if isinstance(target, _Code):
            return self._watch_code(target)
        from lineprof.targets import functions_of, innermost  # noqa: PLC0415  # seldom

        self._note_compiled(target)
        found = 0
        for function in [innermost(function) for function in functions_of(target)]:
            if self._register(function):
                found += self._watch_code(function.__code__)
        return found

    def _watch_code(self, code: CodeType) -> int:
        if self._tracer.is_enabling(code) or not self._add_code(code, enables=True):
            return 0
        if (key := identity(code)) not in self._known:
            self._unlisted.setdefault(key, True)
        for copy in (code, *copies_of(code)):
            self._tracer.set_enabling(copy)
        return 1

    def _note_compiled(self, target: object) -> None:
        """Remember to say of what has no lines to see that it has not."""
        if isinstance(target, (FunctionType, type)):
            return
        from lineprof.compiled import compiled_in  # noqa: PLC0415  # seldom needed

        self._compiled.update(dict.fromkeys(compiled_in(target)))

    def _remark(self, text: str) -> None:
        """Have the profile carry `text`, a sentence, among its warnings."""
        self._warnings.append(text)

    # -- code objects ---------------------------------------------------------------

    def _register(self, function: FunctionType) -> bool:
        """Register a function to be shown; False when its lines can't be counted."""
        code = function.__code__
        if self._tracer.has_code(code) and not self._unlisted:
            return True
        if not self._add_code(code):
            return False
        key = identity(code)
        self._unlisted.pop(key, None)
        mine = object()
        if self._known.setdefault(key, mine) is mine:  # no other thread's
            self.functions.append(function)
        return True

    def _add_code(self, code: CodeType, *, enables: bool = False) -> bool:
        """Register a code object and its twins; False when lines can't be counted."""
        if watchers:
            tell(self)
        if self._tracer.has_code(code):
            return True
        self._core.set_strict("greenlet" in sys.modules)
        text = self.texts.get(code.co_filename)
        if not add_code(self._tracer, code, identity(code), text, enables=enables):
            self._warnings.append(
                f"{code.co_filename}:{code.co_firstlineno} {code.co_name}: "
                "its lines can't be counted, their numbers make no sense"
            )
            return False
        for copy in copies_of(code):
            add_code(self._tracer, copy, (*identity(copy), "twin"), text)
        return True

    def _twin(self, func: FunctionType) -> FunctionType:
        """Return a twin of `func` with a code object of its own.

        Calls of the twin enable the profiler: by its code object the core
        tells them from calls of `func`. There is nothing in between that a
        call, a traceback or `inspect` would have to pass. Where `func` is not
        registered, its own lines are not shown.
        """
        code = func.__code__
        if self._tracer.is_enabling(code) or self._watch_decorated(func):
            return func
        twin = self._twins.get(code)
        if not self._tracer.is_enabling(twin) and not self._add_twin(code, twin):
            return func
        return twin_function(func, twin)

    def _watch_decorated(self, func: FunctionType) -> bool:
        """Watch the registered function that `func` was put around, if there is one.

        It may run when the call of `func` is over: a context manager's does.
        """
        if "__wrapped__" not in func.__dict__:
            return False
        from lineprof.targets import innermost  # noqa: PLC0415  # seldom needed

        inner = innermost(func)
        if inner is original(func) or not self._tracer.has_code(inner.__code__):
            return False
        self._watch_code(inner.__code__)
        return True

    def _add_twin(self, code: CodeType, twin: CodeType) -> bool:
        """Register the twin of `code` with all that count `code`, and with us."""
        key, text = identity(twin), self.texts.get(code.co_filename)
        if not self._tracer.has_code(code) and key not in self._known:
            self._unlisted.setdefault(key, False)
        others = [
            (tracer, enabling)
            for tracer, enabling in self._core.tracers_of(code)
            if tracer is not self._tracer
        ]
        for tracer, enabling in ((self._tracer, True), *others):
            if not add_code(tracer, twin, (*key, "twin"), text):
                return False
            if enabling:
                tracer.set_enabling(twin)
        return True

    def _is_hidden(self, key: Sequence[object]) -> bool:
        """Return whether the code object of that key is not to be shown."""
        hidden = self._unlisted and self._unlisted.get(tuple(key[:_IDENTITY]))
        return hidden is False
