/* The trace function of the settrace hook, and who holds a thread's. */
#ifndef LP_TRACE_H
#define LP_TRACE_H

#include "lp_python.h"
#include "lp_recorder.h"

/* Answers the interpreter; the object is that of who traced before us. */
int lp_trace(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg);

/* [GIL] Is it this thread's? */
static inline bool
lp_trace_is_on(PyThreadState *state)
{
    return state->c_tracefunc == lp_trace;
}

/* Who traced the recorder's thread before us, or NULL. */
Py_tracefunc lp_trace_before(const lp_recorder *rec);
void lp_trace_remember(lp_recorder *rec, Py_tracefunc before);

/* [GIL] Make it the thread's, before whoever has it now. */
void lp_trace_take(PyThreadState *state, lp_recorder *rec);

/* [GIL] Give the thread back to who had it before. */
void lp_trace_give(PyThreadState *state, lp_recorder *rec);

#endif
