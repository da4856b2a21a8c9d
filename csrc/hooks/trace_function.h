/* The trace function of the settrace hook.
 *
 * Another tracer's function that the thread had before is kept in the recorder
 * and called after ours.  If that tracer switches f_trace_lines off, which
 * would end the line events of everybody, the attribute is true while the
 * frame runs, line events are withheld from that tracer, and for its other
 * events, and when the frame stops, it finds the attribute as it left it.
 *
 * With a frame evaluator, threads are also traced although no profiled frame
 * entered through it: if a registered function ran already when its profiler
 * was enabled, or while the evaluator is out of the chain for the stack's
 * sake.
 *
 * Everything here is [GIL].
 */
#ifndef LP_HOOKS_TRACE_FUNCTION_H
#define LP_HOOKS_TRACE_FUNCTION_H

#include "engine/python_compat.h"
#include "record/recorder.h"

/* Answers the interpreter; the object is that of who traced before us. */
int lp_trace_function(PyObject *obj, PyFrameObject *frame, int what,
                      PyObject *arg);

/* [GIL] Is it this thread's? */
static inline bool
lp_trace_is_on(PyThreadState *state)
{
    return state->c_tracefunc == lp_trace_function;
}

/* The tracer that the recorder's thread had before, or NULL. */
Py_tracefunc lp_trace_other(const lp_recorder *rec);
void lp_trace_set_other(lp_recorder *rec, Py_tracefunc other_tracer);

/* [GIL] Make it the thread's, before whoever has it now. */
void lp_trace_install(PyThreadState *state, lp_recorder *rec);

/* [GIL] Give the thread back to who had it before. */
void lp_trace_uninstall(PyThreadState *state, lp_recorder *rec);

#if LP_HAVE_FRAME_EVAL

/* [GIL] Is this thread told of calls of C?  It is where ours is its trace
 * function, and in the comprehensions of a line, which are frames of their
 * own, but part of it. */
bool lp_trace_is_profiling(PyThreadState *state);

/* [GIL] Be told again. */
void lp_trace_profile(PyThreadState *state);

/* [GIL] Tell nothing while a frame of no interest runs this code, but of calls
 * of C in a comprehension; and go on as before. */
void lp_trace_pause(PyThreadState *state, lp_recorder *rec, PyObject *code);
void lp_trace_resume(PyThreadState *state, lp_recorder *rec, bool was_on);

/* Trace the threads in which registered code runs. */
void lp_trace_threads_running(void);

/* Trace every thread, while our evaluator is out of the chain. */
void lp_trace_threads_all(void);

/* Our evaluator is back: a thread that runs no profiled frame is no longer
 * traced. */
void lp_trace_threads_end(PyThreadState *state, lp_recorder *rec);

/* A frame of such a thread returns: was it the last of interest? */
void lp_trace_threads_check(lp_recorder *rec, PyFrameObject *frame);

#endif

/* [GIL] The other tracer takes itself off, maybe in the middle of a frame. */
void lp_f_trace_lines_leave(const lp_recorder *rec);

#endif
