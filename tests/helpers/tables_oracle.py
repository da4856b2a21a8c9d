"""The tables of a code object in pure Python, with which those of the core agree.

See csrc/bytecode/code_tables.h. The two share no code.
"""

from __future__ import annotations

import dis
import functools
import itertools
import opcode
import sys
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import CodeType

Step = tuple[int, int, int]  # offset, opcode, where it jumps to or -1
Span = tuple[int, int]

_INLINED = sys.version_info >= (3, 12)  # comprehensions run in their function
# From 3.14 on `hasjrel` lists it as a jump: its argument is the offset of an END_SEND.
_NO_JUMP = opcode.opmap.get("END_ASYNC_FOR", -1)
_JUMPS = frozenset(opcode.hasjrel) - {_NO_JUMP}
_CACHE = opcode.opmap.get("CACHE", -1)
_PUSH_EXC_INFO = opcode.opmap.get("PUSH_EXC_INFO", -1)
_BUILD_SLICE = opcode.opmap.get("BUILD_SLICE", -1)
_TESTS_OF_LOOPS = frozenset(
    number for name, number in opcode.opmap.items() if "POP_JUMP_BACKWARD" in name
)
_SPECIALIZED = frozenset(
    opcode.opmap.get(name, -1)
    for name in (
        *("BINARY_SUBSCR", "LOAD_ATTR", "LOAD_GLOBAL", "LOAD_METHOD", "PRECALL"),
        *("STORE_ATTR", "STORE_SUBSCR", "UNPACK_SEQUENCE"),
    )
)
_EXTENDED = opcode.EXTENDED_ARG
_OPCODES = 256  # that bytecode can hold
_SWAP = opcode.opmap.get("SWAP", -1)
# The two that end a loop's iterator. From 3.14 on neither begins a line, nor does the
# next instruction, if it is on the line of the one before them.
_END_FOR, _POP_ITER = opcode.opmap.get("END_FOR", -1), opcode.opmap.get("POP_ITER", -1)


class UnknownBytecodeError(Exception):
    """Bytecode of a Python that is newer than this module, with unknown opcodes."""


def _numbers(*names: str) -> frozenset[int]:
    return frozenset(opcode.opmap[name] for name in names if name in opcode.opmap)


def _caches(op: int) -> int:
    """Return the number of cache entries that follow an instruction."""
    known = getattr(opcode, "_inline_cache_entries", {})
    if sys.version_info >= (3, 13):  # by name
        return int(known.get(opcode.opname[op], 0))
    return int(known[op])


class JumpTarget(NamedTuple):
    """The target of a kind of jump: `base` + `step` * argument bytes from the jump."""

    base: int
    step: int


def _jump_target(op: int) -> JumpTarget:
    back = "JUMP_BACKWARD" in opcode.opname[op]
    return JumpTarget(2 + 2 * _caches(op), -2 if back else 2)


_JUMP_TARGETS = {op: _jump_target(op) for op in _JUMPS if op < _OPCODES}

_CALLED = _numbers(*(("CALL", "PUSH_NULL") if sys.version_info >= (3, 14) else ()))
_HEADS = _numbers("FOR_ITER", "GET_ANEXT")
_ITERATES = _numbers("GET_ITER", "GET_AITER")
# Jumps that may go back to a loop's head.
_BACKWARD = frozenset(
    op
    for op in _JUMP_TARGETS
    if not opcode.opname[op].endswith("NO_INTERRUPT")
    and "BACKWARD" in opcode.opname[op]
)
_ENDS = frozenset(  # the next instruction does not run after these
    number
    for name, number in opcode.opmap.items()
    if name.startswith(("RETURN", "RERAISE", "RAISE_VARARGS", "JUMP_"))
    and "_IF_" not in name
)
# Of 3.12 and later; a newer Python may have others.
_KNOWN_JUMPS = (
    "FOR_ITER SEND JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT"
    " POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE"
)
_NEEDED = frozenset("EXTENDED_ARG FOR_ITER GET_ITER JUMP_FORWARD".split())  # noqa: SIM905

