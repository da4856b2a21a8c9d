"""What a reader of a profile should know beside its numbers, a line each."""

from __future__ import annotations

from lineprof.source import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.source import Sources
    from lineprof.stats import Profile


def notes(stats: Profile, sources: Sources, *, tables: bool = True) -> Iterator[str]:
    """Yield why the profile is empty, its warnings, and where its source is off.

    Without `tables`, no function's source is looked at: of many, that takes long.
    """
    if stats.why_empty:
        yield stats.why_empty
    yield from stats.warnings
    for file, source in stats.sources.items():
        if changed(source):
            what = "the lines shown may not be those measured"
            if source.text is not None:
                what = "shown is its text of then"
            yield f"{file} has changed since it was profiled; {what}"
    for function in stats.functions if tables else ():
        block = sources.block(function.file, function.line, function.name)
        if block is None:
            continue
        inside = range(function.line, function.line + len(block))
        outside = sorted({c.line for c in function.cells if c.line not in inside})
        if outside:
            yield (
                f"{function.name} ({function.file}:{function.line}) took time on"
                f" {len(outside)} lines outside of its source, the first is"
                f" {outside[0]}; the table leaves them out, --json has them"
            )
