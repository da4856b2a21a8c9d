"""Patches of the modules that start child processes, so that these join the run."""

from __future__ import annotations

import os
import sys

from kernprof.child_hook import ChildHook, runs_python, words_of
from lineprof.processes.parts import is_helper
from lineprof.recording.core import prepared_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from kernprof.safe_state import SafeNames
    from lineprof.processes.member import Member

_STARTER = "_posixsubprocess"  # starts children for subprocess and multiprocessing
_FORK_EXEC = "fork_exec"  # the function that starts a child; with "_" in subprocess
_ENVIRONMENT = 5  # the place of the environment among its arguments


class JoiningHook(ChildHook):
    """Patches that also give children the variable by which they join the run."""

    def __init__(self, member: Member, safe_names: SafeNames) -> None:
        """Change nothing yet; `member` is this process in the run."""
        super().__init__(safe_names)
        self._member = member
        self._acts[_STARTER] = self._patch_starter

    def install(self) -> None:
        """Patch the modules, now or when the program imports them."""
        if _STARTER in sys.builtin_module_names:
            __import__(_STARTER)  # no finder is asked for it
        super().install()

    def _patch_starter(self, module: ModuleType) -> None:
        """Let children started by ``fork_exec`` itself join, and note them."""

        def note(pid: int, arguments: tuple[Any, ...]) -> None:
            words, [path, *_] = arguments[:2]
            command = (os.fsdecode(path), *words_of(words)[1:])
            if runs_python(command) and not is_helper("resource_tracker", command):
                self.started[pid] = command

        self._let_join(module, _FORK_EXEC, vars(module).get(_FORK_EXEC), note)

    def _patch_popen(self, module: ModuleType) -> None:
        super()._patch_popen(module)
        name = f"_{_FORK_EXEC}"
        plain = getattr(module, name, None)
        for _, patched, theirs in self._replaced:  # what it has imported is patched
            plain = theirs if patched == _FORK_EXEC else plain
        self._let_join(module, name, plain, None)

    def _let_join(
        self,
        module: ModuleType,
        name: str,
        plain: Callable[..., Any] | None,
        note: Callable[[int, tuple[Any, ...]], None] | None,
    ) -> None:
        """Give children that `plain` starts, called `name` in `module`, the variable.

        `note` gets the number of each child, and the arguments.
        """
        member = self._member
        if plain is None:
            return

        def prepare(*arguments: Any, **named: Any) -> tuple[Any, Any]:  # noqa: ANN401
            words = [*arguments]
            if isinstance(words[_ENVIRONMENT], list):
                words[_ENVIRONMENT] = member.with_entry(words[_ENVIRONMENT])
            return tuple(words), named

        self._replaced.append((module, name, plain))
        setattr(module, name, prepared_call(plain, prepare, note))
