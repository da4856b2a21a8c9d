"""What `LineProfiler.add_class` and `add_module` take of a namespace."""

from __future__ import annotations

from lineprof.line_profiler_utils import StringEnum
from lineprof.scopes import scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Callable, TypedDict, Union

    ScopingPolicyDict = TypedDict(
        "ScopingPolicyDict",
        {
            "func": Union[str, "ScopingPolicy"],
            "class": Union[str, "ScopingPolicy"],
            "module": Union[str, "ScopingPolicy"],
        },
    )
    Policies = Mapping[str, str]

KINDS = ("func", "class", "module")

DEFAULT_SCOPING_POLICIES = {"func": "siblings", "class": "siblings", "module": "exact"}


class ScopingPolicy(StringEnum):
    """How near to a class or a module its members must be defined.

    EXACT: functions that are defined in it; nothing is descended into.
    CHILDREN: functions and classes that are defined in it, its direct submodules.
    DESCENDANTS: and what is defined in those, at any depth.
    SIBLINGS: and what stands beside it, in the same module or package.
    NONE: whatever is found in it, wherever that was defined.
    """

    EXACT = "exact"
    CHILDREN = "children"
    DESCENDANTS = "descendants"
    SIBLINGS = "siblings"
    NONE = "none"

    def get_filter(
        self, namespace: type | ModuleType, obj_type: str
    ) -> Callable[[object], bool]:
        """Return what tells whether a member of `namespace` is in scope.

        `obj_type` is the kind of the members: "func", "class" or "module".
        """
        return scope(self.value, namespace, obj_type)

    @classmethod
    def to_policies(
        cls, policies: str | Policies | None = None
    ) -> dict[str, ScopingPolicy]:
        """Return the policy for each of "func", "class" and "module".

        `policies` is one for all, or a mapping with one for each; None stands for
        `DEFAULT_SCOPING_POLICIES`. ValueError for an unknown policy, KeyError where
        a mapping lacks a kind.
        """
        if policies is None:
            policies = DEFAULT_SCOPING_POLICIES
        if isinstance(policies, str):
            return dict.fromkeys(KINDS, cls(policies))
        return {kind: cls(policies[kind]) for kind in KINDS}


def __getattr__(name: str) -> object:
    """Make the type of the mappings when it is asked for: typing takes 5 ms."""
    if name != "ScopingPolicyDict":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from typing import TypedDict, Union  # noqa: PLC0415  # as said

    policy = Union[str, ScopingPolicy]
    return TypedDict("ScopingPolicyDict", dict.fromkeys(KINDS, policy))  # type: ignore[operator]
