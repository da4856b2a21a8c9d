"""Calls whose result is proven to be the same each time: pure functions of constants.

A function of a module is pure here if its text leaves no doubt:

- it computes with its parameters, its own variables and constants, by operators,
  loops, conditions, comprehensions, the built-in functions and the methods below;
- it calls nothing else but functions of the same module that are pure as well;
- it has no decorator but ``profile``, and only constants as defaults.

It is called with values that nothing can change: numbers, strings, None and tuples of
them. Then all values in it are of built-in types, and made in the call, so that no
operator runs code of anyone. What the names mean is certain as well: in the whole
module the name of the function is bound once, by its ``def``, and the names of the
built-in functions nowhere, and nothing touches defaults, frames or dicts of names. (A
module that replaces names of another one from outside is not looked for.)

One result can stand for all only if nothing can change it (see `frozen_results`), and
if nothing asks whether two results are one object: the module has no ``id``, and ``is``
only of None, True, False and types.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from lineprof.advice.frozen_results import FLAT_BUILTINS, frozen_functions
from lineprof.advice.source_trees import (
    bound_names,
    first_line,
    header_end,
    walk_scope,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeGuard

    from lineprof.advice.source_trees import Function, SourceTree

# Functions that go through an iterator at once, so that nothing keeps it.
_CONSUMERS = frozenset(
    (
        *("all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted"),
        *("sum", "tuple"),
    )
)
_ITERATORS = frozenset(("enumerate", "reversed", "zip"))
_BUILTINS = FLAT_BUILTINS | _CONSUMERS | _ITERATORS | {"divmod", "range"}
_CONSUMING_METHODS = frozenset(("extend", "join", "update"))
_METHODS = _CONSUMING_METHODS | {
    *("add", "append", "bit_length", "copy", "count", "discard", "endswith", "find"),
    *("get", "index", "insert", "items", "keys", "lower", "lstrip", "pop", "remove"),
    *("replace", "reverse", "rstrip", "setdefault", "sort", "split", "startswith"),
    *("strip", "upper", "values"),
}
_TO_NUMBERS = frozenset(("bool", "float", "int", "len", "ord"))  # of whatever argument

# Names with which a module can bind names, and change functions and variables, while
# its text does not show which. Those of the first kind may be in strings, as for
# getattr().
_HIDDEN_IN_TEXT = frozenset(
    (
        *("__builtins__", "__import__", "__dict__", "__globals__", "__code__"),
        *("__defaults__", "__kwdefaults__", "__closure__", "cell_contents"),
        *("__setattr__", "__delattr__", "builtins", "f_locals", "f_globals"),
        *("f_builtins", "getargvalues", "getmembers", "get_referents"),
    )
)
_HIDDEN = _HIDDEN_IN_TEXT | {
    *("exec", "eval", "globals", "locals", "vars", "setattr", "delattr", "mocker"),
}
_REPLACING = frozenset(("*", "builtins", "mock"))  # imports that replace names
_PROFILERS = frozenset(("lineprof", "line_profiler"))

# Whether two results are one object is of no matter to these: they are never results.
_SINGLE = (None, True, False, ...)

_STATEMENTS = (
    *(ast.AnnAssign, ast.Assign, ast.AugAssign, ast.Break, ast.Continue, ast.Expr),
    *(ast.For, ast.If, ast.Pass, ast.Return, ast.While),
)
_COMPREHENSIONS = (ast.DictComp, ast.ListComp, ast.SetComp)
_EXPRESSIONS = (
    *(ast.BinOp, ast.BoolOp, ast.Compare, ast.Constant, ast.Dict, ast.FormattedValue),
    *(ast.IfExp, ast.JoinedStr, ast.List, ast.Set, ast.Slice, ast.Subscript),
    *(ast.Tuple, ast.UnaryOp),
)
_PARTS = (
    *(ast.boolop, ast.cmpop, ast.expr_context, ast.keyword, ast.operator, ast.unaryop),
)

# Expressions with parts that may not be evaluated, or more than once.
_CONDITIONAL = (ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.GeneratorExp)


class _NotPureError(Exception):
    """A function's text leaves doubt."""


