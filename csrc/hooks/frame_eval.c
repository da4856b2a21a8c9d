#include "hooks/frame_eval.h"

#include <stddef.h>

#include "engine/c_stack.h"
#include "engine/code_copies.h"
#include "engine/discovery.h"
#include "engine/engine.h"
#include "engine/tracer.h"
#include "gpu/nvtx_ranges.h"
#include "hooks/trace_function.h"
#include "record/greenlet_stacks.h"

#if LP_HAVE_FRAME_EVAL

/* The next frame evaluator of the chain; NULL while lineprof's is not in the
 * chain, as far as is known. */
static _PyFrameEvalFunction next_evaluator;
/* True if the evaluator profiles, not only passes frames on. */
static bool is_open;
/* True if the evaluator left the chain to save C stack; see run_detached(). */
static bool is_detached;
/* Number of frames that the evaluator has got. */
static uint64_t frames_evaluated;
/* Number of times the open evaluator was found removed from the chain. */
static uint64_t displaced;

static PyObject *evaluate(PyThreadState *state, lp_raw_frame *frame,
                          int throwing);

static _PyFrameEvalFunction
current_evaluator(void)
{
    return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
}

static void
set_evaluator(_PyFrameEvalFunction evaluator)
{
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluator);
}

/* Pass a frame to the next evaluator.  That evaluator may have installed
 * itself again in front of lineprof's, as torch.compile does for each call of
 * compiled code: then it has already had the frame, and would pass it back
 * endlessly. */
static PyObject *
call_next_evaluator(PyThreadState *state, lp_raw_frame *frame, int throwing)
{
    if (LP_UNLIKELY(next_evaluator != _PyEval_EvalFrameDefault) &&
        (next_evaluator == NULL || next_evaluator == current_evaluator())) {
        next_evaluator = _PyEval_EvalFrameDefault;
    }
    return next_evaluator(state, frame, throwing);
}

/* True if a tracer counts this code now. */
static bool
is_wanted(const lp_code *code)
{
    while (code != NULL && ((code->flags & LP_CODE_IGNORED) ||
                            (!code->tracer->active &&
                             !(code->flags & LP_CODE_ACTIVATES_TRACER)))) {
        code = code->next;
    }
    return code != NULL;
}

/* True if a thread that was traced before a call is to be traced after it: the
 * evaluator may have been closed in the meantime.  Then one event is needed if
 * there are ranges that the thread has to pop. */
static bool
is_still_needed(const lp_recorder *rec)
{
    return is_open || lp_ranges_any(rec);
}

/* The functions that run a frame are not inlined: their C frames stay on the
 * stack while the Python frame runs, the larger one of evaluate() does not. */

/* Run an unprofiled frame, called by a traced frame or from a line whose C
 * calls are counted. */
LP_NOINLINE static PyObject *
run_unprofiled(PyThreadState *state, lp_raw_frame *frame, int throwing,
               lp_recorder *rec)
{
    bool was_on = lp_trace_is_on(state);
    PyObject *result;

    rec->cost += was_on ? rec->costs.plain_call : rec->costs.plain_inner;
    lp_trace_pause(state, rec, lp_raw_frame_code(frame));
    result = call_next_evaluator(state, frame, throwing);
    if (!was_on || is_still_needed(rec)) {
        lp_trace_resume(state, rec, was_on);
    }
    return result;
}

