#include "lp_gate.h"

#if LP_HAVE_GATE

#  include "lp_arm.h"
#  include "lp_engine.h"
#  include "lp_stack.h"
#  include "lp_trace.h"
#  include "lp_tracer.h"

/* Who evaluates frames when the gate has passed them. */
static _PyFrameEvalFunction next;
/* Whether the gate does more than pass frames on. */
static bool is_open;
/* Whether it left the chain, for the stack's sake; see run_aside(). */
static bool is_aside;

/* Does anybody count this code just now? */
static bool
is_wanted(const lp_code *code)
{
    while (code != NULL && !code->tracer->active &&
           !(code->flags & LP_CODE_ENABLES)) {
        code = code->next;
    }
    return code != NULL;
}

/* A frame of no interest, called by one that is traced. */
static PyObject *
run_plain(PyThreadState *state, lp_raw_frame *frame, int throwing,
          lp_recorder *rec)
{
    PyObject *result;

    rec->cost += rec->costs.plain_call;
    lp_trace_give(state, rec);
    result = next(state, frame, throwing);
    if (!lp_trace_is_on(state)) {
        lp_trace_take(state, rec);
    }
    return result;
}

static PyObject *
run_profiled(PyThreadState *state, lp_raw_frame *frame, int throwing)
{
    lp_recorder *rec = lp_threads_here();
    bool was_on = lp_trace_is_on(state);
    Py_ssize_t depth;
    PyObject *result;

    if (rec == NULL) {
        return next(state, frame, throwing);
    }
    depth = rec->top - rec->frames;
    if (!was_on) {
        lp_trace_take(state, rec);
    }
    result = next(state, frame, throwing);
    if (rec->top - rec->frames > depth && !lp_process.strict) {
        /* Somebody took the trace function: the frame left unheard. */
        lp_engine_leave_to(rec, depth, lp_clock_now(&rec->clock));
    }
    if (was_on && !lp_trace_is_on(state)) {
        lp_trace_take(state, rec);
    }
    else if (!was_on && lp_trace_is_on(state) &&
             (rec->top == rec->frames || !lp_process.strict)) {
        /* (Another greenlet's frames go on without passing here.) */
        lp_trace_give(state, rec);
    }
    return result;
}

static void
set_evaluator(_PyFrameEvalFunction evaluator)
{
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluator);
}

static PyObject *gate(PyThreadState *state, lp_raw_frame *frame, int throwing);

/* 3.11 runs calls from Python to Python without the stack of C, but not where
 * a frame evaluator is set: deep recursion that would do well by itself would
 * end the process.  So far down the gate leaves the chain, the trace function
 * goes on in every thread, and hears of calls by itself. */
static PyObject *
run_aside(PyThreadState *state, lp_raw_frame *frame, int throwing)
{
    lp_recorder *rec;
    PyObject *result;

    is_aside = true;
    lp_arm_all();
    set_evaluator(next);
    result = next(state, frame, throwing);
    is_aside = false;
    if (is_open) {
        set_evaluator(gate);
    }
    else {
        next = NULL; /* it was closed meanwhile, and is out of the chain */
    }
    rec = lp_here;
    if (rec != NULL) {
        lp_arm_end(state, rec);
    }
    return result;
}

static PyObject *
gate(PyThreadState *state, lp_raw_frame *frame, int throwing)
{
    lp_recorder *rec = lp_here;
    const lp_code *code;

    if (!is_open || lp_thread_is_tracing(state)) {
        return next(state, frame, throwing);
    }
    if (LP_GATE_TAKES_STACK && LP_UNLIKELY(lp_stack_is_low()) && !is_aside) {
        return run_aside(state, frame, throwing);
    }
    code = lp_code_of(lp_raw_frame_code(frame));
    if (code != NULL && is_wanted(code)) {
        return run_profiled(state, frame, throwing);
    }
    if (rec != NULL) {
        if (LP_UNLIKELY(rec->armed == LP_ARMED_ASIDE)) {
            lp_arm_end(state, rec);
        }
        if (lp_trace_is_on(state)) {
            return run_plain(state, frame, throwing, rec);
        }
        rec->cost += rec->costs.plain_inner;
    }
    return next(state, frame, throwing);
}

int
lp_gate_check(void)
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

void
lp_gate_open(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    _PyFrameEvalFunction now =
        _PyInterpreterState_GetEvalFrameFunc(interpreter);

    is_open = true;
    if (now != gate && next == NULL) {
        next = now;
        _PyInterpreterState_SetEvalFrameFunc(interpreter, gate);
    }
}

void
lp_gate_close(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();

    is_open = false;
    /* Where another evaluator came after us, it goes on calling the gate,
     * which from now on only passes frames on. */
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == gate) {
        _PyInterpreterState_SetEvalFrameFunc(interpreter, next);
        next = NULL;
    }
}

#endif
