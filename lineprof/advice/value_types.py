"""Types of values, as far as the source of a file tells them.

A variable has a type if everything in the file that binds it gives it that type: a
display, a call of a type, an annotation, the results of a function. A parameter has
that of all its arguments, if its function is only ever called by its name, from lines
of the file. The type of a variable that a loop sets is unknown. An attribute of `self`
has the type that its class, and those that share objects with it, give it.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from lineprof.advice.scopes import (
    COMPREHENSIONS,
    FUNCTIONS,
    SCOPES,
    bound_names,
    parsed,
    walk_scope,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

Scopes = tuple[ast.AST, ...]  # the innermost first, the module last

IsSet = Callable[[frozenset[str], str], bool]  # names of classes, and an attribute

LIST, TUPLE, TEXT, OTHER = "list", "tuple", "str", "other"

_NONE = "None"  # a variable of any type may be None at first

_MAX_DEPTH = 20  # variables that are bound to one another, and parts of expressions
_MAX_LOOKUPS = 100_000  # values in one file: 0.1 s

_DISPLAYS: dict[type[ast.AST], str] = {
    **dict.fromkeys((ast.List, ast.ListComp), LIST),
    **dict.fromkeys((ast.Set, ast.SetComp, ast.Dict, ast.DictComp), OTHER),
    ast.GeneratorExp: OTHER,
    ast.Tuple: TUPLE,
    ast.JoinedStr: TEXT,
}
_BUILTINS = {
    **dict.fromkeys(("list", "sorted"), LIST),
    "tuple": TUPLE,
    "str": TEXT,
    **dict.fromkeys(("set", "frozenset", "dict", "range", "bytes", "bytearray"), OTHER),
}
_ANNOTATIONS = {
    **dict.fromkeys(("list", "List"), LIST),
    **dict.fromkeys(("tuple", "Tuple"), TUPLE),
    "str": TEXT,
    **dict.fromkeys(("set", "frozenset", "dict", "range", "bytes"), OTHER),
    **dict.fromkeys(("Set", "FrozenSet", "Dict", "DefaultDict", "Counter"), OTHER),
    **dict.fromkeys(("Mapping", "MutableMapping", "AbstractSet", "MutableSet"), OTHER),
    "None": _NONE,
    **dict.fromkeys(("int", "float", "bool", "complex"), OTHER),
}
_TYPING = frozenset(("typing", "typing_extensions", "collections", "collections.abc"))
# Methods of text that return lists; columns of tables have others.
_LISTS_OF_TEXT = frozenset(("split", "rsplit", "splitlines"))

_ANY = "*"  # in place of a name: any that an object, or the module, may have

_BY_TEXT = frozenset(("setattr", "delattr", "__setattr__", "__delattr__"))


class _Annotation(NamedTuple):
    """The annotation that binds a variable."""

    text: ast.expr


# What binds a variable: a type ("" if unknown), or a node whose type is looked up.
Binding = ast.expr | ast.arg | ast.FunctionDef | _Annotation | str


class _Attribute(NamedTuple):
    """What binds an attribute, of `self` in the class `owner`."""

    owner: ast.AST | None  # None: of another object; the module: of a module
    binding: Binding
    scopes: Scopes


class ValueTypes:
    """The types of the values in one file."""

    def __init__(self, module: ast.Module) -> None:
        self._module = module
        self._variables: dict[ast.AST, Mapping[str, list[Binding]]] = {}
        self._families: dict[ast.AST | None, set[ast.AST]] = {}
        self._open: set[object] = set()  # what is being looked up
        self._room = _MAX_LOOKUPS
        # Functions that nothing but lines of this file called, by line and name: the
        # types of others' parameters are unknown.
        self.called_here: Collection[tuple[int, str]] = ()
        # Whether another file, which uses one of some names, may set an attribute.
        self.is_set_elsewhere: IsSet = lambda _users, _name: False

    def of(self, value: ast.expr, scopes: Scopes) -> str:
        """Return the type of a value that is used in `scopes`, "" if unknown."""
        self._room -= 1
        if len(self._open) > _MAX_DEPTH or self._room < 0:
            return ""
        found = _DISPLAYS.get(type(value), "")
        if isinstance(value, ast.Constant):
            found = _of_constant(value.value)
        elif isinstance(value, ast.Name):
            found = self._of_variable(value.id, scopes)
        elif isinstance(value, ast.Attribute):
            found = self._of_attribute(value, scopes)
        elif isinstance(value, ast.Call):
            found = self._of_call(value, scopes)
        elif isinstance(value, ast.IfExp):
            found = self._joined(value, (value.body, value.orelse), scopes)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            parts = self._types(value, (value.left, value.right), scopes)
            found = TEXT if TEXT in parts else _one_of(parts)
        return found

    def bindings(self, name: str, scopes: Scopes) -> tuple[list[Binding], Scopes]:
        """Return what binds a variable, and the scopes of that; empty if unknown."""
        for index, scope in enumerate(scopes):
            if name in self._of_scope(scope):
                return self._of_scope(scope)[name], scopes[index:]
        return [], ()

    @cached_property
    def scopes(self) -> Mapping[ast.AST, Scopes]:
        """Each scope of the file with those around it, itself first."""
        found: dict[ast.AST, Scopes] = {}
        todo: list[tuple[ast.AST, Scopes]] = [(self._module, ())]
        while todo:
            node, scopes = todo.pop()
            if isinstance(node, SCOPES) or node is self._module:
                scopes = found[node] = (node, *scopes)
            todo += [(child, scopes) for child in ast.iter_child_nodes(node)]
        return found

    @cached_property
    def imported(self) -> frozenset[str]:
        """The names that imports bind, anywhere in the file."""
        return frozenset(name for name, of in self.origins.items() if any(of))

    @cached_property
    def origins(self) -> Mapping[str, Sequence[str]]:
        """What binds each name of the file: the module it is from, "" if it is this."""
        found: dict[str, list[str]] = {}
        for node in ast.walk(self._module):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                start = "." * getattr(node, "level", 0)
                module = getattr(node, "module", None)
                for one in node.names:
                    origin = f"{start}{module or one.name}"
                    for name in bound_names(one):
                        found.setdefault(name, []).append(origin)
            elif not isinstance(node, ast.alias):
                for name in bound_names(node):
                    found.setdefault(name, []).append("")
        return found

    def _is_builtin(self, name: str) -> bool:
        """Return whether a name is certainly the builtin."""
        known = self.origins
        return not {name, "*"} & known.keys() and hasattr(builtins, name)

    def _of_variable(self, name: str, scopes: Scopes) -> str:
        found, around = self.bindings(name, scopes)
        type_ = self._joined((around[:1], name), found, around)
        is_shared = type_ and around[0] is self._module
        return "" if is_shared and self.is_set_elsewhere(frozenset(), name) else type_

    def _of_attribute(self, value: ast.Attribute, scopes: Scopes) -> str:
        owner = _owner(value.value, scopes)
        every = self._attributes.get(value.attr, ()) if owner else ()
        self._room -= len(every)
        if all(one.owner is not owner for one in every):
            return ""
        related = self._relatives(owner)
        owners = {None, *related}
        every = [*every, *self._attributes.get(_ANY, ())]
        found = {
            self._joined((one.owner, value.attr), [one.binding], one.scopes)
            for one in every
            if one.owner in owners
        }
        if not _one_of(found):
            return ""
        classes = [one for one in related if isinstance(one, ast.ClassDef)]
        users = {name for one in classes for name in (one.name, *_names_of_bases(one))}
        is_set = self.is_set_elsewhere(frozenset(users), value.attr)
        return "" if is_set else _one_of(found)

    def _relatives(self, owner: ast.AST | None) -> set[ast.AST]:
        """Return the classes that may have an object in common with a class.

        They are those that may derive from it, and all that these may derive from.
        """
        if owner not in self._families:
            below = _reached([owner] if owner else [], self._derived)
            self._families[owner] = _reached(below, self._bases)
        return self._families[owner]

    @cached_property
    def _derived(self) -> Mapping[ast.AST, Collection[ast.AST]]:
        """The classes of the file that may derive from each one."""
        found: dict[ast.AST, list[ast.AST]] = {}
        for one, bases in self._bases.items():
            for base in bases:
                found.setdefault(base, []).append(one)
        return found

    @cached_property
    def _bases(self) -> Mapping[ast.AST, Collection[ast.AST]]:
        """The classes of the file that each one may derive from."""
        every = [one for one in self.scopes if isinstance(one, ast.ClassDef)]
        by_name: dict[str, list[ast.ClassDef]] = {}
        for one in every:
            by_name.setdefault(one.name, []).append(one)
        found: dict[ast.AST, Collection[ast.AST]] = {}
        for one in every:
            names = _names_of_bases(one)
            found[one] = [base for name in names for base in by_name.get(name, ())]
            if any("" in self.origins.get(name, ()) for name in names - {*by_name}):
                return {**dict.fromkeys(every, every[:1]), every[0]: every}
        return found

    def _of_call(self, call: ast.Call, scopes: Scopes) -> str:
        function = call.func
        if isinstance(function, ast.Name):
            if self._is_builtin(function.id):
                return _BUILTINS.get(function.id, "")
            return self._of_result(function.id, scopes)
        if not isinstance(function, ast.Attribute):
            return ""
        if function.attr == "copy" and not call.args:
            return self._joined(call, [function.value], scopes)
        return LIST if self._is_split(function, call) else ""

    def _is_split(self, function: ast.Attribute, call: ast.Call) -> bool:
        """Return whether a call splits a text: tensors and others have such methods."""
        of = function.value
        if isinstance(of, ast.Attribute) and of.attr == "str":
            return False
        while isinstance(of, ast.Attribute):
            of = of.value
        is_module = isinstance(of, ast.Name) and of.id in self.imported
        if is_module or function.attr not in _LISTS_OF_TEXT - self.origins.keys():
            return False
        if any(one.arg not in {"maxsplit", "keepends"} for one in call.keywords):
            return False
        first = [getattr(one, "value", ...) for one in call.args[:1]]
        return all(one is None or isinstance(one, (str, bytes)) for one in first)

    def _annotated(self, annotation: ast.expr) -> str:
        """Return the type that an annotation names, "" if unknown."""
        found: set[str] = set()
        todo: list[ast.AST] = [annotation]
        while todo:
            one = todo.pop()
            text = one.value if isinstance(one, ast.Constant) else None
            if isinstance(one, ast.BinOp):  # X | None
                todo += [one.left, one.right]
            elif isinstance(one, ast.Expression):
                todo.append(one.body)
            elif isinstance(text, str):
                todo.append(parsed(text.strip(), "eval") or ast.Pass())
            else:
                found.add(self._named(one))
        return _one_of(found)

    def _named(self, node: ast.AST) -> str:
        """Return the type that a part of an annotation names, "" if unknown."""
        if isinstance(node, ast.Constant) and node.value is None:
            return _NONE
        if isinstance(node, ast.Subscript):
            node = node.value
        name = getattr(node, "attr", "") or getattr(node, "id", "")
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        origin = self.origins.get(root.id) if isinstance(root, ast.Name) else None
        is_builtin = isinstance(node, ast.Name) and self._is_builtin(name)
        is_known = is_builtin or (origin and _TYPING.issuperset(origin))
        return _ANNOTATIONS.get(name, "") if is_known else ""

    def _of_parameter(self, parameter: ast.arg, scopes: Scopes) -> str:
        """Return the type that all calls of a function give a parameter."""
        function = scopes[0]
        if not isinstance(function, ast.FunctionDef) or not self._is_plain(function):
            return ""
        types: set[str] = set()
        for call, around in self._calls.get(function.name, ()):
            value = _argument(call, function.args, parameter)
            types.add(self.of(value, around) if value else "")
        return _one_of(types)

    def _is_plain(self, function: ast.FunctionDef) -> bool:
        """Return whether a function of the module is only ever called by its name."""
        place = (function.lineno, function.name)
        if function.decorator_list or place not in self.called_here:
            return False
        name, known = function.name, self._of_scope(self._module)
        calls = len(self._calls.get(name, ()))
        return 0 < calls == self._uses[name] and known.get(name) == [function]

    @cached_property
    def _calls(self) -> Mapping[str, list[tuple[ast.Call, Scopes]]]:
        """The calls of each name in the file, with the scopes around them."""
        found: dict[str, list[tuple[ast.Call, Scopes]]] = {}
        for scope, scopes in self.scopes.items():
            for node in walk_scope(scope):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    found.setdefault(node.func.id, []).append((node, scopes))
        return found

    @cached_property
    def _uses(self) -> Mapping[str, int]:
        """How often the file reads each name."""
        nodes = ast.walk(self._module)
        names = [one for one in nodes if isinstance(one, ast.Name)]
        return Counter(one.id for one in names if isinstance(one.ctx, ast.Load))

    def _of_result(self, name: str, scopes: Scopes) -> str:
        """Return the type of all results of a function in the file."""
        found, _ = self.bindings(name, scopes)
        function = found[0] if len(found) == 1 else None
        if not isinstance(function, ast.FunctionDef) or function.decorator_list:
            return ""
        nodes = [*walk_scope(function)]
        if any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in nodes):
            return OTHER
        results = [one.value for one in nodes if isinstance(one, ast.Return)]
        every = [_NONE if one is None else one for one in results]
        return self._joined(function, every, self.scopes[function])

    def _joined(self, key: object, every: Collection[Binding], scopes: Scopes) -> str:
        """Return the type that all bindings have, "" if they differ."""
        return _one_of(self._types(key, every, scopes))

    def _types(
        self, key: object, every: Collection[Binding], scopes: Scopes
    ) -> set[str]:
        self._room -= len(every)
        if self._room < 0:
            return {""}
        if key in self._open:
            return {_NONE}  # bound to itself: the other bindings tell
        self._open.add(key)
        found = {self._of_binding(one, scopes) for one in every}
        self._open.remove(key)
        return found

    def _of_binding(self, binding: Binding, scopes: Scopes) -> str:
        if isinstance(binding, ast.arg):
            return self._of_parameter(binding, scopes)
        if isinstance(binding, ast.FunctionDef):
            return OTHER
        if isinstance(binding, _Annotation):
            return self._annotated(binding.text)
        return binding if isinstance(binding, str) else self.of(binding, scopes)

    def _of_scope(self, scope: ast.AST) -> Mapping[str, list[Binding]]:
        """Return the variables of a scope."""
        if isinstance(scope, ast.ClassDef):
            return {}  # the functions in it do not see them
        if scope not in self._variables:
            own = _globals(scope)
            found: dict[str, list[Binding]] = {}
            for name, binding in _variables(scope):
                if name not in own:
                    found.setdefault(name, []).append(binding)
            for other, inner in self._shared if scope is self._module else ():
                found.setdefault(other, []).append(inner)
            changed = {*_nonlocals(scope)}
            if scope is self._module:
                changed |= self._changed_by_others(found)
            for name in changed:
                found.setdefault(name, []).append("")
            self._variables[scope] = found
        return self._variables[scope]

    def _changed_by_others(self, names: Iterable[str]) -> set[str]:
        """Return the variables of the module that are set not as variables alone.

        A star import may set each, as do globals and setattr with unknown names.
        """
        every = self._attributes
        changed = {
            name
            for name, ones in every.items()
            if any(one.owner is self._module for one in ones)
        }
        is_any = _ANY in changed or "*" in self.origins
        return {*names} if is_any else changed & {*names}

    @cached_property
    def _shared(self) -> list[tuple[str, Binding]]:
        """What functions bind to variables of the module."""
        return [
            one
            for scope in self.scopes
            if scope is not self._module and (names := _globals(scope))
            for one in _variables(scope)
            if one[0] in names
        ]

    def _owners(self, of: ast.expr | None, scopes: Scopes) -> list[ast.AST | None]:
        """Return the class whose `self` an object is, or the module if it may be that.

        `of` is None for the variables around.
        """
        if of is None:
            return [scopes[0] if isinstance(scopes[0], ast.ClassDef) else self._module]
        owner = _owner(of, scopes)
        is_other = isinstance(of, ast.Name) and of.id not in self.imported
        return [owner] if owner or is_other else [None, self._module]

    @cached_property
    def _attributes(self) -> Mapping[str, list[_Attribute]]:
        found: dict[str, list[_Attribute]] = {}
        for scope, scopes in self.scopes.items():
            nodes = [*walk_scope(scope)]
            known = dict(_targets(nodes))
            inside = {id(part) for node in nodes for part in _read_by_name(node)}
            for node in nodes:
                owners: list[ast.AST | None] = [scope]
                hidden = _set_by_text(node, scope) if id(node) not in inside else None
                if hidden:
                    of, name = hidden
                    names, owners = [name], self._owners(of, scopes)
                elif isinstance(node, ast.Attribute) and isinstance(
                    node.ctx, ast.Store
                ):
                    names, owners = [node.attr], self._owners(node.value, scopes)
                elif isinstance(scope, ast.ClassDef) and node is not scope:
                    names = bound_names(node)
                else:
                    continue
                binding = known.get(node, "")
                for owner in owners:
                    one = _Attribute(owner=owner, binding=binding, scopes=scopes)
                    for name in names:
                        found.setdefault(name, []).append(one)
        return found


def _one_of(types: set[str]) -> str:
    """Return the type of a value that has one of several, "" if they differ."""
    if types == {_NONE}:
        return _NONE
    found = types - {_NONE}
    return found.pop() if len(found) == 1 else ""


def _owner(value: ast.expr | None, scopes: Scopes) -> ast.AST | None:
    """Return the class whose method has an object as `self`, None if unknown."""
    inner = [one for one in scopes if not isinstance(one, COMPREHENSIONS)]
    for function, outer in pairwise(inner):
        if isinstance(outer, ast.ClassDef) and isinstance(function, FUNCTIONS):
            first = [*function.args.posonlyargs, *function.args.args][:1]
            names = [one.arg for one in first if not _is_static(function)]
            is_self = isinstance(value, ast.Name) and value.id in names
            return outer if is_self else None
    return None


def _is_static(function: ast.AST) -> bool:
    decorators = getattr(function, "decorator_list", ())
    return any(getattr(one, "id", "") == "staticmethod" for one in decorators)


def _reached(
    starts: Iterable[ast.AST], links: Mapping[ast.AST, Collection[ast.AST]]
) -> set[ast.AST]:
    """Return nodes with all that links lead to."""
    found: set[ast.AST] = set()
    todo = [*starts]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += links.get(one, ())
    return found


def _names_of_bases(one: ast.ClassDef) -> set[str]:
    """Return the names in what a class derives from, without arguments of types."""
    bases = [
        base.value if isinstance(base, ast.Subscript) else base for base in one.bases
    ]
    nodes = [node for base in bases for node in ast.walk(base)]
    names = [getattr(node, "id", "") or getattr(node, "attr", "") for node in nodes]
    return {name for name in names if name}


def _read_by_name(node: ast.AST) -> list[ast.AST]:
    """Return the call of ``globals()[name]`` if it is only read."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return [node.value]
    return []


