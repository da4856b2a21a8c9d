"""Names of line_profiler's that its users may look at, made when they do."""

from __future__ import annotations

from lineprof.discovery import Discovery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType


class Legacy(Discovery):
    """Shows results as line_profiler's older versions kept them."""

    # Shared by all profilers, as they are in line_profiler.
    _tracing = {"wrap_trace": False, "set_frame_local_trace": False}  # noqa: RUF012

    @property
    def wrap_trace(self) -> bool:
        """What was last asked for; other tracers keep their events anyhow."""
        return self._tracing["wrap_trace"]

    @wrap_trace.setter
    def wrap_trace(self, value: bool) -> None:
        self._tracing["wrap_trace"] = bool(value)

    @property
    def set_frame_local_trace(self) -> bool:
        """What was last asked for; frames keep their own tracers anyhow."""
        return self._tracing["set_frame_local_trace"]

    @set_frame_local_trace.setter
    def set_frame_local_trace(self, value: bool) -> None:
        self._tracing["set_frame_local_trace"] = bool(value)

    @property
    def code_map(self) -> dict[CodeType, dict[int, dict[str, object]]]:
        """Hits and times in ns, by code object and line; made when it is read."""
        from lineprof import legacy_views as views  # noqa: PLC0415  # seldom

        codes = views.codes_of(self.functions)
        return views.code_map(codes, self.get_stats().timings)

    @property
    def c_code_map(self) -> dict[int, dict[int, dict[str, object]]]:
        """The same by a number for each line; made when it is read."""
        from lineprof import legacy_views as views  # noqa: PLC0415  # seldom

        codes = views.codes_of(self.functions)
        return views.c_code_map(codes, self.get_stats().timings)

    @property
    def code_hash_map(self) -> dict[CodeType, list[int]]:
        """The numbers of the lines of each code object; made when it is read."""
        from lineprof import legacy_views as views  # noqa: PLC0415  # seldom

        return views.code_hash_map(views.codes_of(self.functions))

    @property
    def dupes_map(self) -> dict[bytes, list[CodeType]]:
        """Code objects by their bytecode; made when it is read."""
        from lineprof import legacy_views as views  # noqa: PLC0415  # seldom

        return views.dupes_map(views.codes_of(self.functions))

    @property
    def last_time(self) -> dict[CodeType, dict[str, object]]:
        """The line that this thread is in, by code object, while it is enabled."""
        from lineprof import legacy_views as views  # noqa: PLC0415  # seldom

        if not self._tracer.active:
            return {}
        return views.last_time(views.codes_of(self.functions))

    @property
    def c_last_time(self) -> dict[int, dict[str, object]]:
        """The same by the hash of its bytecode; KeyError before there is any."""
        if not self.functions:
            msg = "no profiling data: no function is registered"
            raise KeyError(msg)
        return {hash(code.co_code): entry for code, entry in self.last_time.items()}
