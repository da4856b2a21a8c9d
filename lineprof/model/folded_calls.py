"""The calls of a program with its libraries folded, from where they branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.call_graph import CallPath, branch_point, call_path_tree
from lineprof.model.names import library_of
from lineprof.model.records import NO_NODE, node_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from lineprof.model.profile import Profile

_MAX_LEVELS = 4  # above where the calls branch, to be shown with them


class FoldedCalls(NamedTuple):
    """All call paths, each library folded into the functions by which it is entered."""

    root: CallPath
    start: CallPath  # the path with which a view begins; `root` for all
    levels: int  # from `root` down to `start`


def folded_calls(profile: Profile) -> FoldedCalls:
    """Return the calls of the program's own code, and of the libraries it enters."""
    root = call_path_tree(profile, _foreign(profile))
    start, levels = branch_point(root)
    while start.folded and start.parent:
        start, levels = start.parent, levels - 1
    if levels <= _MAX_LEVELS:
        start, levels = root, 0
    return FoldedCalls(root=root, start=start, levels=levels)


def _foreign(profile: Profile) -> Callable[[str], str]:
    """Return a function from a file to its library, "" for the program itself.

    If all files are of libraries, those of the library that the program starts in are
    its own.
    """
    if not all(library_of(one.file) for one in profile.functions):
        return library_of
    nodes = node_columns(profile.calls.nodes)
    columns = zip(nodes.column("parent"), nodes.column("function"))
    starts = {
        nodes.functions[index][0] for parent, index in columns if parent == NO_NODE
    }
    own = {library_of(file) for file in starts}
    return lambda file: "" if library_of(file) in own else library_of(file)