def _set_by_text(node: ast.AST, scope: ast.AST) -> tuple[ast.expr | None, str] | None:
    """Return what may be set by its name as text, of which object.

    The object is None for the variables around; the name is _ANY if unknown.
    """
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return node.value, _ANY
    if not isinstance(node, ast.Call):
        return None
    name = getattr(node.func, "id", "")
    of = node.args[0] if node.args else None
    if name in _BY_TEXT or getattr(node.func, "attr", "") in _BY_TEXT:
        text = getattr(node.args[1], "value", _ANY) if node.args[2:] else _ANY
        return of, text if isinstance(text, str) else _ANY
    is_here = not isinstance(scope, FUNCTIONS)
    if (name == "type" and node.args[2:]) or (name == "vars" and of):
        return of, _ANY
    is_all = name == "globals" or (name in {"locals", "vars"} and is_here)
    return (None, _ANY) if is_all or (name == "exec" and not node.args[1:]) else None


def _of_constant(value: object) -> str:
    if value is None:
        return _NONE
    return TEXT if isinstance(value, str) else OTHER


def _globals(scope: ast.AST) -> set[str]:
    nodes = walk_scope(scope)
    found = [one.names for one in nodes if isinstance(one, ast.Global)]
    return {name for names in found for name in names}


def _nonlocals(scope: ast.AST) -> set[str]:
    """Return the variables of a scope that functions inside it may bind."""
    nodes = ast.walk(scope)
    found = [one.names for one in nodes if isinstance(one, ast.Nonlocal)]
    return {name for names in found for name in names}


