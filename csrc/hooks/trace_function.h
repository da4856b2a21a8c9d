/* The trace function of the settrace hook.
 *
 * If the thread had a trace function of another tracer, that function is kept
 * in the recorder and called after lineprof's.  If that tracer sets
 * f_trace_lines to False, which would end the line events of both, the
 * attribute is kept true while the frame runs, and line events are withheld
 * from that tracer.  For its other events, and when the frame stops, the other
 * tracer sees the attribute as it set it.
 *
 * In frames of code with hidden starts (bytecode/code_tables.h) lineprof sets
 * f_trace_opcodes.  It is withheld in the same way: the other tracer gets
 * opcode events only if it set the attribute itself.
 *
 * With a frame evaluator, a thread is also traced although no profiled frame
 * entered through the evaluator in two cases: a registered function was
 * already running when its profiler was enabled, or the evaluator is out of
 * the chain to save C stack.
 *
 * Everything here is [GIL].
 */
#ifndef LP_HOOKS_TRACE_FUNCTION_H
#define LP_HOOKS_TRACE_FUNCTION_H

#include "engine/python_compat.h"
#include "record/recorder.h"

/* The trace function for the interpreter; `obj` is the object of the other
 * tracer. */
int lp_trace_function(PyObject *obj, PyFrameObject *frame, int what,
                      PyObject *arg);

/* [GIL] True if lineprof's trace function is installed in this thread. */
static inline bool
lp_trace_is_on(PyThreadState *state)
{
    return state->c_tracefunc == lp_trace_function;
}

/* The trace function that the recorder's thread had before, or NULL. */
Py_tracefunc lp_trace_other(const lp_recorder *rec);
void lp_trace_set_other(lp_recorder *rec, Py_tracefunc other_tracer);

/* [GIL] Install lineprof's trace function, which calls the thread's current
 * one after itself. */
void lp_trace_install(PyThreadState *state, lp_recorder *rec);

/* [GIL] Restore the thread's other trace function. */
void lp_trace_uninstall(PyThreadState *state, lp_recorder *rec);

/* [GIL] Have the interpreter create opcode events of this code, or no longer;
 * the trace function gets those of frames whose f_trace_opcodes is true.  0,
 * or -1 with an exception. */
int lp_trace_opcodes(PyObject *code, bool on);

#if LP_HAVE_FRAME_EVAL

/* [GIL] True if this thread gets events of C calls: while lineprof's is its
 * trace function, and in the comprehensions of a line, which are frames of
 * their own but part of the line. */
bool lp_trace_is_profiling(PyThreadState *state);

/* [GIL] Get events of C calls again. */
void lp_trace_profile(PyThreadState *state);

/* [GIL] Suspend tracing while an unprofiled frame runs this code, except for C
 * calls in a comprehension; and resume it. */
void lp_trace_pause(PyThreadState *state, lp_recorder *rec, PyObject *code);
void lp_trace_resume(PyThreadState *state, lp_recorder *rec, bool was_on);

/* Trace the threads in which registered code is running. */
void lp_trace_threads_running(void);

/* Trace no thread from now on, but for one event where a thread has to pop
 * ranges: there is no tracer. */
void lp_trace_threads_none(void);

/* Trace every thread while the evaluator is out of the chain. */
void lp_trace_threads_all(void);

/* The evaluator is back in the chain: stop tracing a thread that runs no
 * profiled frame. */
void lp_trace_threads_end(PyThreadState *state, lp_recorder *rec);

/* A frame of a thread traced for its running frames returns: stop tracing the
 * thread if that was its last registered frame. */
void lp_trace_threads_check(lp_recorder *rec, PyFrameObject *frame);

#endif

/* [GIL] The other tracer removes itself, maybe in the middle of a frame: note
 * the attributes that it set. */
void lp_frame_wishes_leave(const lp_recorder *rec);

#endif
