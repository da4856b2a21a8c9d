#include "hooks/frame_eval.h"

#include <pthread.h>
#include <stddef.h>

#include "engine/discovery.h"
#include "engine/engine.h"
#include "engine/tracer.h"
#include "hooks/trace_function.h"

#if LP_HAVE_FRAME_EVAL

/* Below this address little of the C stack is left; 0 before it was found out.
 */
static _Thread_local uintptr_t stack_floor;

/* Find it out. */
static void
measure_stack(void)
{
    stack_floor = 1; /* never low, where it can't be told */
#  ifdef __linux__
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        stack_floor = (uintptr_t)low + bytes / 2;
    }
    pthread_attr_destroy(&attributes);
#  endif
}

/* [ANY] Is less than half of the stack left? */
static bool
stack_is_low(void)
{
    if (LP_UNLIKELY(stack_floor == 0)) {
        measure_stack();
    }
    return (uintptr_t)__builtin_frame_address(0) < stack_floor;
}

/* The next frame evaluator of the chain; NULL while ours is not in the chain,
 * as far as we know. */
static _PyFrameEvalFunction next;
/* True if the evaluator does more than pass frames on. */
static bool is_open;
/* True if it left the chain to save C stack; see run_detached(). */
static bool is_detached;
/* Frames that came by. */
static uint64_t passed;
/* The number of times the open evaluator was found out of the chain. */
static uint64_t displaced;

static PyObject *evaluate(PyThreadState *state, lp_raw_frame *frame,
                          int throwing);

static _PyFrameEvalFunction
top(void)
{
    return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
}

static void
set_top(_PyFrameEvalFunction evaluator)
{
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluator);
}

/* Hand a frame down the chain.  The evaluator that was there before ours may
 * come again in front of it, as torch.compile does for each call of what it
 * compiled: then it has had the frame already, and would hand it back for
 * ever. */
static PyObject *
hand_down(PyThreadState *state, lp_raw_frame *frame, int throwing)
{
    if (LP_UNLIKELY(next != _PyEval_EvalFrameDefault) &&
        (next == NULL || next == top())) {
        next = _PyEval_EvalFrameDefault;
    }
    return next(state, frame, throwing);
}

/* Does anybody count this code just now? */
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

/* A frame of no interest, called by one that is traced, or on whose line calls
 * of C are heard of. */
static PyObject *
run_unprofiled(PyThreadState *state, lp_raw_frame *frame, int throwing,
               lp_recorder *rec)
{
    bool was_on = lp_trace_is_on(state);
    PyObject *result;

    rec->cost += was_on ? rec->costs.plain_call : rec->costs.plain_inner;
    lp_trace_pause(state, rec, lp_raw_frame_code(frame));
    result = hand_down(state, frame, throwing);
    lp_trace_resume(state, rec, was_on);
    return result;
}

static PyObject *
run_profiled(PyThreadState *state, lp_raw_frame *frame, int throwing)
{
    lp_recorder *rec = lp_threads_here();
    bool was_on = lp_trace_is_on(state), heard = lp_trace_is_profiling(state);
    Py_ssize_t depth;
    PyObject *result;

    if (rec == NULL) {
        return hand_down(state, frame, throwing);
    }
    depth = rec->top - rec->frames;
    if (!was_on) {
        lp_trace_take(state, rec);
    }
    result = hand_down(state, frame, throwing);
    if (rec->top - rec->frames > depth && !lp_the_engine.greenlets) {
        /* Somebody took the trace function: the frame left unheard. */
        lp_engine_leave_to(rec, depth, lp_clock_now(&rec->clock));
    }
    if (was_on && !lp_trace_is_on(state)) {
        lp_trace_take(state, rec);
    }
    else if (!was_on && lp_trace_is_on(state) &&
             (rec->top == rec->frames || !lp_the_engine.greenlets)) {
        /* (Another greenlet's frames go on without passing here.) */
        lp_trace_give(state, rec);
        if (heard) {
            lp_trace_profile(state);
        }
    }
    return result;
}

/* 3.11 runs calls from Python to Python without the stack of C, but not where
 * a frame evaluator is set: deep recursion that would do well by itself would
 * end the process.  So far down ours leaves the chain, the trace function
 * goes on in every thread, and hears of calls by itself.  Below another
 * evaluator ours remains: that one takes the stack anyway. */
static PyObject *
run_detached(PyThreadState *state, lp_raw_frame *frame, int throwing)
{
    lp_recorder *rec;
    PyObject *result;

    is_detached = true;
    lp_trace_threads_all();
    set_top(next);
    result = next(state, frame, throwing);
    is_detached = false;
    next = NULL;
    if (is_open) { /* it may have been closed meanwhile */
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

    passed++;
    if (LP_UNLIKELY(!is_open)) {
        lp_frame_eval_close(); /* whoever came after us may be gone by now */
        return hand_down(state, frame, throwing);
    }
    if (lp_thread_is_tracing(state)) {
        return hand_down(state, frame, throwing);
    }
    if (LP_UNLIKELY(stack_is_low()) && !is_detached && top() == evaluate) {
        return run_detached(state, frame, throwing);
    }
    code = lp_code_of(lp_raw_frame_code(frame));
    if (LP_UNLIKELY(lp_discovery_on) && code == NULL && !throwing) {
        code = lp_discovery_ask(lp_raw_frame_code(frame));
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
    return hand_down(state, frame, throwing);
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

/* Is our evaluator in the chain below a newer one?  Run a frame to see. */
static bool
is_reached(void)
{
    uint64_t before = passed;
    PyObject *type, *value, *traceback, *names;

    PyErr_Fetch(&type, &value, &traceback);
    names = PyDict_New();
    if (names != NULL) {
        Py_XDECREF(PyRun_String("0", Py_eval_input, names, names));
    }
    Py_XDECREF(names);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return passed != before;
}

/* An evaluator that ends puts back what it found: where that was before our
 * time, ours is out of the chain without notice. */
static bool
is_displaced(void)
{
    _PyFrameEvalFunction now = top();

    return now != evaluate && !is_detached &&
           (now == _PyEval_EvalFrameDefault || !is_reached());
}

static void
attach(void)
{
    if (top() != evaluate) {
        next = top();
        set_top(evaluate);
    }
}

void
lp_frame_eval_open(void)
{
    is_open = true;
    if (next == NULL ? !is_detached : is_displaced()) {
        attach();
    }
}

void
lp_frame_eval_close(void)
{
    _PyFrameEvalFunction now = top();

    displaced += is_open && is_displaced();
    is_open = false;
    if (is_detached) {
        return;
    }
    /* Where another evaluator came after us, it goes on calling ours,
     * which from now on only passes frames on. */
    if (now == evaluate) {
        set_top(next);
    }
    if (now == evaluate || now == _PyEval_EvalFrameDefault) {
        next = NULL;
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
