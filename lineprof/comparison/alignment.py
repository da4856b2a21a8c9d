"""Alignment of two versions of a program: which files, functions and lines match.

Everything here compares text. Functions are keys (file, first line, name), and lines of
a function are indexes into its block of source. The work is bounded: no input makes it
quadratic in the size of a program.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from lineprof.model.records import Key

    Block = Sequence[str] | None  # the lines of a function; None: unknown
    BlockOf = Callable[[Key], Block]

    Pairs = list[tuple[int, int]]  # indexes of lines of the first and second text

    # Two functions that may be versions of one, and a rank: the best have the smallest.
    Candidate = tuple[float, Key, Key]

# Minimum similarity, from 0 to 1, of lines and functions that count as the same.
_MIN_LINE, _MIN_FUNCTION, _MIN_NAMESAKE = 0.5, 0.6, 0.3
_MIN_ONLY_LINE = 0.25  # of one line that stands where one other line stood

_MAX_MATCHED = 1_000_000  # pairs of lines in one call of difflib
_MAX_GAP = 2_500  # pairs of lines between two matched neighbours
_MAX_SIMILAR = 1_000_000  # pairs of lines that are compared by words, in all: 1 s
_MAX_SCANNED = 2_000  # letters of a line whose comments are looked for
_MAX_HEAD = 100  # lines of decorators and parameters

_MAX_SHARED = 20  # functions with one line, above which the line tells nothing
_MAX_COUNTED = 500_000  # functions with a line of another one, in all: 1 s
_MAX_CANDIDATES = 5  # functions that one function is compared with
_MIN_SHORT_BODY = 20  # letters of a body of one line that tell anything

_MAX_PARTS = 64  # of a path, from its end, that are compared

_PACKAGE_FILES = frozenset({"__init__.py", "__main__.py"})  # named by their folders

_STRING_COMMENT_OR_BLANK = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|#.*|\s+"""
)

_HEAD = re.compile(r"\s*(async\s+def|def|class|cdef|cpdef)\b")

_WORD = re.compile(r"\w+|[-+*/%&|^~<>=!@]")


# Files.


def paired_files(before: Iterable[str], after: Iterable[str]) -> dict[str, str]:
    """Return the files of `before` that `after` also has, and their names there.

    A file with the same path goes first, then one with the longest common end of
    the path. Names of files are equal; for ``__init__.py`` the folders also are.
    """
    rest_before, rest_after = {*before}, {*after}
    found = {file: file for file in rest_before & rest_after}
    ends_before = _by_end(rest_before - found.keys())
    ends_after = _by_end(rest_after - found.keys())
    taken: set[str] = set()
    shared = ends_before.keys() & ends_after.keys()
    for end in sorted(shared, key=lambda end: (-len(end), end)):
        if len(end) == 1 and end[0] in _PACKAGE_FILES:
            continue
        ones = [file for file in ends_before[end] if file not in found]
        others = [file for file in ends_after[end] if file not in taken]
        for one, other in zip(ones, others):
            found[one] = other
            taken.add(other)
    return found


def _by_end(files: Iterable[str]) -> dict[tuple[str, ...], list[str]]:
    """Return the files with each end of a path, which is a tuple of its last parts."""
    ends: dict[tuple[str, ...], list[str]] = {}
    for file in sorted(files):
        parts = tuple(file.split("/"))[-_MAX_PARTS:]
        for start in range(len(parts)):
            ends.setdefault(parts[start:], []).append(file)
    return ends


# Functions.


def paired_functions(
    before: Collection[Key],
    after: Collection[Key],
    block_before: BlockOf,
    block_after: BlockOf,
) -> dict[Key, Key]:
    """Return the functions of `before` that `after` also has, and their keys there.

    Functions match by file and qualified name. Those left over, which were renamed or
    moved to another file, match by the similarity of their source.
    """
    files = paired_files(_files(before), _files(after))
    found: dict[Key, Key] = {}
    groups: dict[tuple[str, str], list[Key]] = {}
    for key in sorted(after):
        groups.setdefault((key[0], key[2]), []).append(key)
    namesakes: dict[tuple[str, str], list[Key]] = {}
    for key in sorted(before):
        name = (files.get(key[0], "\0") if key[0] else "", key[2])
        if name in groups:
            namesakes.setdefault(name, []).append(key)
    for name, keys in namesakes.items():
        found.update(_paired_namesakes(keys, groups[name], block_before, block_after))
    taken = {*found.values()}
    lost = [key for key in sorted(before) if key not in found and key[0]]
    new = [key for key in sorted(after) if key not in taken and key[0]]
    if lost and new:
        found.update(_paired_by_source(lost, new, block_before, block_after))
    return found


def _files(keys: Iterable[Key]) -> Iterator[str]:
    return (file for file, _, _ in keys if file)


