/* All that a tracer has counted, as plain tuples.
 *
 * The narrow waist between C and Python: (threads, codes, calls), where
 * threads is a list of (the system's number of the thread, its name), and
 * codes a list of (key, calls, total, total_cost, recursed, lines), in order
 * of registration; lines is a list of (line, thread, hits, ticks, cost,
 * awaited), thread an index in threads; ticks and awaited in the clock's
 * units, costs in those times LP_COST_ONE; calls see lp_calls_snapshot.h.
 * Lines that are open count up to now.
 */
#ifndef LP_SNAPSHOT_H
#define LP_SNAPSHOT_H

#include "lp_python.h"
#include "lp_tracer.h"

/* [GIL] New tuple, or NULL with an exception. */
PyObject *lp_snapshot_take(const lp_tracer *tracer);

#endif