LP_NOINLINE static PyObject *
run_profiled(PyThreadState *state, lp_raw_frame *frame, int throwing)
{
    lp_recorder *rec = lp_threads_here();
    bool was_on = lp_trace_is_on(state),
         was_profiling = lp_trace_is_profiling(state);
    Py_ssize_t depth;
    PyObject *result;

    if (rec == NULL) {
        return call_next_evaluator(state, frame, throwing);
    }
    depth = rec->top - rec->frames;
    if (!was_on) {
        lp_trace_install(state, rec);
    }
    result = call_next_evaluator(state, frame, throwing);
    if (rec->top - rec->frames > depth && !lp_the_engine.greenlets) {
        /* The trace function was replaced, so the frame's return had no event.
         */
        lp_engine_leave_to(rec, depth, lp_clock_now(&rec->clock));
    }
    if (was_on && !lp_trace_is_on(state)) {
        if (is_still_needed(rec)) {
            lp_trace_install(state, rec);
        }
    }
    else if (!was_on && lp_trace_is_on(state) &&
             rec->trace_reason != LP_TRACE_RUNNING_FRAMES &&
             (!lp_the_engine.greenlets ||
              (rec->top == rec->frames && !lp_stacks_any(rec)))) {
        /* (Another greenlet's frames continue without entering here.) */
        lp_trace_uninstall(state, rec);
        if (was_profiling) {
            lp_trace_profile(state);
        }
    }
    return result;
}

/* Leave the chain that lp_frame_eval_called() has entered. */
static void
leave_detached(void)
{
    if (current_evaluator() == evaluate) {
        set_evaluator(next_evaluator);
    }
}

/* Run the frame, and those below it, without a trace function of lineprof's:
 * the interpreter uses more C stack for each call of a C function while it is
 * on. */
LP_NOINLINE static PyObject *
run_unmeasured(PyThreadState *state, lp_raw_frame *frame, int throwing,
               lp_recorder *rec)
{
    PyObject *result;

    lp_c_stack_skip((uint64_t)(rec->top - rec->frames));
    lp_trace_uninstall(state, rec);
    result = call_next_evaluator(state, frame, throwing);
    if (!lp_trace_is_on(state) && is_open) {
        lp_trace_install(state, rec);
    }
    return result;
}

/* The evaluator got a frame while it is detached. */
LP_NOINLINE static PyObject *
run_below_detached(PyThreadState *state, lp_raw_frame *frame, int throwing,
                   lp_recorder *rec)
{
    leave_detached();
    if (lp_c_stack_is_short() && rec != NULL && lp_trace_is_on(state)) {
        return run_unmeasured(state, frame, throwing, rec);
    }
    return call_next_evaluator(state, frame, throwing);
}

/* Run the frame, and those below it, with the evaluator out of the chain.
 * 3.11 runs calls from Python to Python without the C stack, but not if a
 * frame evaluator is set: deep recursion that works without lineprof would end
 * the process.  So where the stack is deep the evaluator leaves the chain, and
 * the trace function stays on in every thread, and gets calls by itself. Below
 * another evaluator lineprof's stays in the chain, because the other one uses
 * the C stack anyway. */
LP_NOINLINE static PyObject *
run_detached(PyThreadState *state, lp_raw_frame *frame, int throwing)
{
    lp_recorder *rec;
    PyObject *result;

    is_detached = true;
    lp_trace_threads_all();
    set_evaluator(next_evaluator);
    result = next_evaluator(state, frame, throwing);
    leave_detached();
    is_detached = false;
    next_evaluator = NULL;
    if (is_open) { /* may have been closed in the meantime */
        lp_frame_eval_open();
    }
    rec = lp_current_recorder;
    if (rec != NULL) {
        lp_trace_threads_end(state, rec);
    }
    return result;
}

