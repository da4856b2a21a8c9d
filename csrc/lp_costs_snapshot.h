/* What measuring each code object has cost so far, beside what it did. */
#ifndef LP_COSTS_SNAPSHOT_H
#define LP_COSTS_SNAPSHOT_H

#include "lp_python.h"
#include "lp_tracer.h"

/* [GIL] A list of (key, code object or None, calls, hits, cost of its own
 * events, ticks in its own lines, cost in these), for each code of the tracer
 * that was called and is not ignored; or NULL with an exception.  Lines that
 * are open are left as they are: they count up to their last event. */
PyObject *lp_costs_snapshot(const lp_tracer *tracer);

#endif