class PureCalls:
    """The pure functions of one module.

    `knows_profile` is whether the decorator ``profile`` surely is that of a profiler.
    """

    def __init__(self, tree: SourceTree) -> None:
        self._counts: dict[str, int] = {}  # bindings of each name
        self._functions: dict[str, ast.FunctionDef] = {}
        self._called: dict[str, frozenset[str] | None] = {}  # None: not pure
        profilers = 0  # imports of a decorator that leaves results as they are
        hidden, has_variable_id, has_id = False, False, False
        for node in ast.walk(tree.module):
            names = bound_names(node)
            for name in (*names, *_set_attributes(node)):
                self._counts[name] = self._counts.get(name, 0) + 1
            has_variable_id |= "id" in names
            has_id |= isinstance(node, ast.Name) and node.id == "id"
            if isinstance(node, ast.ImportFrom) and node.module in _PROFILERS:
                profilers += sum(one.name == "profile" for one in node.names)
            hidden |= _hides_names(node) or _compares_objects(node)
        hidden |= has_id and not has_variable_id
        self.knows_profile = self._counts.get("profile", 0) <= profilers
        for one in () if hidden else tree.module.body:
            if isinstance(one, ast.FunctionDef) and self._counts[one.name] == 1:
                self._functions[one.name] = one

    def function(self, name: str) -> ast.FunctionDef | None:
        """Return the function of the module that `name` surely means, if it is pure."""
        return self._functions[name] if self._reached(name) else None

    def is_frozen(self, name: str) -> bool:
        """Return whether a pure function's results are never changed.

        Its arguments are taken to be values that nothing can change.
        """
        called = self._reached(name)
        functions = {one: self._functions[one] for one in called}
        return name in frozen_functions(functions, called)

    def _reached(self, name: str) -> dict[str, frozenset[str]]:
        """Return what a function calls, and each one that it calls.

        The dict is empty if one of them is not pure.
        """
        todo, seen = [name], {name}
        found: dict[str, frozenset[str]] = {}
        while todo:
            one = todo.pop()
            called = self._calls_of(one)
            if called is None:
                return {}
            found[one] = called
            todo += called - seen
            seen |= called
        return found

    def is_builtin(self, name: str) -> bool:
        """Return whether a name surely means the built-in function."""
        return name not in self._counts

    def _calls_of(self, name: str) -> frozenset[str] | None:
        """Return the functions that a function calls; None if it leaves doubt."""
        if name not in self._called:
            try:
                found = _Body(self, self._functions[name]).called
            except (KeyError, _NotPureError):
                found = None
            self._called[name] = found
        return self._called[name]


def _set_attributes(node: ast.AST) -> list[str]:
    """Return the attribute that a node sets: the object may be a module."""
    is_set = isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
    return [node.attr] if isinstance(node, ast.Attribute) and is_set else []


def _hides_names(node: ast.AST) -> bool:
    """Return whether a node may bind names that it does not show."""
    if isinstance(node, (ast.alias, ast.ImportFrom)):
        name = node.name if isinstance(node, ast.alias) else node.module or ""
        return name in _HIDDEN or name.rpartition(".")[2] in _REPLACING
    if isinstance(node, ast.Attribute):
        return node.attr in _HIDDEN
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return not _HIDDEN_IN_TEXT.isdisjoint(node.value.split("."))
    return isinstance(node, ast.Name) and node.id in _HIDDEN


