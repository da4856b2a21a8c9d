/* What threads waited for: the sampler's begin, and what a report is told. */
#ifndef LP_WAITS_H
#define LP_WAITS_H

#include "lp_tracer.h"

/* [GIL] The costs of events are known, or are to be: from the former on, look
 * at what blocks threads.  Nobody is to be there while costs are measured, and
 * a test's clock has none. */
void lp_waits_open(void);

/* [GIL] There is none any more. */
void lp_waits_close(void);

/* [GIL] (serial, line, thread, cause, ns) of all waits up to the last
 * snapshot; a new list. */
PyObject *lp_waits_take(const lp_tracer *tracer);

/* [GIL] Of the module: waits_blind() -> bool. */
PyObject *lp_waits_blind(PyObject *module, PyObject *ignored);

#endif
