/* A snapshot of all counts of a tracer, as plain tuples.
 *
 * The narrow waist between C and Python: (threads, codes, calls), where
 * threads is a list of (thread id of the operating system, name), and codes a
 * list of (key, calls, total, total_cost, recursed, lines, serial), in order
 * of registration; lines is bytes with an lp_line_row for each line and
 * thread, thread an index in threads; times are in the clock's units, costs in
 * those times LP_COST_ONE; for calls see lp_calls_snapshot.  Lines that are
 * open count up to now.
 */
#ifndef LP_MODULE_SNAPSHOT_H
#define LP_MODULE_SNAPSHOT_H

#include "arithmetic/call_times.h"
#include "engine/python_compat.h"
#include "engine/tracer.h"
#include "record/calls.h"

/* [GIL] Return a new tuple, or NULL with an exception. */
PyObject *lp_snapshot_take(const lp_tracer *tracer);

/* [GIL] Return the call trees of a tracer: (calls whose call path was not
 * kept, bytes with an lp_call_row for each node), or NULL with an exception.
 * Parents come first. */
PyObject *lp_calls_snapshot(const lp_tracer *tracer);

/* [GIL] Return the cost of measuring each code object so far, with its counts:
 * a list of (key, code object or None, calls, hits, cost of its own events,
 * ticks in its own lines, cost in these), for each code of the tracer that was
 * called and is not ignored; or NULL with an exception.  Open lines are left
 * as they are: they count up to their last event. */
PyObject *lp_costs_snapshot(const lp_tracer *tracer);

/* [GIL] Return (serial, line, thread, cause, ns) of all waits up to the last
 * snapshot; a new list. */
PyObject *lp_snapshot_waits(const lp_tracer *tracer);

/* [GIL] Return the lines of one code object in one thread as lp_line_rows;
 * new bytes, or NULL with an exception. */
PyObject *lp_snapshot_lines(lp_code_counters *counters, uint32_t first_line);

/* Fill in the counts of a node. */
void lp_snapshot_node(lp_call_row *row, const lp_node *node);

/* [GIL] Append the waits of one line in one thread to a list.  0, or -1 with
 * an exception. */
int lp_snapshot_add_wait(PyObject *list, const lp_off_cpu_line *line,
                         uint32_t serial, uint32_t first_line,
                         Py_ssize_t thread);

/* [GIL] Module function off_cpu_unavailable() -> bool. */
PyObject *lp_snapshot_waits_unavailable(PyObject *module, PyObject *ignored);

#endif