def _paired_namesakes(
    before: list[Key], after: list[Key], block_before: BlockOf, block_after: BlockOf
) -> dict[Key, Key]:
    """Return pairs of functions of one file that have one name, such as lambdas.

    The same source goes first, then the order of lines.
    """
    if len(before) == len(after) == 1:
        return {before[0]: after[0]}
    by_text: dict[tuple[str, ...], list[Key]] = {}
    for key in after:
        by_text.setdefault(_body(block_after(key)), []).append(key)
    found: dict[Key, Key] = {}
    for key in before:
        same = by_text.get(_body(block_before(key)))
        if same:
            found[key] = same.pop(0)
    taken = {*found.values()}
    rest = [key for key in before if key not in found]
    found.update(zip(rest, [key for key in after if key not in taken]))
    return found


def _paired_by_source(
    before: list[Key], after: list[Key], block_before: BlockOf, block_after: BlockOf
) -> dict[Key, Key]:
    """Return pairs of functions with similar source, each function once."""
    bodies = {key: _body(block_after(key)) for key in after}
    index = _SourceIndex(bodies)
    candidates = [
        candidate
        for key in before
        for candidate in index.candidates(key, _body(block_before(key)))
    ]
    found: dict[Key, Key] = {}
    taken: set[Key] = set()
    for _, one, other in sorted(candidates):
        if one not in found and other not in taken:
            found[one] = other
            taken.add(other)
    return found


class _SourceIndex:
    """Lookup of functions by the lines of their source."""

    def __init__(self, bodies: dict[Key, tuple[str, ...]]) -> None:
        self._bodies = bodies
        self._by_line: dict[str, list[Key]] = {}
        self._by_body: dict[tuple[str, ...], list[Key]] = {}
        self._by_name: dict[str, list[Key]] = {}
        self._room = _MAX_COUNTED
        for key, body in bodies.items():
            self._by_body.setdefault(body, []).append(key)
            self._by_name.setdefault(key[2], []).append(key)
            for line in dict.fromkeys(body):
                self._by_line.setdefault(line, []).append(key)

    def candidates(self, key: Key, body: tuple[str, ...]) -> Iterator[Candidate]:
        """Yield the functions that may be a version of `key`, which has this body."""
        namesakes = self._by_name.get(key[2], [])[:_MAX_CANDIDATES]
        if not body:  # unknown source: a unique name has to do
            if len(namesakes) == 1 and not key[2].startswith("<"):
                yield 1.0, key, namesakes[0]
            return
        shared: Counter[Key] = Counter()
        for line in dict.fromkeys(body):
            functions = self._by_line.get(line, ())
            if len(functions) <= _MAX_SHARED and self._room > 0:
                self._room -= len(functions)
                shared.update(functions)
        near = sorted(shared, key=lambda other: (-shared[other], other))
        same = self._by_body.get(body, [])[:_MAX_CANDIDATES]
        for other in dict.fromkeys([*namesakes, *same, *near[:_MAX_CANDIDATES]]):
            similarity = _similarity(body, self._bodies[other])
            is_namesake = _last_name(key) == _last_name(other)
            enough = _MIN_NAMESAKE if is_namesake else _MIN_FUNCTION
            if len(body) == 1 and not is_namesake and len(body[0]) < _MIN_SHORT_BODY:
                continue
            if similarity >= enough:
                is_near = key[0].rpartition("/")[2] == other[0].rpartition("/")[2]
                bonus = 0.1 * is_namesake + 0.05 * is_near
                yield 1 - similarity - bonus, key, other


