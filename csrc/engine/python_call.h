/* Calls Python from inside a hook without side effects on the profiled
 * program: tracing is off, the current exception is saved, and signals are
 * blocked, for an exception that a signal handler raises is meant for the
 * program.
 */
#ifndef LP_ENGINE_PYTHON_CALL_H
#define LP_ENGINE_PYTHON_CALL_H

#include <signal.h>

#include "engine/python_compat.h"
#include "record/clock.h"

typedef struct lp_python_call {
    PyObject *type, *value, *traceback; /* owned: of the program */
    sigset_t signals;
    lp_ticks began;
} lp_python_call;

/* [GIL] */
void lp_python_call_begin(lp_python_call *self);

/* [GIL] What was raised meanwhile is dropped; the time is no line's. */
void lp_python_call_end(lp_python_call *self);

#endif
