"""Results of pure functions that nothing can change: numbers, text, tuples of them.

A caller may change a list that a function returns, so that the next call has to make a
new one. Each expression of a pure function has a level here:

- FLAT: a number, a string, bytes or None;
- FROZEN: a tuple, range or frozenset with nothing in it but FLAT and FROZEN values;
- ANY: all else, and all that is not certain.

All values in a pure function are of built-in types, so that many operators have a
result of a known level whatever their operands are: a remainder is a number or text.
A variable has the highest level of all values that the function gives it. The levels
are found by rounds: all variables and results begin as FLAT and can only rise.
"""

from __future__ import annotations

import ast
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Level(IntEnum):
    """The level of a value: the higher, the less is certain."""

    FLAT = 0
    FROZEN = 1
    ANY = 2


FLAT, FROZEN, ANY = Level.FLAT, Level.FROZEN, Level.ANY

# Rounds of each function. Text that needs more is not written by hand, and proves
# nothing.
_MAX_ROUNDS = 6

# Results are FLAT whatever the arguments are: other arguments are errors.
FLAT_BUILTINS = frozenset(
    (
        *("abs", "all", "any", "bin", "bool", "chr", "complex", "float", "hex", "int"),
        *("len", "oct", "ord", "pow", "repr", "round", "str"),
    )
)
_FLAT_METHODS = frozenset(
    (
        *("add", "append", "bit_length", "count", "discard", "endswith", "extend"),
        *("find", "index", "insert", "join", "lower", "lstrip", "remove", "replace"),
        *("reverse", "rstrip", "sort", "startswith", "strip", "update", "upper"),
    )
)
_FLAT_OPERATORS = (ast.Div, ast.FloorDiv, ast.LShift, ast.Mod, ast.Pow, ast.RShift)
# The views of a dict make a set of whatever they are combined with by these.
_OF_BOTH = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Mult, ast.Sub)

# Results have the elements of the argument.
_SAME_ELEMENTS = frozenset(("frozenset", "list", "reversed", "set", "sorted", "tuple"))
_FROZEN_BUILTINS = frozenset(("frozenset", "tuple"))  # if their elements are


def frozen_functions(
    functions: Mapping[str, ast.FunctionDef], called: Mapping[str, frozenset[str]]
) -> frozenset[str]:
    """Return the functions whose results are never changed, if no argument ever is.

    `functions` are pure; `called` are those that each one calls, all of them among
    `functions`. Other names of functions are built-in ones.
    """
    levels = dict.fromkeys(functions, FLAT)
    values = {name: _Values(one, levels) for name, one in functions.items()}
    callers: dict[str, list[str]] = {}
    for name in functions:
        for one in called[name]:
            callers.setdefault(one, []).append(name)
    todo = [*functions]
    while todo:
        name = todo.pop()
        if not values[name].settle():
            return frozenset()
        if values[name].returned > levels[name]:
            levels[name] = values[name].returned
            todo += callers.get(name, ())
    return frozenset(name for name in levels if levels[name] != ANY)


