/* What a decorated function becomes: a callable that enables its tracer for
 * the length of a call, and in all else stands in for the function.
 */
#ifndef LP_WRAPPER_H
#define LP_WRAPPER_H

#include "lp_python.h"
#include "lp_tracer.h"

extern PyType_Spec lp_wrapper_spec;

/* [GIL] New wrapper, or NULL with an exception. */
PyObject *lp_wrapper_new(lp_tracer *tracer, PyObject *func);

#endif