def _variables(scope: ast.AST) -> Iterator[tuple[str, Binding]]:
    """Yield the variables that a scope binds, each with what binds it."""
    nodes = [*walk_scope(scope)]
    for one in nodes[1:]:
        if isinstance(one, COMPREHENSIONS):
            nodes += [
                part.target for part in ast.walk(one) if isinstance(part, ast.NamedExpr)
            ]
    known = dict(_targets(nodes))
    for node in nodes[1:]:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
            continue
        for name in bound_names(node):
            yield name, known.get(node, "")


def _targets(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.AST, Binding]]:
    """Yield the targets of assignments, and parameters, whose binding is known."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            yield node, node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value)
        elif isinstance(node, ast.AnnAssign):
            yield node.target, _Annotation(node.annotation)
        elif isinstance(node, ast.AugAssign):
            keeps = isinstance(node.op, (ast.Add, ast.Mult))
            yield node.target, _NONE if keeps else ""
        elif isinstance(node, ast.NamedExpr):
            yield node.target, node.value
        elif isinstance(node, ast.arguments):
            every = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            for one in every:
                yield one, _Annotation(one.annotation) if one.annotation else one
            yield from ((one, TUPLE) for one in [node.vararg] if one)
            yield from ((one, OTHER) for one in [node.kwarg] if one)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.AST, Binding]]:
    """Yield the names and attributes of a target with their values."""
    tuples = (ast.Tuple, ast.List)
    if not isinstance(target, tuples):
        yield target, value
    elif isinstance(value, tuples) and len(value.elts) == len(target.elts):
        for one, other in zip(target.elts, value.elts):
            is_one = not isinstance(one, (*tuples, ast.Starred))
            yield from [(one, other)] if is_one else []


def _argument(
    call: ast.Call, parameters: ast.arguments, wanted: ast.arg
) -> ast.expr | None:
    """Return what a call gives a parameter, its default if nothing; None if unknown."""
    if any(isinstance(one, ast.Starred) for one in call.args):
        return None
    for keyword in call.keywords:
        if keyword.arg in {None, wanted.arg}:
            return keyword.value if keyword.arg else None
    by_place = [*parameters.posonlyargs, *parameters.args]
    given: dict[ast.arg, ast.expr | None] = {
        **dict(zip(parameters.kwonlyargs, parameters.kw_defaults)),
        **dict(zip(reversed(by_place), reversed(parameters.defaults))),
        **dict(zip(by_place, call.args)),
    }
    return given.get(wanted)
