/* Calls Python from inside a hook without side effects on the profiled
 * program: tracing is off, the current exception is saved, and signals are
 * blocked, because an exception raised by a signal handler is meant for the
 * program.
 */
#ifndef LP_ENGINE_PYTHON_CALL_H
#define LP_ENGINE_PYTHON_CALL_H

#include <signal.h>

#include "engine/python_compat.h"
#include "record/own_work.h"

typedef struct lp_python_call {
    PyObject *type, *value,
        *traceback; /* owned: the exception of the program */
    sigset_t signals;
    lp_own_work work;
} lp_python_call;

/* [GIL] */
void lp_python_call_begin(lp_python_call *self);

/* [GIL] Drop an exception raised in the meantime, restore the program's, and
 * charge the time to no line: see own_work.h. */
void lp_python_call_end(lp_python_call *self);

/* What all such calls took: the ticks that are part of the recorders' cost,
 * and processor time in ns. */
typedef struct lp_python_call_totals {
    lp_ticks ticks;
    uint64_t cpu_ns;
} lp_python_call_totals;

/* [GIL] */
lp_python_call_totals lp_python_calls(void);

#endif