def _similarity(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Return twice the lines that both have, by the number of lines in both."""
    shared = sum((Counter(one) & Counter(other)).values())
    return 2 * shared / (len(one) + len(other)) if one and other else 0.0


def _last_name(key: Key) -> str:
    return key[2].rpartition(".")[2]


def _body(block: Block) -> tuple[str, ...]:
    """Return the code of a function without its first lines, blanks and comments.

    It is empty if the source is unknown. The head has the name, which may have changed.
    """
    lines = list(block or ())
    for index, line in enumerate(lines):
        if _HEAD.match(line):
            rest = tuple(filter(None, map(_code_of, lines[index + 1 :])))
            return rest or (_code_of(line),)
    return tuple(filter(None, map(_code_of, lines)))


def _code_of(line: str) -> str:
    """Return a line without blanks and comments; "" if it has nothing else."""
    if len(line) > _MAX_SCANNED:
        return "".join(line.split())
    return _STRING_COMMENT_OR_BLANK.sub(lambda found: found[1] or "", line)


# Lines.


def block_of(lines: Sequence[str], first_line: int, last_line: int) -> Sequence[str]:
    """Return the lines of a function that starts at `first_line`, by indentation.

    It is much faster than a tokenizer. A string over several lines may look like the
    end of the function: so the block goes on to `last_line` in any case, the last one
    that was measured.
    """
    start = first_line - 1
    rows = range(start, min(start + _MAX_HEAD, len(lines)))
    head = next((row for row in rows if _HEAD.match(lines[row])), start)
    width = _indent(lines[head]) if head < len(lines) else 0
    end = head + 1
    is_head = True
    while end < len(lines):
        line = lines[end]
        text = line.strip()
        if text and not text.startswith("#") and _indent(line) <= width:
            # The end of parameters stands below their ``def``.
            if not (is_head and text[0] in ")]}"):
                break
            is_head = False
        end += 1
    return lines[start : max(end, min(last_line, len(lines)))]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


class LineMatcher:
    """Matching of the lines of many functions, with a bound on the work for all."""

    def __init__(self) -> None:
        self._room = _MAX_SIMILAR

    def pairs(self, before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
        """Return the indexes of lines of `before` to those of the same in `after`.

        Lines match in order by their exact text, then by their text without blanks and
        comments; then, if they were moved, by a text that each side has once. Those
        left over match by similarity between matched neighbours, and at last by a text
        that no other of them has. Blank lines match none.
        """
        if before == after:
            return {index: index for index in range(len(before))}
        ones = [index for index, line in enumerate(before) if line.strip()]
        others = [index for index, line in enumerate(after) if line.strip()]
        texts = [before[index].rstrip() for index in ones]
        other_texts = [after[index].rstrip() for index in others]
        pairs = _in_gaps([], texts, other_texts)
        if len(pairs) < min(len(ones), len(others)):
            codes, other_codes = [*map(_code_of, texts)], [*map(_code_of, other_texts)]
            pairs = _in_gaps(pairs, codes, other_codes)
            moved = _unique_in_both(
                pairs, [text.strip() for text in texts], [*map(str.strip, other_texts)]
            )
            moved += _unique_in_both([*pairs, *moved], codes, other_codes)
            # Words end at blanks, which the codes no longer have.
            similar = self._similar(pairs, moved, texts, other_texts)
            pairs += [*moved, *similar]
            pairs += _moved(pairs, codes, other_codes)
        return {ones[one]: others[other] for one, other in sorted(pairs)}

    def _similar(
        self, pairs: Pairs, moved: Pairs, before: Sequence[str], after: Sequence[str]
    ) -> Pairs:
        """Return pairs of similar lines between `pairs`, those that match in order.

        Lines that were `moved` have a match elsewhere.
        """
        found: Pairs = []
        gone, come = {one for one, _ in moved}, {other for _, other in moved}
        for gap, other_gap in _gaps(pairs, len(before), len(after)):
            ones = [index for index in gap if index not in gone]
            others = [index for index in other_gap if index not in come]
            size = len(ones) * len(others)
            words = [_words_of(before[one]) for one in ones]
            other_words = [_words_of(after[other]) for other in others]
            inner: Pairs = []
            if size == 1:
                alike = _likeness(words[0], other_words[0]) >= _MIN_ONLY_LINE
                inner = [(0, 0)] if alike else []
            elif size <= min(_MAX_GAP, self._room):
                self._room -= size
                inner = _best_pairs(words, other_words)
            elif len(ones) == len(others):  # the same place has to do
                inner = [
                    (index, index)
                    for index, both in enumerate(zip(words, other_words))
                    if _likeness(*both) >= _MIN_LINE
                ]
            found += [(ones[one], others[other]) for one, other in inner]
        return found


def _gaps(pairs: Pairs, before: int, after: int) -> Iterator[tuple[range, range]]:
    """Yield the lines between two pairs, if there are any on both sides."""
    for (one, other), (next_one, next_other) in pairwise(
        [(-1, -1), *pairs, (before, after)]
    ):
        gap = range(one + 1, next_one), range(other + 1, next_other)
        if all(gap):
            yield gap


def _in_gaps(pairs: Pairs, before: Sequence[str], after: Sequence[str]) -> Pairs:
    """Return `pairs` with those of equal lines between them, in order."""
    found = list(pairs)
    for ones, others in _gaps(pairs, len(before), len(after)):
        found += [
            (ones[one], others[other])
            for one, other in _equal(
                before[ones.start : ones.stop], after[others.start : others.stop]
            )
            if before[ones[one]]  # a comment alone is no code
        ]
    return sorted(found)


def _equal(before: Sequence[str], after: Sequence[str]) -> Pairs:
    """Return pairs of equal lines, in the order of both."""
    start = _equal_at_start(before, after)
    # Those at the end, among the others: a line cannot be in two pairs.
    end = _equal_at_start(before[start:][::-1], after[start:][::-1])
    ones, others = before[start : len(before) - end], after[start : len(after) - end]
    pairs = [(index, index) for index in range(start)]
    anchors: Pairs = []
    if len(ones) * len(others) > _MAX_MATCHED:
        anchors = _unique_in_order(ones, others)
    inner = list(anchors)
    for gap, other_gap in _gaps(anchors, len(ones), len(others)):
        if len(gap) * len(other_gap) <= _MAX_MATCHED:
            matcher = SequenceMatcher(
                None,
                ones[gap.start : gap.stop],
                others[other_gap.start : other_gap.stop],
            )
            for one, other, size in matcher.get_matching_blocks():
                inner += [(gap[one + n], other_gap[other + n]) for n in range(size)]
    pairs += [(start + one, start + other) for one, other in sorted(inner)]
    pairs += [(len(before) - n, len(after) - n) for n in range(end, 0, -1)]
    return pairs


def _equal_at_start(before: Sequence[str], after: Sequence[str]) -> int:
    """Return how many lines at the start are equal."""
    both = enumerate(zip(before, after))
    unequal = (index for index, (one, other) in both if one != other)
    return next(unequal, min(len(before), len(after)))


def _unique_in_order(before: Sequence[str], after: Sequence[str]) -> Pairs:
    """Return the longest row of lines that both texts have once, in order of both."""
    pairs = _unique_pairs(before, after)
    # The longest increasing row, by the last line of each shorter row.
    last: list[int] = []
    at: list[int] = []
    above: list[int] = []
    for number, (_, other) in enumerate(pairs):
        length = bisect_left(last, other)
        last[length : length + 1] = [other]
        at[length : length + 1] = [number]
        above.append(at[length - 1] if length else -1)
    row: Pairs = []
    number = at[-1] if at else -1
    while number >= 0:
        row.append(pairs[number])
        number = above[number]
    return row[::-1]


def _unique_pairs(before: Sequence[str], after: Sequence[str]) -> Pairs:
    """Return pairs of lines that both texts have once, in order of `before`."""
    places = _places_of_unique(after)
    return [
        (index, places[line])
        for line, index in _places_of_unique(before).items()
        if line in places
    ]


def _places_of_unique(lines: Sequence[str]) -> dict[str, int]:
    """Return the index of each line that is there once, in order."""
    counts = Counter(lines)
    return {line: index for index, line in enumerate(lines) if counts[line] == 1}


def _best_pairs(before: list[frozenset[str]], after: list[frozenset[str]]) -> Pairs:
    """Return the pairs of lines, in order, whose similarities have the greatest sum."""
    # The greatest sum for the first lines of both, as of a longest common subsequence.
    sums = [[0.0] * (len(after) + 1) for _ in range(len(before) + 1)]
    for one, words in enumerate(before, 1):
        above, row = sums[one - 1], sums[one]
        for other, other_words in enumerate(after, 1):
            best = max(above[other], row[other - 1])
            likeness = _likeness(words, other_words)
            if likeness >= _MIN_LINE:
                best = max(best, above[other - 1] + likeness)
            row[other] = best
    pairs: Pairs = []
    one, other = len(before), len(after)
    while one and other:
        best = sums[one][other]
        if best == sums[one - 1][other]:
            one -= 1
        elif best == sums[one][other - 1]:
            other -= 1
        else:
            one, other = one - 1, other - 1
            pairs.append((one, other))
    return pairs[::-1]


def _words_of(line: str) -> frozenset[str]:
    """Return the words and operators of a line, which tell how similar two are."""
    if len(line) <= _MAX_SCANNED:
        line = _STRING_COMMENT_OR_BLANK.sub(lambda found: found[1] or " ", line)
    return frozenset(_WORD.findall(line[:_MAX_SCANNED]))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return twice the words that both lines have, by the number in both."""
    both = len(one) + len(other)
    return 2 * len(one & other) / both if both else 0.0


def _unique_in_both(pairs: Pairs, before: Sequence[str], after: Sequence[str]) -> Pairs:
    """Return pairs of lines without one, whose text both sides have once."""
    taken, others_taken = {one for one, _ in pairs}, {other for _, other in pairs}
    return [
        (one, other)
        for one, other in _unique_pairs(before, after)
        if before[one] and one not in taken and other not in others_taken
    ]


def _moved(pairs: Pairs, before: Sequence[str], after: Sequence[str]) -> Pairs:
    """Return pairs of lines that changed places: nothing else left has their text."""
    taken, others_taken = {one for one, _ in pairs}, {other for _, other in pairs}
    rest = [index for index in range(len(before)) if index not in taken]
    others = [index for index in range(len(after)) if index not in others_taken]
    texts, other_texts = [before[one] for one in rest], [after[one] for one in others]
    found = _unique_pairs(texts, other_texts)
    return [(rest[one], others[other]) for one, other in found if texts[one]]