def _compares_objects(node: ast.AST) -> bool:
    """Return whether a node may tell two equal numbers, texts or tuples apart."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return any(
            isinstance(one, (ast.Is, ast.IsNot))
            and not any(map(_is_no_result, sides[at : at + 2]))
            for at, one in enumerate(node.ops)
        )
    if isinstance(node, ast.Attribute):
        return node.attr in {"is_", "is_not"}  # of the module operator
    if isinstance(node, ast.alias):
        return node.name in {"is_", "is_not"}
    return isinstance(node, ast.Call) and _is_name(node.func, "id")


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_no_result(node: ast.expr) -> bool:
    """Return whether an expression is None, True, False or a type."""
    if isinstance(node, ast.Constant):
        return any(node.value is one for one in _SINGLE)
    if isinstance(node, ast.Attribute):
        return node.attr == "__class__"
    return isinstance(node, ast.Call) and _is_name(node.func, "type")


class _Body:
    """The body of a function while it is checked; `called` are functions it calls."""

    def __init__(self, module: PureCalls, function: ast.FunctionDef) -> None:
        self._module = module
        self._names = _own_names(function)
        if function.decorator_list and not module.knows_profile:
            raise _NotPureError
        called: set[str] = set()
        # Nodes, and whether an iterator that they make is gone through at once.
        todo: list[tuple[ast.AST, bool]] = [(one, False) for one in function.body]
        while todo:
            node, consumed = todo.pop()
            if isinstance(node, ast.Call):
                todo += self._parts_of_call(node, called, consumed=consumed)
            elif isinstance(node, (ast.For, ast.comprehension)):
                if isinstance(node, ast.comprehension) and node.is_async:
                    raise _NotPureError
                todo += _children(node, consumed=node.iter)
            elif isinstance(node, ast.AnnAssign):  # its annotation is not evaluated
                todo += [(one, False) for one in (node.target, node.value) if one]
            elif isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Load) and node.id not in self._names:
                    raise _NotPureError
            elif self._is_harmless(node, consumed=consumed):
                todo += _children(node)
            else:
                raise _NotPureError
        self.called = frozenset(called)

    def _parts_of_call(
        self, node: ast.Call, called: set[str], *, consumed: bool
    ) -> list[tuple[ast.AST, bool]]:
        """Return what is left to check of a call."""
        function, consumes = node.func, False
        parts: list[tuple[ast.AST, bool]] = []
        if isinstance(function, ast.Attribute) and function.attr in _METHODS:
            parts.append((function.value, False))
            consumes = function.attr in _CONSUMING_METHODS
        elif not isinstance(function, ast.Name):
            raise _NotPureError
        elif function.id in _BUILTINS and self._module.is_builtin(function.id):
            if function.id in _ITERATORS and not consumed:
                raise _NotPureError
            consumes = function.id in _CONSUMERS | _ITERATORS
        else:
            called.add(function.id)
        for keyword in node.keywords:
            if keyword.arg is None:
                raise _NotPureError
            parts.append((keyword.value, False))
        return parts + [(one, consumes) for one in node.args]

    def _is_harmless(self, node: ast.AST, *, consumed: bool) -> bool:
        """Return whether a node itself, without those below it, leaves no doubt."""
        if isinstance(node, ast.GeneratorExp):
            return consumed
        if isinstance(node, ast.Compare):
            return all(map(_is_sure, node.ops, node.comparators))
        if isinstance(node, ast.FormattedValue):
            return _is_same_everywhere(node.format_spec)
        known = (*_STATEMENTS, *_EXPRESSIONS, *_COMPREHENSIONS, *_PARTS)
        return isinstance(node, known)


def _is_sure(operator: ast.cmpop, other: ast.expr) -> bool:
    """Return whether a comparison is of values: ``is`` is of None alone."""
    is_none = isinstance(other, ast.Constant) and other.value is None
    return is_none or not isinstance(operator, (ast.Is, ast.IsNot))


def _is_same_everywhere(specification: ast.expr | None) -> bool:
    """Return whether a format surely does not depend on the locale, as ``n`` does."""
    return specification is None or all(
        isinstance(one, ast.Constant) and not str(one.value).endswith("n")
        for one in getattr(specification, "values", [specification])
    )


def _children(
    node: ast.AST, consumed: ast.AST | None = None
) -> list[tuple[ast.AST, bool]]:
    return [(one, one is consumed) for one in ast.iter_child_nodes(node)]


def _own_names(function: ast.FunctionDef) -> frozenset[str]:
    """Return the parameters and variables of a function.

    _NotPureError if its head leaves doubt, or a name may be another one outside of a
    comprehension.
    """
    given = function.args
    defaults = [*given.defaults, *(one for one in given.kw_defaults if one)]
    if (
        given.vararg
        or given.kwarg
        or getattr(function, "type_params", None)
        or not all(isinstance(one, ast.Constant) for one in defaults)
        or not all(map(_is_profile, function.decorator_list))
    ):
        raise _NotPureError
    names = {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    inner: set[str] = set()  # of comprehensions
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.comprehension):
                inner |= _stored(node.target)
    own = {name for one in function.body for name in _stored(one)}
    if inner & (names | own):  # outside of the comprehension it would be another one
        raise _NotPureError
    for statement in function.body:
        _check_inner_names(statement, inner)
    return frozenset(names | own | inner)


def _is_profile(decorator: ast.expr) -> bool:
    return _is_name(decorator, "profile")


def _stored(node: ast.AST) -> set[str]:
    """Return the names that a statement or a target stores, without comprehensions'."""
    return {
        one.id
        for one in walk_scope(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }


def _check_inner_names(statement: ast.stmt, inner: set[str]) -> None:
    """Raise _NotPureError if a name of a comprehension is read where it is not known.

    There it would be a name of the module.
    """
    todo: list[tuple[ast.AST, frozenset[str]]] = [(statement, frozenset())]
    while todo:
        node, known = todo.pop()
        if isinstance(node, (*_COMPREHENSIONS, ast.GeneratorExp)):
            later: set[str] = set()  # names that an iterable cannot know yet
            for one in reversed(node.generators):
                later |= _stored(one.target)
                if _loads(one.iter) & later:
                    raise _NotPureError
            known |= frozenset(later)
        is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.Name) and is_read and node.id in inner - known:
            raise _NotPureError
        todo += [(child, known) for child in ast.iter_child_nodes(node)]


def _loads(node: ast.AST) -> set[str]:
    return {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    }


# Calls in a loop.


