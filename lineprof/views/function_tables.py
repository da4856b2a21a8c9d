"""The usual tables of single functions, with more below their lines."""

from __future__ import annotations

from lineprof.views.text import functions_of, heading, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lineprof.records import Key
    from lineprof.source import Sources
    from lineprof.stats import Profile
    from lineprof.views.view import Options


class FunctionTables:
    """The tables of a profile's functions, one at a time."""

    def __init__(self, stats: Profile, sources: Sources, options: Options) -> None:
        """Take a profile of no more functions than are to be shown."""
        self._layout = layout(stats.unit, options)
        self._sources = sources
        self._functions = {
            (one.file, one.line, one.name): one for one in functions_of(stats, options)
        }

    def heading(self) -> Iterator[str]:
        """Yield what stands above all of them."""
        yield from heading(self._layout)

    def of(self, key: Key, below: Mapping[int, list[str]]) -> Iterator[str]:
        """Yield the table of one function, `below` each line what is said of it."""
        function = self._functions[key]
        beside = function.beside
        both = {line: [*beside.below.get(line, ())] for line in (*beside.below, *below)}
        for line, words in below.items():
            both[line] += words
        function = function._replace(beside=beside._replace(below=both))
        block = self._sources.block(function.file, function.line, function.name)
        yield from self._layout.of(function, block)
