/* A snapshot of all counts of a tracer, as plain tuples.
 *
 * The narrow waist between C and Python: (threads, codes, calls), where
 * threads is a list of (the system's number of the thread, its name), and
 * codes a list of (key, calls, total, total_cost, recursed, lines), in order
 * of registration; lines is a list of (line, thread, hits, ticks, cost,
 * awaited), thread an index in threads; ticks and awaited in the clock's
 * units, costs in those times LP_COST_ONE; calls see snapshot.c.
 * Lines that are open count up to now.
 */
#ifndef LP_MODULE_SNAPSHOT_H
#define LP_MODULE_SNAPSHOT_H

#include "engine/python_compat.h"
#include "engine/tracer.h"

/* [GIL] New tuple, or NULL with an exception. */
PyObject *lp_snapshot_take(const lp_tracer *tracer);

/* The trees of calls of a tracer, as plain tuples. */

/* [GIL] (calls whose way was not kept, nodes), or NULL with an exception.  A
 * node is (index of the one above or -1, line there or 0, serial of the code
 * that was called, thread, calls, primitive calls, ticks and cost: in its own
 * lines, of outermost frames, of all frames).  Those above come first. */
PyObject *lp_calls_snapshot(const lp_tracer *tracer);

/* The cost so far of measuring each code object, beside its counts. */

/* [GIL] A list of (key, code object or None, calls, hits, cost of its own
 * events, ticks in its own lines, cost in these), for each code of the tracer
 * that was called and is not ignored; or NULL with an exception.  Lines that
 * are open are left as they are: they count up to their last event. */
PyObject *lp_costs_snapshot(const lp_tracer *tracer);

/* What threads waited for: the sampler's begin, and what a report is told. */

/* [GIL] (serial, line, thread, cause, ns) of all waits up to the last
 * snapshot; a new list. */
PyObject *lp_snapshot_waits(const lp_tracer *tracer);

/* [GIL] Of the module: waits_blind() -> bool. */
PyObject *lp_snapshot_waits_unavailable(PyObject *module, PyObject *ignored);

#endif