def sure_calls(node: ast.stmt) -> list[ast.Call]:
    """Return the calls of names that a statement makes each time it is executed.

    There are none of statements over several lines, nor of the head of a ``for``, which
    is not part of its rounds.
    """
    if header_end(node) != first_line(node):
        return []
    if isinstance(node, (ast.If, ast.While)):
        return [*_sure_calls(node.test)]
    if isinstance(node, (ast.AnnAssign, ast.Assign, ast.AugAssign, ast.Expr)):
        return [*_sure_calls(node.value)] if node.value else []
    return []


def _sure_calls(node: ast.AST) -> Iterator[ast.Call]:
    todo = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, ast.Compare) and len(one.ops) == 1:
            todo += (one.left, *one.comparators)
            continue
        if isinstance(one, (*_CONDITIONAL, *_COMPREHENSIONS)):
            continue
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name):
            yield one
        todo += ast.iter_child_nodes(one)


def is_only_read(module: PureCalls, statement: ast.stmt, call: ast.Call) -> bool:
    """Return whether a statement surely keeps nothing of a call's result.

    It takes its length, its sum or the like, or nothing at all of it.
    """
    if isinstance(statement, ast.Expr) and statement.value is call:
        return True
    if isinstance(statement, (ast.If, ast.While)) and statement.test is call:
        return True
    return any(
        isinstance(one, ast.Call)
        and one.args == [call]
        and not one.keywords
        and isinstance(one.func, ast.Name)
        and one.func.id in FLAT_BUILTINS | {"sum"}
        and module.is_builtin(one.func.id)
        for one in ast.walk(statement)
    )


def may_go_on(statement: ast.stmt, loop: ast.AST) -> bool:
    """Return whether a loop may go on if a call in a statement raises an exception.

    It may if the statement is in a ``try``, or in a ``with`` that may stop exceptions.
    Then the call may have failed each time.
    """
    todo: list[tuple[ast.AST, bool]] = [(loop, False)]
    while todo:
        node, is_held = todo.pop()
        if node is statement:
            return is_held
        is_held |= isinstance(node, (ast.Try, ast.TryStar, ast.With, ast.AsyncWith))
        todo += [(child, is_held) for child in ast.iter_child_nodes(node)]
    return True


class Constants:
    """The variables of one function that surely hold values that nothing can change."""

    def __init__(self, module: PureCalls, function: Function) -> None:
        self._module = module
        self._values: dict[str, list[ast.expr]] = {}  # what each name is set to
        self._bound: dict[str, list[ast.AST]] = {}  # where each name is bound
        self._unsure: set[str] = set()
        if isinstance(function, ast.Module):  # anyone may change its names
            return
        for node in ast.walk(function):
            if isinstance(node, (ast.Global, ast.Nonlocal, ast.arg)):
                self._unsure.update(bound_names(node))
            elif isinstance(node, ast.NamedExpr):  # in a comprehension as well
                self._unsure.add(node.target.id)
        for one in function.body:
            self._add(one)

    def _add(self, statement: ast.stmt) -> None:
        """Take the names that a statement binds."""
        sure: set[int] = set()  # nodes of names that are set to one value
        for node in walk_scope(statement):
            for target, value in _assigned(node):
                if isinstance(target, ast.Name):
                    self._values.setdefault(target.id, []).append(value)
                    sure.add(id(target))
            for name in bound_names(node):
                self._bound.setdefault(name, []).append(node)
                if id(node) not in sure:
                    self._unsure.add(name)

    def are_same(self, call: ast.Call, loop: ast.AST) -> bool:
        """Return whether a call has the same arguments in all rounds of a loop."""
        if any(one.arg is None for one in call.keywords):
            return False
        names: set[str] = set()
        todo = [*call.args, *(one.value for one in call.keywords)]
        while todo:
            one = todo.pop()
            if isinstance(one, ast.Name):
                values = [] if one.id in self._unsure else self._values.get(one.id, [])
                if not values:
                    return False
                if one.id not in names:
                    names.add(one.id)
                    todo += [value for value in values if not self._is_number(value)]
            elif isinstance(one, (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple)):
                todo += filter(_is_expression, ast.iter_child_nodes(one))
            else:
                return False
        inside = {id(node) for node in walk_scope(loop)}
        return not any(
            id(node) in inside for name in names for node in self._bound[name]
        )

    def _is_number(self, value: ast.expr) -> bool:
        """Return whether an expression is a number, whatever its arguments are."""
        return (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Name)
            and value.func.id in _TO_NUMBERS
            and self._module.is_builtin(value.func.id)
        )


def _assigned(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """Return each target of an assignment with its value."""
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    if isinstance(node, ast.AnnAssign) and node.value:
        return [(node.target, node.value)]
    return []


def _is_expression(node: ast.AST) -> TypeGuard[ast.expr]:
    return isinstance(node, ast.expr)
