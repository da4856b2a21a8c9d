/* Python is called for our own sake, in the midst of a program: what traces it
 * hears nothing, what it raised stays raised, and signals wait until it goes
 * on, for what their handlers raise is meant for the program.
 */
#ifndef LP_ENGINE_PYTHON_CALL_H
#define LP_ENGINE_PYTHON_CALL_H

#include <signal.h>

#include "engine/python_compat.h"
#include "record/clock.h"

typedef struct lp_aside {
    PyObject *type, *value, *traceback; /* owned: of the program */
    sigset_t signals;
    lp_ticks began;
} lp_aside;

/* [GIL] */
void lp_aside_begin(lp_aside *self);

/* [GIL] What was raised meanwhile is dropped; the time is no line's. */
void lp_aside_end(lp_aside *self);

#endif
