/* The trees of calls of a tracer, as plain tuples. */
#ifndef LP_CALLS_SNAPSHOT_H
#define LP_CALLS_SNAPSHOT_H

#include "lp_python.h"
#include "lp_tracer.h"

/* [GIL] (calls whose way was not kept, nodes), or NULL with an exception.  A
 * node is (index of the one above or -1, line there or 0, serial of the code
 * that was called, thread, calls, primitive calls, ticks and cost: in its own
 * lines, of outermost frames, of all frames).  Those above come first. */
PyObject *lp_calls_snapshot(const lp_tracer *tracer);

#endif