_UNKNOWN_JUMPS = _INLINED and not _NEEDED.union(_KNOWN_JUMPS.split()).issubset(
    opcode.opmap
)

# Opcodes that may be in bytecode that is read here.
_KNOWN = frozenset(
    number
    for number, name in enumerate(opcode.opname[:_OPCODES])
    if not name.startswith("<")
    and not (_INLINED and number in _JUMPS and name not in _KNOWN_JUMPS.split())
)


class Jump(NamedTuple):
    """A jump back to the head of a loop."""

    start: int  # byte offsets
    target: int
    in_comprehension: bool


class LoopTest(NamedTuple):
    """The last test of a `while` on one line: byte offsets."""

    test: int
    jump: int
    body: int


def loop_tests(code: CodeType, statement_of: Callable[[int], int]) -> list[LoopTest]:
    """Return the tests before jumps back that stand before the block, too.

    Both have the same position in the source. `statement_of` returns the first line of
    the statement at a byte offset, 0 if there is none.
    """
    steps = _steps(code.co_code)
    places = {offset: place for place, (offset, _, _) in enumerate(steps)}
    positions = list(code.co_positions())

    def before(end: int, body: int, least: int) -> range:
        """Return the places before `end` that may be of a test of the loop."""
        first = end
        while first > least:
            offset, op, target = steps[first - 1]
            line = statement_of(offset)
            elsewhere = line not in (0, statement_of(steps[end][0]))
            leaves = op in _ENDS and target < 0
            repeats = 0 <= target <= offset and places[target] != body
            if elsewhere or leaves or repeats:
                break
            first -= 1
        return range(first, end)

    def key(place: int) -> tuple[object, ...] | None:
        offset, op, _ = steps[place]
        position = positions[offset // 2]
        return None if position[2] is None else (op, *position)

    found = []
    for jump, (offset, op, target) in enumerate(steps):
        if op not in _BACKWARD & _ENDS or not 0 <= target <= offset:
            continue
        body = places[target]
        statement = statement_of(offset)
        if (
            steps[body][1] in _HEADS
            or statement_of(target) != statement
            or not statement
        ):
            continue
        _, last, exits = steps[body - 1]  # of the first test, to an outer loop
        end = body - 1 if last in _ENDS and 0 <= exits < target else body
        known = {key(place) for place in before(end, body, 0)} - {None}
        for place in before(jump, body, body):
            if steps[place][1] not in _NO_EVENTS and key(place) in known:
                found.append(LoopTest(steps[place][0], offset, target))
                break
    return found


def loop_jumps(code: CodeType) -> list[Jump]:
    """Return the jumps back to the head of a loop.

    A comprehension's loop head follows a SWAP, which puts the result below the
    iterator; that of ``all()`` follows a call. A loop statement creates its iterator
    itself and has no result. Jumps inside an ``await``, and those from an exception
    handler at the end back to where it was raised, are no loops; before 3.12 there are
    none of the latter. Raises UnknownBytecodeError for an unknown opcode.
    """
    raw = code.co_code
    if _UNKNOWN_JUMPS or not _KNOWN.issuperset(raw[::2]):
        raise UnknownBytecodeError
    if _BACKWARD.isdisjoint(raw[::2]):
        return []
    steps = _steps(raw)
    places = {step[0]: place for place, step in enumerate(steps)}
    if not places.keys() >= {target for _, _, target in steps if target != -1}:
        raise UnknownBytecodeError
    jumps = []
    for offset, op, target in steps:
        if target < 0 or target > offset or op not in _BACKWARD:
            continue
        place = places[target]
        head = steps[place][1]
        is_loop = head in _HEADS or _repeats(code, steps, place, offset)
        if is_loop or not _INLINED:
            inner = _INLINED and head in _HEADS and _is_comprehension(steps, place)
            jumps.append(Jump(offset, target, in_comprehension=inner))
    return jumps


def jumps_without_event(code: CodeType) -> list[int]:
    """Return the offsets of backward jumps for which Python has no line event.

    There an outer loop of a comprehension continues after an inner one: the interpreter
    regards the jump as part of the line where the inner one began.
    """
    raw = code.co_code
    if _POP_ITER < 0 or _POP_ITER not in raw[::2]:
        return []
    steps = _steps(raw)
    reached = {target for _, _, target in steps}
    lines = _lines(code)
    found = []
    for place, (offset, op, _) in enumerate(steps):
        first = place
        while steps[first - 1][1] == _EXTENDED:
            first -= 1
        if (
            op in _BACKWARD
            and [step[1] for step in steps[first - 2 : first]] == [_END_FOR, _POP_ITER]
            and steps[first][0] not in reached
            and lines[steps[first - 3][0]] == lines[offset]
        ):
            found.append(offset)
    return found


def _lines(code: CodeType) -> list[int | None]:
    """Return the line of each byte."""
    lines: list[int | None] = [None] * len(code.co_code)
    for start, end, line in code.co_lines():
        lines[start:end] = [line] * (end - start)
    return lines


def targets(code: CodeType) -> list[int]:
    """Return the target offsets of jumps."""
    return [target for _, _, target in _steps(code.co_code) if target >= 0]


def handlers(code: CodeType) -> list[int]:
    """Return the offsets of exception handlers."""
    entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    return [entry.target for entry in entries]


@functools.lru_cache(maxsize=4)  # a table is built in many steps of the same code
def _steps(raw: bytes) -> tuple[Step, ...]:
    """Return the instructions without caches."""
    steps = []
    extended = 0
    for offset in range(0, len(raw), 2):
        op = raw[offset]
        if op == _CACHE:
            continue
        arg = raw[offset + 1] | extended
        extended = arg << 8 if op == _EXTENDED else 0
        target = -1
        if op in _JUMP_TARGETS:
            kind = _JUMP_TARGETS[op]
            target = offset + kind.base + kind.step * arg
        steps.append((offset, op, target))
    return tuple(steps)


def _is_comprehension(steps: Sequence[Step], head: int) -> bool:
    """Return whether the instruction at `head` is a comprehension's loop head."""
    before = [step[1] for step in steps[max(0, head - 2) : head]]
    if before and before[-1] in _ITERATES:
        before.pop()
        return before[-1:] == [_SWAP]  # from 3.15 on
    return before[-1:] == [_SWAP] or not _CALLED.isdisjoint(before[-1:])


def _repeats(code: CodeType, steps: Sequence[Step], head: int, offset: int) -> bool:
    """Return whether the jump at `offset` to the instruction at `head` makes a loop.

    An exception leads to the end of an asynchronous loop. What follows in the same
    expression may be at the end of the code, and jump back to where that goes on: no
    loop, as there is another way to the jump.
    """
    exceptions = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    ends = [entry for entry in exceptions if code.co_code[entry.target] == _NO_JUMP]
    places = {step[0]: place for place, step in enumerate(steps)}

    def reached(starts: Iterable[int], ends: Sequence[Any], around: int = -1) -> bool:
        seen = {around}
        pending = list(starts)
        while pending:
            place = pending.pop()
            if place in seen or place >= len(steps):
                continue
            seen.add(place)
            at, op, target = steps[place]
            if at == offset:
                return True
            if target >= 0:
                pending.append(places[target])
            pending += [places[end.target] for end in ends if end.start <= at < end.end]
            if op not in _ENDS:
                pending.append(place + 1)
        return False

    if reached([head], ()) or not reached([head], ends):
        return reached([head], ())
    starts = [place for place, step in enumerate(steps) if step[1] == _PUSH_EXC_INFO]
    begin = next(place for place, step in enumerate(steps) if step[1] == _RESUME)
    if reached([begin], ends):
        starts = [begin]
    return not reached(starts, ends, head)


def for_loops(code: CodeType) -> list[int]:
    """Return the offsets of the FOR_ITER to which a jump goes."""
    raw, head = code.co_code, opcode.opmap["FOR_ITER"]
    return [label for label in dict.fromkeys(targets(code)) if raw[label] == head]


LOOP_BACK, COMPREHENSION = 1, 2  # lp_line_entry in csrc/record/recorder.h

# LP_MARK_NO_LINE_EVENT and LP_MARK_TESTED in csrc/bytecode/code_tables.h
_NO_LINE_EVENT, _TESTED = 4, 16

# Opcodes without which a function has no comprehension. From 3.14 on all(), any() and
# tuple() of a generator expression are loops of the function that calls them.
_OF_COMPREHENSIONS = {
    opcode.opmap.get(name, -1)
    for name in ("LOAD_FAST_AND_CLEAR", "FOR_ITER")
    if _INLINED and (name != "FOR_ITER" or sys.version_info >= (3, 14))
}
# Two `with` on one line: the inner one jumps back after it has suppressed an exception.
_WITH = _numbers("BEFORE_WITH", "BEFORE_ASYNC_WITH", "LOAD_SPECIAL")


def jump_marks(
    code: CodeType, tests: Sequence[LoopTest], *, statements: bool
) -> bytes | None:
    """Return a byte for each instruction: 0, or the kind of the backward jump to it.

    From 3.12 on the jumps themselves are also marked, because the event of one that
    stays on its line comes at its start. Returns None if no marks are needed;
    `statements` is true if a statement has several lines. Before 3.12 they always are.
    `tests` are of this code.
    """
    codes = code.co_code[::2]
    if _INLINED and not (
        statements
        or tests
        or any(number in codes for number in _OF_COMPREHENSIONS)
        or sum(map(codes.count, _WITH)) > 1
    ):
        return None
    jumps, without_event = loop_jumps(code), jumps_without_event(code)
    # The loops of an inlined comprehension lie inside its outermost one.
    regions = [(jump.target, jump.start) for jump in jumps if jump.in_comprehension]
    marks = bytearray(len(code.co_code) // 2)
    for jump in jumps:
        within = any(first <= jump.target <= last for first, last in regions)
        mark = COMPREHENSION if within else LOOP_BACK
        marks[jump.target // 2] = mark
        if _INLINED:
            marks[jump.start // 2] = mark
    for start in without_event if regions else ():
        marks[start // 2] |= _NO_LINE_EVENT
    for test in real_tests(tests, marks):
        marks[test.jump // 2] |= _TESTED
        marks[test.body // 2] |= _TESTED
    return bytes(marks)  # all 0 if there is no loop


def real_tests(tests: Sequence[LoopTest], marks: Sequence[int]) -> list[LoopTest]:
    """Return the tests whose jump repeats a loop, which is no comprehension's."""
    kinds = [marks[test.jump // 2] & ~_TESTED for test in tests]
    return [test for test, kind in zip(tests, kinds, strict=True) if kind == LOOP_BACK]


# lp_line_event and the LP_START_... in csrc/bytecode/code_tables.h
BY_LINE, BY_LINE_UNLESS_SLOW, BY_INSTRUCTION = range(3)
START_OF_CALL, HIDDEN, REPEATS = 1 << 31, 1 << 30, 1 << 29

# What follows an END_FOR is the target of a jump, and has a LINE event.
_TELLS_OF_LOOP_ENDS = sys.version_info < (3, 14)
_FAR_IS_SLOW = (3, 12) <= sys.version_info < (3, 14)
_NEAR = range(-126, 128)  # distances that a byte holds
_BYTES_PER_LINE = 64  # of bytecode, by which a line is expected
_END_SEND = opcode.opmap.get("END_SEND", -1)
# Instructions without events of their own, or without a line of the program.
_NO_EVENTS = {
    opcode.opmap[name]
    for name in ("END_FOR", "END_SEND", "END_ASYNC_FOR", "POP_ITER", "RESUME")
    if name in opcode.opmap
}


def are_far(code: CodeType, ranges: Iterable[tuple[int, int, int]]) -> bool:
    """Return whether a line of `ranges`, (start, end, line) in bytes, is far down."""
    first = code.co_firstlineno
    if not _FAR_IS_SLOW:
        return False
    return any(
        line - first - place // _BYTES_PER_LINE not in _NEAR
        for start, end, line in ranges
        for place in (start, end - 2)
    )


def line_starts(
    code: CodeType, ranges: Iterable[tuple[int, int, int]], first: int
) -> bytes:
    """Return for each instruction 1 + the index of a line that may begin there, or 0.

    A line begins at a handler, and where control comes from an instruction of another
    line, or through one that has no events, such as an END_FOR. `START_OF_CALL` marks
    the first instruction of a call, unless it is one of a loop or handler, `HIDDEN`
    those for which the interpreter has no LINE event.
    """
    raw = code.co_code
    lines = memoryview(_line_table(code, ranges)).cast("I")
    jumps = [(start, end) for start, _, end in _steps(raw) if end >= 0]
    table = _zeros("I", len(raw) // 2)
    begin = _start(code)
    all_steps = [offset for offset, _, _ in _steps(raw)]
    steps = [offset for offset in all_steps if offset > begin >= 0]
    call = steps[0] if steps else None
    having_events = [offset for offset in steps if raw[offset] not in _NO_EVENTS]
    changes = having_events[:1] + [
        offset
        for before, offset in itertools.pairwise(having_events)
        if lines[offset // 2] != lines[before // 2]
    ]
    after_quiet = [
        offset
        for before, offset in itertools.pairwise([begin, *steps])
        if lines[offset // 2] != (lines[before // 2] if before != begin else 0)
    ]
    landings = [
        place
        for start, end in jumps
        for passed, place in [_landing(raw, all_steps, end)]
        if raw[end] != _END_SEND  # all that leads there is of its line
        and {lines[one // 2] for one in (start, *passed)} != {lines[place // 2]}
    ]
    told = {*changes, *handlers(code), *(end for _, end in jumps)}
    if _TELLS_OF_LOOP_ENDS:
        told.update(_landing(raw, all_steps, end)[1] for _, end in jumps)
    for offset in (*changes, *after_quiet, *landings, *handlers(code)):
        if raw[offset] not in _NO_EVENTS and lines[offset // 2]:
            hidden = HIDDEN if offset not in told else 0
            table[offset // 2] = (1 + lines[offset // 2] - first) | hidden
    again = {*handlers(code), *(end for _, end in jumps)}
    if call is not None and call not in again and table[call // 2]:
        table[call // 2] |= START_OF_CALL
    return table.tobytes()


def _landing(raw: bytes, steps: list[int], target: int) -> tuple[list[int], int]:
    """Return the instructions from a target to the first with events, and that one."""
    place = steps.index(target)
    end = place
    while raw[steps[end]] in _NO_EVENTS and end + 1 < len(steps):
        end += 1
    return steps[place:end], steps[end]


_STEPS = 0x20 | 0x80 | 0x200  # flags of generators and coroutines
_LONG_SEARCH = 64  # lines; see line_of() of csrc/hooks/trace_function.c
_MAX_LINES = 1 << 22  # of one function: line numbers further apart are invalid
_COUNTS_INSTRUCTIONS = sys.version_info < (3, 12)  # tracing slows each of them
_RESUME = opcode.opmap.get("RESUME", -1)
_EXTENDED_ARG = opcode.opmap.get("EXTENDED_ARG", -1)  # untraced, with what follows
_FOR_ITER = opcode.opmap.get("FOR_ITER", -1)
_YIELD = opcode.opmap.get("YIELD_VALUE", -1)
_CACHE = opcode.opmap.get("CACHE", -1)
_OWN_SCOPES = frozenset(("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"))


class Tables(NamedTuple):
    """The tables, None for those that say nothing."""

    first_line: int
    n_lines: int
    start: int
    is_far: bool
    statements: bytes | None
    instructions: bytes | None
    specialized: bytes | None
    marks: bytes | None
    resumes: bytes | None
    starts: bytes | None


def build_tables(code: CodeType, spans: Iterable[Span], event: int) -> Tables | None:
    """Return the tables of `code`, or None if its line numbers are invalid.

    `spans` are those of its file's statements, `event` is an lp_line_event.
    """
    ranges = _within(code, list(_merged(code.co_lines())))
    numbers = [line for _, _, line in ranges]
    if not numbers:
        return None
    numbers.append(max(1, code.co_firstlineno))  # a lambda may start above its body
    first, last = min(numbers), max(numbers)
    if last - first >= _MAX_LINES:
        return None
    n_lines = last - first + 1
    statements = _statement_table(code, first, n_lines, spans)
    in_steps = bool(code.co_flags & _STEPS)
    far = are_far(code, ranges)
    lines = memoryview(_line_table(code, ranges)).cast("I")
    known = memoryview(statements).cast("I") if statements else [0] * n_lines

    def statement_of(offset: int) -> int:
        line = lines[offset // 2]
        return first + known[line - first] - 1 if line and known[line - first] else line

    tests = loop_tests(code, statement_of) if _INLINED else []
    marks = jump_marks(code, tests, statements=statements is not None)
    starts = None
    by_instruction = event == BY_INSTRUCTION or (far and event != BY_LINE)
    if _INLINED and _start(code) >= 0:
        table = memoryview(bytearray(line_starts(code, ranges, first))).cast("I")
        for test in real_tests(tests, marks or ()):
            line = lines[test.test // 2]
            table[test.test // 2] = (1 + line - first) | HIDDEN | REPEATS
        starts = table.tobytes()
        if not by_instruction:
            starts = hidden_alone(starts)
    instructions = specialized = None
    if _INLINED:
        specialized = _slow_starts(code, ranges, first, n_lines)
    else:
        instructions, specialized = _instruction_tables(code, ranges, first, n_lines)
    has_resumes = (
        in_steps
        or marks
        or starts
        or n_lines > _LONG_SEARCH
        or _has_loop_in_line(code, ranges)
    )
    return Tables(
        first_line=first,
        n_lines=n_lines,
        start=_start(code),
        is_far=far,
        statements=statements,
        instructions=instructions,
        specialized=specialized,
        marks=marks,
        resumes=_line_table(code, ranges) if _INLINED and has_resumes else None,
        starts=starts,
    )


def hidden_alone(starts: bytes) -> bytes | None:
    """Return the starts that are hidden, or None if there are none."""
    some = [start if start & HIDDEN else 0 for start in memoryview(starts).cast("I")]
    return array("I", some).tobytes() if any(some) else None


def _merged(
    ranges: Iterable[tuple[int, int, int | None]],
) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, line) of adjacent instructions of one line, in bytes.

    `ranges` has several for one line, by column, and some that have no line.
    """
    begin = last = current = 0
    for start, end, line in ranges:
        if line == current and start == last:
            last = end
            continue
        if current > 0 and begin < last:
            yield begin, last, current
        begin, last, current = start, end, line or 0
    if current > 0 and begin < last:
        yield begin, last, current


def _within(
    code: CodeType, ranges: list[tuple[int, int, int]]
) -> list[tuple[int, int, int]]:
    """Return `ranges` up to the end of the bytecode.

    The line table of code that a program made may go on beyond it.
    """
    size = len(code.co_code)
    if not ranges or ranges[-1][1] <= size:
        return ranges
    return [
        (start, min(end, size), line) for start, end, line in ranges if start < size
    ]


def _start(code: CodeType) -> int:
    """Return the byte offset of the RESUME that begins a call, or -1."""
    raw = code.co_code
    for offset in range(0, len(raw), 2):
        if raw[offset] == _RESUME and raw[offset + 1] & 3 == 0:
            return offset
    return -1


def _zeros(kind: str, count: int) -> memoryview[int]:
    """Return a table of `count` zeros: "H" of 16 bits, "I" of 32."""
    size = 2 if kind == "H" else 4
    return memoryview(bytearray(size * count)).cast(kind)  # type: ignore[call-overload,no-any-return]


def _slow_starts(
    code: CodeType, ranges: Iterable[tuple[int, int, int]], first: int, n_lines: int
) -> bytes | None:
    """Return 1 for each line that begins with a global.

    Not for the head of a loop, unless all of the loop is in its line.
    """
    table = _zeros("H", n_lines)
    steps = _steps(code.co_code)
    offsets = [offset for offset, _, _ in steps]
    for begin, end, line in ranges:
        some = slice(bisect_left(offsets, begin), bisect_left(offsets, end))
        run = [op for _, op, _ in steps[some]]
        while run and run[0] in _NO_EVENTS:
            run.pop(0)
        is_head = _FOR_ITER in run and _BACKWARD.isdisjoint(run)
        if run[:1] == [opcode.opmap["LOAD_GLOBAL"]] and not is_head:
            table[line - first] = 1
    return table.tobytes() if any(table) else None


def _instruction_tables(
    code: CodeType, ranges: Iterable[tuple[int, int, int]], first: int, n_lines: int
) -> tuple[bytes, bytes]:
    """Return the number of instructions by line, and of those that are specialized."""
    counts, special = _zeros("H", n_lines), _zeros("H", n_lines)
    raw = code.co_code
    opcodes = raw[::2]
    loops = for_loops(code) if _FOR_ITER in opcodes else []
    steps = _steps(raw)
    tests = [(offset, to) for offset, op, to in steps if op in _TESTS_OF_LOOPS]
    handlers = [offset for offset, op, _ in steps if op == _PUSH_EXC_INFO] or [len(raw)]
    parts: dict[int, dict[str, list[list[int]]]] = {}
    for begin, whole_end, line in ranges:
        end = min(whole_end, handlers[0]) if begin < handlers[0] else whole_end
        start = max((head for head in loops if begin <= head < end), default=begin)
        inside = [(test, to) for test, to in tests if start <= test < end]
        last = max((test + 2 for test, _ in inside), default=end)
        start = min((to for _, to in inside if start < to < end), default=start)
        run = opcodes[start // 2 : last // 2]
        before = opcodes[start // 2 - 1 : last // 2 - 1] if start else b"\0" + run
        found = [
            len(run) - run.count(_EXTENDED_ARG) - run.count(_CACHE),
            sum(
                op in _SPECIALIZED and one != _BUILD_SLICE
                for one, op in zip(before, run)
            ),
        ]
        if _YIELD in run:  # half of them run before the yield
            found = [(count + 1) // 2 for count in found]
        kind = "in a handler" if begin >= handlers[0] else "usual"
        if inside or any(begin <= head < end for head in loops):
            kind = "head of a loop"
        parts.setdefault(line, {}).setdefault(kind, []).append(found)
    for line, kinds in parts.items():
        # One event tells of one part. What is in a handler, or beside a loop's head,
        # seldom runs.
        some = kinds.get("usual") or kinds.get("in a handler", [])
        some = kinds.get("head of a loop", [])[-1:] or some
        for table, column in zip((counts, special), zip(*some)):
            table[line - first] = min(-(-sum(column) // len(some)), 0xFFFF)
    return counts.tobytes(), special.tobytes()


def _has_loop_in_line(code: CodeType, ranges: Iterable[tuple[int, int, int]]) -> bool:
    """Return whether a line has a jump back to itself."""
    lines = memoryview(_line_table(code, ranges)).cast("I")
    return any(
        op in _BACKWARD and lines[target // 2] == lines[offset // 2]
        for offset, op, target in _steps(code.co_code)
    )


def _line_table(code: CodeType, ranges: Iterable[tuple[int, int, int]]) -> bytes:
    table = _zeros("I", len(code.co_code) // 2)
    for start, end, line in ranges:
        for place in range(start // 2, end // 2):
            table[place] = line
    return table.tobytes()


def _statement_table(
    code: CodeType, first: int, n_lines: int, spans: Iterable[Span]
) -> bytes | None:
    if code.co_name in _OWN_SCOPES or n_lines == 1:
        return None
    if code.co_name == "<lambda>":
        spans = ((first, first + n_lines - 1),)
    table = _zeros("I", n_lines)
    own = {line for _, _, line in code.co_lines() if line}
    for start, end in spans:
        if start < first or start >= first + n_lines:
            continue
        # The head of the function itself runs in another code object.
        is_after = [code.co_firstlineno < line <= end for line in own]
        if start <= code.co_firstlineno and not any(is_after):
            continue
        for line in range(start, min(end, first + n_lines - 1) + 1):
            table[line - first] = 1 + start - first
    return table.tobytes() if any(table) else None