static PyObject *
evaluate(PyThreadState *state, lp_raw_frame *frame, int throwing)
{
    lp_recorder *rec = lp_current_recorder;
    const lp_code *code;

    frames_evaluated++;
    if (LP_UNLIKELY(!is_open)) {
        lp_frame_eval_close(); /* a later evaluator may be gone by now */
        return call_next_evaluator(state, frame, throwing);
    }
    if (lp_thread_is_tracing(state)) {
        return call_next_evaluator(state, frame, throwing);
    }
    if (LP_UNLIKELY(is_detached)) {
        return run_below_detached(state, frame, throwing, rec);
    }
    if (LP_UNLIKELY(lp_c_stack_is_deep()) && current_evaluator() == evaluate) {
        return run_detached(state, frame, throwing);
    }
    code = lp_code_of(lp_raw_frame_code(frame));
    if (code == NULL && lp_copies_at_calls && !throwing) {
        code = lp_copies_ask(lp_raw_frame_code(frame));
        rec = lp_current_recorder;
    }
    if (LP_UNLIKELY(lp_discovery_on) && code == NULL && !throwing) {
        code = lp_discovery_ask(lp_raw_frame_code(frame),
                                lp_raw_frame_globals(frame));
        rec = lp_current_recorder;
    }
    if (code != NULL && is_wanted(code)) {
        return run_profiled(state, frame, throwing);
    }
    if (rec != NULL) {
        if (LP_UNLIKELY(rec->trace_reason == LP_TRACE_ALL_CALLS)) {
            lp_trace_threads_end(state, rec);
        }
        if (lp_trace_is_on(state) ||
            LP_UNLIKELY(lp_trace_is_profiling(state))) {
            return run_unprofiled(state, frame, throwing, rec);
        }
        rec->cost += rec->costs.plain_inner;
    }
    return call_next_evaluator(state, frame, throwing);
}

int
lp_frame_eval_check(void)
{
    PyThreadState *state = PyThreadState_Get();
    PyFrameObject *frame = PyThreadState_GetFrame(state);
    lp_raw_frame *raw = lp_raw_frame_current(state);
    PyObject *code = NULL;
    bool known = true;

    if (frame != NULL && raw != NULL) {
        code = (PyObject *)PyFrame_GetCode(frame);
        known = lp_raw_frame_code(raw) == code;
    }
    Py_XDECREF(code);
    Py_XDECREF(frame);
    if (!known) {
        PyErr_SetString(PyExc_RuntimeError,
                        "this build of Python keeps its frames in a way that "
                        "is not known");
        return -1;
    }
    return 0;
}

/* True if the evaluator is in the chain below a newer one; runs a frame to
 * find out. */
static bool
is_reached(void)
{
    uint64_t before = frames_evaluated;
    PyObject *type, *value, *traceback, *names;

    PyErr_Fetch(&type, &value, &traceback);
    names = PyDict_New();
    if (names != NULL) {
        Py_XDECREF(PyRun_String("0", Py_eval_input, names, names));
    }
    Py_XDECREF(names);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return frames_evaluated != before;
}

/* True if the evaluator was removed from the chain.  Another evaluator that
 * ends restores the one that it found: if it came before lineprof's, that
 * removes lineprof's without notice. */
static bool
is_displaced(void)
{
    _PyFrameEvalFunction now = current_evaluator();

    return now != evaluate && !is_detached &&
           (now == _PyEval_EvalFrameDefault || !is_reached());
}

static void
attach(void)
{
    if (current_evaluator() != evaluate) {
        next_evaluator = current_evaluator();
        set_evaluator(evaluate);
    }
}

void
lp_frame_eval_open(void)
{
    is_open = true;
    if (next_evaluator == NULL ? !is_detached : is_displaced()) {
        attach();
    }
}

void
lp_frame_eval_close(void)
{
    _PyFrameEvalFunction now = current_evaluator();

    displaced += is_open && is_displaced();
    is_open = false;
    if (is_detached) {
        return;
    }
    /* A newer evaluator goes on calling lineprof's, which from now on only
     * passes frames on. */
    if (now == evaluate) {
        set_evaluator(next_evaluator);
    }
    if (now == evaluate || now == _PyEval_EvalFrameDefault) {
        next_evaluator = NULL;
    }
}

void
lp_frame_eval_called(void)
{
    if (is_detached && lp_c_stack_is_deep() && lp_c_stack_is_short() &&
        current_evaluator() == next_evaluator) {
        set_evaluator(evaluate);
    }
}

uint64_t
lp_frame_eval_displaced(void)
{
    if (is_open && is_displaced()) {
        displaced++;
        attach();
    }
    return displaced;
}

#endif
