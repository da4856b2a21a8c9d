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

#if LP_HAVE_GATE

/* [GIL] Is this thread told of calls of C?  It is where ours is its trace
 * function, and in the comprehensions of a line, which are frames of their
 * own, but part of it. */
bool lp_trace_hears(PyThreadState *state);

/* [GIL] Be told again. */
void lp_trace_hear(PyThreadState *state);

/* [GIL] Tell nothing while a frame of no interest runs this code, but of calls
 * of C in a comprehension; and go on as before. */
void lp_trace_lend(PyThreadState *state, lp_recorder *rec, PyObject *code);
void lp_trace_take_back(PyThreadState *state, lp_recorder *rec, bool was_on);

#endif

#endif
