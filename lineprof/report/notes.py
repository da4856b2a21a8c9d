"""Notes below a report on what its numbers lack, and the commands to try next."""

from __future__ import annotations

from itertools import chain
from textwrap import wrap
from typing import TYPE_CHECKING

from lineprof.console.output import python_command, shell_path, shell_word
from lineprof.model.call_graph import functions_to_branch
from lineprof.model.names import MODULE, names_of_profile
from lineprof.report import markdown
from lineprof.report.memory_format import unknown_memory
from lineprof.source import LEFT_OUT, changed, size_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.console.terminal import Terminal
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key
    from lineprof.report.options import Options, View
    from lineprof.source import Sources

_MAX_COMPARED = 1 << 28  # bytes of source files: more take seconds

_MAX_NOTES = 8  # of a program with thousands of functions there may be hundreds
_MIN_WIDTH = 20  # columns of a terminal; on less, notes are not wrapped

_MAX_READABLE = 5  # functions, whose tables a user can read one by one


def notes(profile: Profile, sources: Sources, *, tables: bool = True) -> Iterator[str]:
    """Yield why the profile is empty, its warnings, and which sources have changed.

    Without `tables`, the source of functions is not read, which takes long
    for many functions.
    """
    if profile.why_empty:
        yield profile.why_empty
    yield from profile.warnings
    yield from unknown_memory(profile)
    is_from_file, room = profile.source_roots is not None, _MAX_COMPARED
    for file, source in profile.sources.items():
        if is_from_file and source.text is None:
            continue  # it was not read if it has changed
        room -= size_of(file)
        if room < 0:
            yield f"{file} and the files after it were not compared with the disk"
            break
        if changed(source):
            shown = "the lines shown may not be those measured"
            if source.text is not None:
                shown = "the text shown is that of the profile"
            yield f"{file} has changed since it was profiled; {shown}"
    for function in profile.functions if tables else ():
        block = sources.block(function.file, function.line, function.name)
        if block is None or block == LEFT_OUT:  # the table has all lines
            continue
        inside = range(function.line, function.line + len(block))
        outside = sorted(
            {c.line for c in function.thread_lines if c.line not in inside}
        )
        if outside:
            yield (
                f"{function.name} ({function.file}:{function.line}) took time on"
                f" {len(outside)} lines outside of its source, the first is"
                f" {outside[0]}; the table leaves them out, --json has them"
            )
    yield from sources.remarks()


def with_notes(
    lines: Iterable[str], remarks: Iterable[str], terminal: Terminal
) -> Iterator[str]:
    """Yield `lines`, and below them the first `remarks`, after a blank line."""
    last, count = "", 0
    for last in lines:
        yield last
    if isinstance(terminal, markdown.Document):
        yield from _in_document([*remarks])
        return
    for count, remark in enumerate(remarks, 1):
        if count == 1 and last:
            yield ""
        if count <= _MAX_NOTES:
            yield from _wrapped(f"Note: {remark}", terminal.width)
    if count > _MAX_NOTES:
        yield f"Note: {_left_out(count)}"


def _in_document(remarks: Sequence[str]) -> Iterator[str]:
    """Yield the first `remarks` for a Markdown document."""
    if remarks:
        shown, count = [*remarks[:_MAX_NOTES]], len(remarks)
        shown += [_left_out(count)] if count > _MAX_NOTES else []
        yield from markdown.details("Notes", [markdown.listed(shown)])


def _left_out(count: int) -> str:
    return f"{count - _MAX_NOTES} more notes are left out; --json has all"


def view_with_notes(
    view: View,
    profile: Profile,
    sources: Sources,
    options: Options,
    remarks: Iterable[str],
) -> Iterator[str]:
    """Yield the lines of a view, and below them its own notes and the `remarks`."""
    lines = view.render(profile, sources, options)
    below = chain(view.notes(profile, options), remarks)
    return with_notes(lines, below, options.terminal)


def _wrapped(text: str, width: int | None) -> list[str]:
    """Return a text as lines of a terminal of that width; one line if it is None."""
    if width is None or len(text) <= width or width < _MIN_WIDTH:
        return [text]

    return wrap(
        text,
        width,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def next_steps(profile: Profile, file: str | os.PathLike[str]) -> list[str]:
    """Return commands that show more of the profile in `file`, each with its subject.

    There are at most two commands; [] for a profile without calls or of few functions.
    The second one shows the function from where the calls branch.
    """
    ran = sum(1 for function in profile.functions if function.thread_lines)
    if not profile.calls.nodes or ran <= _MAX_READABLE:
        return []
    command = f"{python_command()} -m lineprof view"
    name = shell_path(str(file))
    steps = [f"the hottest lines (or --tree, --functions): {command} --hot {name}"]
    start = start_of_drill(profile)
    if start:
        steps.append(
            "down from where the calls branch:"
            f" {command} --drill {shell_word(start)} {name}"
        )
    return steps


def start_of_drill(profile: Profile) -> str:
    """Return the function from where calls branch, as --drill takes it; "" if none."""
    measured = {function.key: function for function in profile.functions}
    chain = functions_to_branch(profile.calls.nodes)
    if not profile.calls.nodes and measured:
        chain = [max(measured, key=lambda key: measured[key].total_ns)]
    known = [key for key in chain if key in measured]
    return target_of(profile, known[-1]) if known else ""


def target_of(profile: Profile, key: Key) -> str:
    """Return the shortest text that --drill takes for one function alone."""
    return not_a_flag(_shortest_target(profile, key))


def not_a_flag(target: str) -> str:
    """Return a target of --drill that does not begin as a flag does."""
    return f"./{target}" if target.startswith("-") else target


def _shortest_target(profile: Profile, key: Key) -> str:
    file, line, name = key
    alike = [one.file for one in profile.functions if one.name == name]
    if name == MODULE:
        starts = [one.file for one in profile.functions if one.line == line]
        if starts.count(file) == 1:
            return names_of_profile(profile).line(file, line)
        return names_of_profile(profile).name(key)
    if len(alike) == 1:
        return name
    names = names_of_profile(profile)
    if alike.count(file) == 1:
        return f"{names.file(file)}:{name}"
    return names.function(key)
