"""What one profiler has counted: as a value, a file, a table."""

from __future__ import annotations

import gc
import sys

from lineprof.calibrate import remeasure
from lineprof.first_use import tell, watchers
from lineprof.loops import unread
from lineprof.registry import Registry
from lineprof.switch import start, stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from typing import TextIO, Union

    from lineprof.blocks import Block, Blocks
    from lineprof.gpu_snapshot import Taken
    from lineprof.snapshot import Code
    from lineprof.snapshot_calls import RawTree
    from lineprof.stats import LineStats
    from lineprof.trace import Tracing
    from lineprof.wait_snapshot import RawWait

    Counted = tuple[list[tuple[int, str]], Sequence[Code], RawTree, list[RawWait]]

    Path = Union[str, "os.PathLike[str]"]


class Results(Registry):
    """Reads out the core."""

    exit = ""  # how the program ended, for the profile: set by who runs it
    from_start = True  # False where the program is to say when to count

    timer_unit = 1e-9  # seconds in a tick of get_stats().timings

    _blocks: Blocks | None = None
    _timeline: Tracing | None = None

    @property
    def traced(self) -> bool:
        """Whether stays in functions and on lines are kept one by one."""
        return self._timeline is not None

    def block(self, name: str = "block") -> Block:
        """Return a context manager that counts the lines of its ``with`` statement.

        They are shown as one function called `name`, wherever they stand, at the
        top of a module, too, and whether or not anything around them is counted.
        """
        from lineprof.blocks import Block, Blocks  # noqa: PLC0415  # seldom needed

        if watchers:
            tell(self)
        blocks = self._blocks
        if blocks is None:
            made = Blocks(self._core, self.core, self.texts)
            blocks = self.__dict__.setdefault("_blocks", made)  # or another thread's
        return Block(blocks, name)

    def reset(self) -> None:
        """Forget all that was counted; functions stay registered."""
        super().reset()
        if self._blocks is not None:
            self._blocks.reset()

    def start(self) -> None:
        """Count on after `stop`: what the module's `start` does."""
        start()

    def stop(self) -> None:
        """Count nothing, in any profiler, until `start`: see the module's `stop`."""
        stop()

    def get_stats(self) -> LineStats:
        """Return all that was counted so far, times in ns.

        Lines that are under way count up to now.
        """
        gpu = self._gpu.take()
        holds = remeasure(self._core, self.core, self._calibration)
        if "numba.core.dispatcher" in sys.modules:
            from lineprof.compiled import numba_in  # noqa: PLC0415  # seldom needed

            known = {*self._known, *self._unlisted}
            self._compiled.update(dict.fromkeys(numba_in(known)))
        return self._stats(holds, gpu, self.exit, self._timeline)

    def stats_so_far(self) -> LineStats:
        """Return the same while the program runs, for a thread beside it.

        Nothing is kept from running: costs count as they were first measured,
        and GPU work, for which the device would be waited for, is left out; so is
        what was traced, for that may be a lot.
        """
        return self._stats(1.0, None, "still running", None)

    def _counted(self) -> Counted:
        """Return what the tracer has counted, and what lines waited for."""
        collects = gc.isenabled()
        gc.disable()  # before 3.12 it may run the program's code in the midst
        try:
            return *self._tracer.snapshot(), self._tracer.waits()
        finally:
            if collects:
                gc.enable()

    def _stats(
        self, holds: float, gpu: Taken | None, end: str, timeline: Tracing | None
    ) -> LineStats:
        """Return what was counted; `holds` is how much of the costs does."""
        from lineprof.snapshot import (  # noqa: PLC0415  # at the end
            Parts,
            Scale,
            profile_of,
        )

        ids, counted, calls, waits = self._counted()
        codes: list[Code] = [one for one in counted if not self._is_hidden(one[0])]
        natives = self._tracer.natives()
        blocks: list[Code] = []
        if self._blocks is not None:
            blocks = list(self._blocks.codes())
            waits += self._blocks.waits()
        scale = Scale(self._core.scale(), self._core.COST_ONE, holds)
        core, cost = (self.core, self.core_reason), scale.cost_ns(self._run.cost)
        run = self._run.process(core=core, overhead_ns=cost, end=end)
        said = self._run.warnings(self.functions, from_start=self.from_start)
        warnings = [*self._warnings, *said, *self._compiled_warnings(), *unread()]
        if self._core.took_turns():
            warnings.append("greenlets took turns: who called whom is partly a guess")
        parts = Parts(
            gpu=gpu,
            blocks=blocks,
            calls=calls,
            natives=natives,
            trace=timeline.of(self._tracer, gpu) if timeline else None,
            waits=waits,
            blind=self._core.waits_blind(),
            split=self._core.split(None),
        )
        return profile_of(ids, codes, scale, run, warnings, parts)

    def _compiled_warnings(self) -> list[str]:
        """Return what to say of compiled functions, whose lines are not seen."""
        if not self._compiled:
            return []
        from lineprof.compiled import sentences  # noqa: PLC0415  # seldom needed

        return sentences(self._compiled)

    def dump_stats(self, filename: Path) -> None:
        """Write a profile file; LineprofError when that fails."""
        self.get_stats().to_file(filename)

    def print_stats(  # noqa: PLR0913, PLR0917  # line_profiler's signature
        self,
        stream: TextIO | None = None,
        output_unit: float | None = None,
        stripzeros: bool = False,  # noqa: FBT001, FBT002
        details: bool = True,  # noqa: FBT001, FBT002
        summarize: bool = False,  # noqa: FBT001, FBT002
        sort: bool = False,  # noqa: FBT001, FBT002
        rich: bool = False,  # noqa: FBT001, FBT002
        *,
        config: Path | bool | None = None,
    ) -> None:
        """Print the tables; `output_unit` in seconds, to `stream` or stdout.

        With `rich`, by the package of that name where it can be had. `config` is
        the file with the columns' widths; None looks for one, False does not.
        """
        self.get_stats().print(
            stream=stream,
            output_unit=output_unit,
            stripzeros=stripzeros,
            details=details,
            summarize=summarize,
            sort=sort,
            rich=rich,
            config=config,
        )
