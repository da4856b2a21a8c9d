"""Random sample of a Cosmic Ray session: all other mutants are marked as skipped.

    python mutate_sample.py SESSION COUNT SEED

A line is drawn, then one of its mutants: lines with many operators count no more
than others. Run by mutate_python.py in an environment that has Cosmic Ray.
"""

from __future__ import annotations

import random
import sys

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import WorkerOutcome, WorkResult


def main() -> None:
    """Mark the mutants that are not drawn."""
    session, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    lines: dict[tuple[object, ...], list[str]] = {}
    with use_db(session, WorkDB.Mode.open) as database:
        items = {}
        for item in database.pending_work_items:
            (one,) = item.mutations
            place = (str(one.module_path), *one.start_pos, *one.end_pos)
            items[*place, one.operator_name, one.occurrence] = item.job_id
        for mutant in sorted(items):  # job ids are random
            lines.setdefault(mutant[:2], []).append(items[mutant])
        draw = random.Random(seed)  # noqa: S311  # no secret
        drawn = draw.sample(sorted(lines), min(count, len(lines)))
        kept = {draw.choice(lines[line]) for line in drawn}
        left_out = [job for job in items.values() if job not in kept]
        skipped = WorkResult(worker_outcome=WorkerOutcome.SKIPPED)
        database.set_multiple_results(left_out, skipped)
    print(len(kept), "of", len(items), "mutants on", len(lines), "lines")


if __name__ == "__main__":
    main()