class _Values:
    """The levels of all expressions and variables of one function."""

    def __init__(
        self, function: ast.FunctionDef, functions: Mapping[str, Level]
    ) -> None:
        given = function.args
        parameters = (*given.posonlyargs, *given.args, *given.kwonlyargs)
        self._variables = {one.arg: FROZEN for one in parameters}
        self._functions = functions  # with the levels of their results, which rise
        self._own: dict[ast.AST, Level] = {}  # of each expression
        self._inner: dict[ast.AST, Level] = {}  # of what going through it yields
        self._nodes: list[ast.AST] = []  # those further in come first
        self._rounds = 0
        self.returned = FLAT  # None, at the end of the body
        todo: list[ast.AST] = [*function.body]
        while todo:
            node = todo.pop()
            self._nodes.append(node)
            todo += ast.iter_child_nodes(node)
        self._nodes.reverse()

    def settle(self) -> bool:
        """Raise levels until none rises; return whether that took few rounds."""
        has_changed = True
        while has_changed:
            if self._rounds == _MAX_ROUNDS:
                return False
            self._rounds += 1
            before = (*self._variables.items(), self.returned)
            for node in self._nodes:
                self._take(node)
            has_changed = before != (*self._variables.items(), self.returned)
        return True

    def _take(self, node: ast.AST) -> None:
        if isinstance(node, ast.expr):
            self._own[node] = own = self._level(node)
            self._inner[node] = self._level_inside(node, own)
        elif isinstance(node, ast.Return) and node.value:
            self.returned = max(self.returned, self._own[node.value])
        else:
            self._bind(node)

    # Variables.

    def _bind(self, node: ast.AST) -> None:
        """Raise the levels of the variables that a node gives values to."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value:
            self._assign(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            if isinstance(node.target, ast.Name):
                old = self._variables.get(node.target.id, FLAT)
                new = _combined(node.op, old, self._own[node.value])
                self._raise_all(node.target, new)
        elif isinstance(node, (ast.For, ast.comprehension)):
            self._go_through(node.target, node.iter)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if not isinstance(target, (ast.Tuple, ast.List)):
            self._raise_all(target, self._own[value])
        elif isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
            for one, part in zip(target.elts, value.elts, strict=True):
                self._raise_all(one, self._own[part])
        else:
            self._raise_all(target, self._inner[value])

    def _go_through(self, target: ast.expr, values: ast.expr) -> None:
        """Raise the variables of a loop over `values`."""
        parts = _iterated(values)
        if isinstance(target, ast.Tuple) and len(parts) == len(target.elts):
            for one, part in zip(target.elts, parts, strict=True):
                self._raise_all(one, self._inner[part] if part else FLAT)
        else:
            self._raise_all(target, self._inner[values])

    def _raise_all(self, target: ast.expr, level: Level) -> None:
        """Raise all variables of a target: what is in a value has no higher level."""
        for one in ast.walk(target):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                old = self._variables.get(one.id, FLAT)
                self._variables[one.id] = max(old, level)

    # Expressions.

    def _level(self, node: ast.expr) -> Level:
        """Return the level of an expression from those of its parts."""
        level = ANY
        if isinstance(node, (ast.Constant, ast.JoinedStr, ast.Compare, ast.UnaryOp)):
            level = FLAT
        elif isinstance(node, ast.Name):
            level = self._variables.get(node.id, FLAT)  # bound later in this round
        elif isinstance(node, ast.BoolOp):
            level = self._highest(node.values)
        elif isinstance(node, ast.IfExp):
            level = self._highest((node.body, node.orelse))
        elif isinstance(node, ast.Tuple):
            level = max(FROZEN, self._highest(node.elts))
        elif isinstance(node, ast.BinOp):
            level = _combined(node.op, self._own[node.left], self._own[node.right])
        elif isinstance(node, ast.Subscript):
            of_slice = isinstance(node.slice, ast.Slice)
            level = (self._own if of_slice else self._inner)[node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            level = self._of_call(node.func.id, node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            level = FLAT if node.func.attr in _FLAT_METHODS else ANY
        return level

    def _of_call(self, name: str, node: ast.Call) -> Level:
        """Return the level of the result of a function of the module or a built-in."""
        values = [*node.args, *(one.value for one in node.keywords)]
        level = ANY
        if name in self._functions:
            level = self._functions[name] if self._highest(values) != ANY else ANY
        elif name in FLAT_BUILTINS:
            level = FLAT
        elif name in {"divmod", "range"}:
            level = FROZEN
        elif name in _FROZEN_BUILTINS:
            level = max(FROZEN, self._highest_inside(values))
        elif name in {"max", "min"} and len(node.args) == 1:
            level = max(self._inner[values[0]], self._highest(values[1:]))
        elif name in {"max", "min"}:
            level = self._highest(values)
        elif name == "sum" and values:
            # From 0 or another number, only numbers are added.
            start = self._highest(values[1:])
            level = start if start == FLAT else max(start, self._inner[values[0]])
        return level

    def _level_inside(self, node: ast.expr, own: Level) -> Level:
        """Return the level of what going through an expression's value yields."""
        name = ""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
        if isinstance(node, (ast.List, ast.Set, ast.Tuple)):
            own = self._highest(node.elts)
        elif isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp)):
            own = self._own[node.elt]
        elif isinstance(node, ast.Call) and name in _SAME_ELEMENTS:
            own = self._highest_inside(node.args)
        elif isinstance(node, ast.Call) and name in {"enumerate", "zip"}:
            parts = (*node.args, *(one.value for one in node.keywords))
            own = max(FROZEN, self._highest_inside(parts))  # they yield tuples
        elif name == "range" or _is_split(node):
            own = FLAT
        return own

    def _highest(self, nodes: Iterable[ast.expr]) -> Level:
        return max((self._own[one] for one in nodes), default=FLAT)

    def _highest_inside(self, nodes: Iterable[ast.expr]) -> Level:
        return max((self._inner[one] for one in nodes), default=FLAT)


def _combined(operator: ast.operator, left: Level, right: Level) -> Level:
    """Return the level of what an operator makes of two values."""
    if isinstance(operator, _FLAT_OPERATORS):
        return FLAT
    if isinstance(operator, ast.Add):  # nothing but numbers, and text, adds to the same
        return FLAT if FLAT in {left, right} else max(left, right)
    return max(left, right) if isinstance(operator, _OF_BOTH) else ANY


def _iterated(values: ast.expr) -> list[ast.expr | None]:
    """Return what the parts of the tuples come from that an iterator yields.

    None is for numbers; the list is empty if that is not known.
    """
    if not isinstance(values, ast.Call) or not isinstance(values.func, ast.Name):
        return []
    if values.func.id == "enumerate":
        return [None, *values.args[:1]]
    return [*values.args] if values.func.id == "zip" else []


def _is_split(node: ast.expr) -> bool:
    """Return whether an expression makes a list of texts."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "split"
