"""Where each function stands in a flame graph: a row a level, widths by time."""

from __future__ import annotations

from dataclasses import dataclass

from lineprof.exports.flames import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.exports.flames import Flame

MOST_LEVELS = 256  # that are drawn
SMALLEST = 2_000  # what takes less than one in so many of the whole is not drawn


@dataclass(frozen=True)
class Box:
    """One function as it is drawn."""

    flame: Flame
    level: int  # 0 below the root
    start_ns: int  # from the left edge


@dataclass(frozen=True)
class Drawing:
    """All that is drawn of one tree, and how many functions of it are not."""

    root: Flame
    boxes: list[Box]  # from the root down, the longest first
    tiny: int
    deep: int

    @property
    def levels(self) -> int:
        """How many rows it has, that of the root among them."""
        return 1 + max((box.level + 1 for box in self.boxes), default=0)


def drawing(root: Flame) -> Drawing:
    """Return what to draw of all below `root`."""
    boxes: list[Box] = []
    tiny = deep = 0
    starts = [0]  # by level: where the next one there starts
    for level, flame in walk(root):
        start = starts[level]
        starts[level:] = [start + flame.ns, start]  # the first below starts there, too
        if flame.ns * SMALLEST < root.ns:
            tiny += bool(flame.ns)  # without time it has no width at all
        elif level >= MOST_LEVELS:
            deep += 1
        elif flame.ns:
            boxes.append(Box(flame, level, start))
    return Drawing(root, boxes, tiny, deep)
