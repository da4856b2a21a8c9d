"""Findings about lists: searched one by one, moved as a whole, copied in rounds.

The time of such a line is its own; that the line searches a list is known from its
source. See `value_types` for what is known of a type.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from lineprof.advice.finding import Evidence, Finding, Line, counted, in_words
from lineprof.advice.scopes import COMPREHENSIONS
from lineprof.advice.source_trees import head_parts, is_code_of
from lineprof.advice.value_types import LIST, TEXT, TUPLE, Scopes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.advice.source_trees import SourceTree
    from lineprof.advice.value_types import ValueTypes

LIST_SEARCH, LIST_SHIFT, REBUILT = "list-search", "list-shift", "rebuilt-collection"

# Of the run, in the line itself: what a user would change a program for.
MIN_LINE_SHARE = 0.1

# Executions of a line: fewer are no repetition, however long they take.
MIN_HITS = 10

# Time (ns) of one execution: a line that finds an element in a set, or adds one, takes
# 50 to 300 ns.
MIN_HIT_NS = 500

# The same if the source does not tell the type: then a text may be searched, or a
# method of Python run.
MIN_UNSURE_HIT_NS = 5_000

_SHORT = 10  # elements of a display: a search in fewer is as fast as in a set

_MAX_TEXT = 60  # characters of an expression in a sentence

_SCOPE_NAMES: dict[type[ast.AST], str] = {
    ast.Lambda: "<lambda>",
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}
_GROWS = frozenset(("append", "extend", "insert"))

# What helps, by the method that searches.
_HELPS_SEARCH = {
    "in": (
        "Lists and tuples are searched element by element: it usually helps to keep the"
        " elements in a set, or in a dict, which keeps their order, if they are"
        " hashable."
    ),
    "index": "It usually helps to keep the position of each element in a dict.",
    "count": "It usually helps to count all elements once: collections.Counter.",
    "remove": (
        "It usually helps to keep the elements in a set, or in a dict, which keeps"
        " their order, if they are hashable: both remove without a search."
    ),
}


class _Place(NamedTuple):
    """A hot line, with its statements."""

    line: Line
    own_ns: int
    hits: int
    nodes: tuple[ast.stmt, ...]  # that it shares with no other function
    scopes: Scopes
    tree: SourceTree

    @property
    def types(self) -> ValueTypes:
        return self.tree.types


class _Use(NamedTuple):
    """One use of a collection on a line."""

    kind: str
    verb: str  # "in", or the name of a method
    value: ast.expr  # the collection
    type: str  # of it; "" if unknown
    scopes: Scopes  # around it


def collections(evidence: Evidence) -> Iterator[Finding]:
    """Yield the lines that search or move a list, or copy a collection."""
    longest: dict[object, Finding] = {}  # of the lines of a statement
    for line, ns in evidence.hot_lines(MIN_LINE_SHARE * evidence.run_ns):
        place = _place(evidence, line, ns)
        for one in _findings(evidence, place) if place else ():
            key = (line[0], place and place.nodes[0], one.kind, one.numbers[-2:])
            if key not in longest or longest[key].cost_ns < ns:
                longest[key] = one
    yield from longest.values()


def _place(evidence: Evidence, line: Line, ns: int) -> _Place | None:
    """Return a line with its statements; None if the source does not tell them."""
    (file, first, name), number = line
    tree = evidence.trees.of(file)
    if tree is None:
        return None
    short = name.rpartition(".")[2]
    found = [
        (node, scope)
        for node, scope in tree.statements_on(number)
        if short in _SCOPE_NAMES.values() or is_code_of(scope, short, first)
    ]
    if not found or any(scope is not found[0][1] for _, scope in found):
        return None
    tree.types.called_here = evidence.called_here(file)
    return _Place(
        line=line,
        own_ns=ns,
        hits=evidence.hits(line),
        nodes=tuple(node for node, _ in found),
        scopes=tree.types.scopes[found[0][1]],
        tree=tree,
    )


def _findings(evidence: Evidence, place: _Place) -> Iterator[Finding]:
    uses = [*_uses(evidence, place)]
    sure = [one for one in uses if one.type]
    by_kind: dict[str, list[_Use]] = {}
    for one in sure:
        by_kind.setdefault(one.kind, []).append(one)
    for kind, ones in by_kind.items():
        if _is_often(place, ones[0], MIN_HIT_NS):
            yield _of_uses(evidence, place, kind, ones)
            return
    if not sure and len(uses) == 1 and _only_searches(evidence, place, uses[0]):
        [one] = uses
        is_round = not _comprehension(one)
        if is_round and _is_often(place, one, MIN_UNSURE_HIT_NS):
            yield _of_unsure(evidence, place, one)


def _is_often(place: _Place, use: _Use, min_ns: int) -> bool:
    """Return whether a line has many rounds, of which each is long.

    A comprehension is one execution, however many rounds it has.
    """
    if _comprehension(use):
        return True
    return place.hits >= MIN_HITS and place.own_ns >= min_ns * place.hits


def _comprehension(use: _Use) -> ast.AST | None:
    return use.scopes[0] if isinstance(use.scopes[0], COMPREHENSIONS) else None


# What a line does with collections.


def _uses(evidence: Evidence, place: _Place) -> Iterator[_Use]:
    for node, scopes in _parts(evidence, place):
        if isinstance(node, ast.Compare):
            yield from _searches(place, node, scopes)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from _of_method(place, node, node.func, scopes)
    for one in place.nodes:
        if isinstance(one, (ast.Assign, ast.AugAssign)):
            yield from _rebuilt(place, one)
        for target in one.targets if isinstance(one, ast.Delete) else ():
            if isinstance(target, ast.Subscript) and _is_zero(target.slice):
                yield from _of_list(place, "del", target.value, place.scopes)


def _parts(evidence: Evidence, place: _Place) -> Iterator[tuple[ast.AST, Scopes]]:
    """Yield what a line evaluates, each part with the scopes around it.

    Of a function without a name, those are the parts inside it; else comprehensions are
    parts of the line unless they are functions of the profile.
    """
    (_, _, name), line = place.line
    anonymous = name.rpartition(".")[2] in _SCOPE_NAMES.values()
    lines = range(0) if anonymous else range(line, line + 1)
    todo = [
        (part, place.scopes, lines) for node in place.nodes for part in head_parts(node)
    ]
    while todo:
        node, scopes, lines = todo.pop()
        if isinstance(node, ast.expr):
            if type(node) in _SCOPE_NAMES:
                scopes = (node, *scopes)
                lines = _charged(evidence, place, node, lines)
            if (
                lines.start <= (node.end_lineno or node.lineno)
                and node.lineno < lines.stop
            ):
                yield node, scopes
        todo += [(child, scopes, lines) for child in ast.iter_child_nodes(node)]


def _charged(evidence: Evidence, place: _Place, scope: ast.expr, lines: range) -> range:
    """Return the lines of a scope in an expression whose time is that of a line.

    `lines` are those around it. A comprehension that is a function without lines of its
    own is a part of the line that calls it, as a function in C is.
    """
    (file, first, name), line = place.line
    title = _SCOPE_NAMES[type(scope)]
    if name.rpartition(".")[2] in _SCOPE_NAMES.values():
        is_it = (title, scope.lineno) == (name.rpartition(".")[2], first)
        return range(line, line + 1) if is_it else lines
    if title == "<lambda>" or evidence.has_function(file, scope.lineno, title):
        return range(0)
    is_inline = evidence.has_inline_comprehensions and title != "<genexpr>"
    if not lines or is_inline:
        return lines
    return range(scope.lineno, (scope.end_lineno or scope.lineno) + 1)


def _searches(place: _Place, node: ast.Compare, scopes: Scopes) -> Iterator[_Use]:
    """Yield the tests of membership whose right side is, or may be, a list."""
    is_text = isinstance(node.left, (ast.Constant, ast.JoinedStr))
    for operator, value in zip(node.ops, node.comparators):
        if not isinstance(operator, (ast.In, ast.NotIn)):
            continue
        found = place.types.of(value, scopes)
        if found in {LIST, TUPLE} and not _is_short(place, value, scopes):
            yield _Use(LIST_SEARCH, "in", value, found, scopes)
        if not found and not is_text and isinstance(value, (ast.Name, ast.Attribute)):
            yield _Use(LIST_SEARCH, "in", value, "", scopes)


def _of_method(
    place: _Place, call: ast.Call, method: ast.Attribute, scopes: Scopes
) -> Iterator[_Use]:
    name, first = method.attr, call.args[0] if call.args else None
    if name in {"index", "count", "remove"}:
        found = place.types.of(method.value, scopes)
        if found in {LIST, TUPLE} and not _is_short(place, method.value, scopes):
            yield _Use(LIST_SEARCH, name, method.value, found, scopes)
    if name in {"insert", "pop"} and _is_zero(first):
        yield from _of_list(place, name, method.value, scopes)


def _of_list(
    place: _Place, verb: str, value: ast.expr, scopes: Scopes
) -> Iterator[_Use]:
    if place.types.of(value, scopes) == LIST:
        yield _Use(LIST_SHIFT, verb, value, LIST, scopes)


def _is_zero(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _is_short(place: _Place, value: ast.expr, scopes: Scopes) -> bool:
    """Return whether a list or tuple certainly has few elements."""
    if not isinstance(value, ast.Name):
        return _is_short_display(value)
    found, _ = place.types.bindings(value.id, scopes)
    if not found or not all(map(_is_short_display, found)):
        return False
    if any(not one.elts for one in found if isinstance(one, (ast.List, ast.Tuple))):
        return False  # it begins empty
    return not any((value.id, one) in place.tree.attributes for one in _GROWS)


def _is_short_display(value: object) -> bool:
    if not isinstance(value, (ast.List, ast.Tuple)) or len(value.elts) >= _SHORT:
        return False
    return not any(isinstance(one, ast.Starred) for one in value.elts)


def _rebuilt(place: _Place, node: ast.Assign | ast.AugAssign) -> Iterator[_Use]:
    """Yield a collection that a statement makes again, of its elements and some more.

    To text in a local variable CPython adds in place, if the statement does it once.
    """
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if not isinstance(target, (ast.Name, ast.Attribute)):
        return
    found = place.types.of(target, place.scopes)
    is_local = isinstance(target, ast.Name) and len(place.scopes) > 1
    value = node.value
    if isinstance(node, ast.AugAssign):
        is_added = isinstance(node.op, ast.Add)
        is_made = is_added and (found == TUPLE or (found == TEXT and not is_local))
    elif isinstance(value, ast.BinOp):
        made = (ast.List, ast.Tuple, ast.Set, ast.Dict)
        if isinstance(value.right, made):
            found = type(value.right).__name__.lower()
        adds = _adds(value, target)
        is_made = adds > 0 and (found != TEXT or adds > 1 or not is_local)
    elif isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        found = type(value).__name__.lower()
        stars = [one.value for one in value.elts if isinstance(one, ast.Starred)]
        is_made = any(_same(one, target) for one in stars)
    else:
        found = "dict"
        pairs = zip(value.keys, value.values) if isinstance(value, ast.Dict) else ()
        is_made = any(key is None and _same(one, target) for key, one in pairs)
    if is_made and found in _HELPS_REBUILT:
        yield _Use(REBUILT, "", target, found, place.scopes)


def _adds(value: ast.expr, target: ast.expr) -> int:
    """Return how many times a value is added to the variable that is set; 0: never."""
    count = 0
    while isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.BitOr)):
        value = value.left
        count += 1
    return count if _same(value, target) else 0


def _same(value: ast.expr, target: ast.expr) -> bool:
    """Return whether an expression is the variable, or attribute, that is set."""
    while isinstance(value, ast.Attribute) and isinstance(target, ast.Attribute):
        if value.attr != target.attr:
            return False
        value, target = value.value, target.value
    names = [one.id for one in (value, target) if isinstance(one, ast.Name)]
    return len(names) == 2 and names[0] == names[1]  # noqa: PLR2004  # both


def _calls(evidence: Evidence, place: _Place, uses: list[_Use]) -> Iterator[str]:
    """Yield the calls on a line whose time may be part of its own."""
    inside = {id(part) for use in uses for part in ast.walk(use.value)}
    values = {id(use.value) for use in uses}
    profiled = {
        edge.callee[2].rpartition(".")[2]
        for edge in evidence.calls.get(place.line, ())
        if edge.callee[0]
    }
    for node, _ in _parts(evidence, place):
        if not isinstance(node, ast.Call) or id(node) in inside:
            continue
        if any(id(part) in values for part in ast.walk(node)):
            continue  # of what the use gives it
        function = node.func
        name = getattr(function, "attr", None) or getattr(function, "id", "")
        if name not in _CHEAP and name not in profiled:
            yield name or "a function"


# Calls that take no longer than a search in a set.
_CHEAP = frozenset(
    (
        *("add", "append", "discard", "get", "pop", "lower", "strip", "upper"),
        *("bool", "id", "isinstance", "len", "type"),
    )
)


def _only_searches(evidence: Evidence, place: _Place, use: _Use) -> bool:
    """Return whether a line does no work beside a search that could take long."""
    for node, _ in _parts(evidence, place):
        if isinstance(node, ast.Compare):
            is_plain = len(node.ops) == 1 and node.comparators[0] is use.value
        elif isinstance(node, ast.UnaryOp):
            is_plain = isinstance(node.op, ast.Not)
        else:
            is_plain = isinstance(node, _PLAIN_PARTS)
        if not is_plain:
            return False
    return all(isinstance(one, _PLAIN_STATEMENTS) for one in place.nodes)


# What takes no time of note, if no property or operator of the program is behind it.
_PLAIN_PARTS = (
    *(ast.Attribute, ast.BoolOp, ast.Constant, ast.IfExp, ast.Name, ast.Tuple),
)
_PLAIN_STATEMENTS = (
    *(ast.Assert, ast.Assign, ast.AnnAssign, ast.Break, ast.Continue, ast.Expr),
    *(ast.If, ast.Pass, ast.Return, ast.While),
)


# Sentences.


def _text(node: ast.expr) -> str:
    """Return the source of an expression for a sentence."""
    try:
        text = ast.unparse(node)
    except RecursionError:
        return "..."
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 3]}..."


def _listed(names: list[str]) -> str:
    """Return names for a sentence: ``a, b and c``."""
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def _head(evidence: Evidence, place: _Place) -> str:
    itself = evidence.itself([place.line])
    each = f", {in_words(place.own_ns / place.hits)} each" if place.hits > 1 else ""
    return (
        f"This line took {in_words(place.own_ns)} {itself},"
        f" {evidence.of_run(place.own_ns)}, in"
        f" {counted(place.hits, 'execution')}{each};"
    )


def _of_uses(evidence: Evidence, place: _Place, kind: str, uses: list[_Use]) -> Finding:
    first = uses[0]
    names = _listed([*dict.fromkeys(f"`{_text(one.value)}`" for one in uses)])
    what = f"{first.type} {names}"
    if kind == LIST_SEARCH:
        fact, advice = _on_search(first, what)
    elif kind == LIST_SHIFT:
        fact = f"it moves all other elements of the {what}, which changes at its front"
        advice = (
            "It usually helps to use a collections.deque, which has popleft and"
            " appendleft, or to use the end of the list."
        )
    else:
        fact = f"it makes the {what} again each time, with all that it has so far"
        advice = _HELPS_REBUILT[first.type]
    others = [*dict.fromkeys(_calls(evidence, place, uses))]
    if others:
        fact += f"; that time includes calls of {_listed(others)}"
    return _finding(evidence, place, first, f"{_head(evidence, place)} {fact}.", advice)


_HELPS_REBUILT = {
    "list": "It usually helps to add to the list itself: append, extend or +=.",
    "set": "It usually helps to add to the set itself: add, update or |=.",
    "dict": "It usually helps to change the dict itself: d[key] = value, or update.",
    "tuple": (
        "It usually helps to append to a list, and to make a tuple of it after the"
        " loop."
    ),
    "str": (
        "It usually helps to append to a list, and to join it after the loop: ''.join."
    ),
}


def _on_search(use: _Use, what: str) -> tuple[str, str]:
    """Return what a search does, and what helps."""
    is_made = not isinstance(use.value, (ast.Name, ast.Attribute))
    rounds = "for each element of a comprehension " if _comprehension(use) else ""
    if not is_made:
        return f"{rounds}it searches the {what}", _HELPS_SEARCH[use.verb]
    fact = f"{rounds}it makes the {what}, and searches it"
    if use.verb != "in":
        return fact, _HELPS_SEARCH[use.verb]
    return fact, (
        "It usually helps to search what it is made of, if that is a set or a dict, or"
        " else to make a set of it once, before the rounds in which it is the same."
    )


def _of_unsure(evidence: Evidence, place: _Place, use: _Use) -> Finding:
    name = _text(use.value)
    return _finding(
        evidence,
        place,
        use,
        f"{_head(evidence, place)} it does little but search `{name}`, whose type the"
        " source does not tell.",
        f"If `{name}` is a list, it is searched element by element: then it usually"
        " helps to keep the elements in a set, or in a dict, which keeps their order.",
    )


def _finding(
    evidence: Evidence, place: _Place, use: _Use, measured: str, advice: str
) -> Finding:
    return Finding(
        kind=use.kind,
        places=(place.line,),
        cost_ns=place.own_ns,
        share=evidence.share(place.own_ns),
        numbers=(
            *(("own_ns", place.own_ns), ("hits", place.hits)),
            *(("collection", _text(use.value)), ("type", use.type)),
        ),
        measured=measured,
        advice=advice,
    )
