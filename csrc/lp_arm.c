#include "lp_arm.h"

#if LP_HAVE_GATE

#  include "lp_engine.h"
#  include "lp_trace.h"

/* Does this frame, or one that waits for it, run registered code?  Takes the
 * reference. */
static bool
runs_registered(PyFrameObject *frame)
{
    bool found = false;

    while (frame != NULL && !found) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyFrameObject *back = PyFrame_GetBack(frame);

        found = lp_code_of((PyObject *)code) != NULL;
        Py_DECREF(code);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    return found;
}

static PyThreadState *
next_thread(PyThreadState *state)
{
    return state == NULL
               ? PyInterpreterState_ThreadHead(PyInterpreterState_Get())
               : PyThreadState_Next(state);
}

static void
arm(PyThreadState *state, lp_armed why)
{
    PyThreadState *own = PyThreadState_Get();
    lp_recorder *rec =
        state == own ? lp_threads_here() : lp_threads_of(state->thread_id);

    if (rec == NULL) {
        return;
    }
    rec->armed = why;
    /* 3.9 keeps a count that only its own function knows, and that works on
     * the current thread. */
    PyThreadState_Swap(state);
    lp_trace_take(state, rec);
    PyThreadState_Swap(own);
}

void
lp_arm_running(void)
{
    for (PyThreadState *state = next_thread(NULL); state != NULL;
         state = next_thread(state)) {
        if (!lp_trace_is_on(state) &&
            runs_registered(PyThreadState_GetFrame(state))) {
            arm(state, LP_ARMED_RUNNING);
        }
    }
}

void
lp_arm_all(void)
{
    for (PyThreadState *state = next_thread(NULL); state != NULL;
         state = next_thread(state)) {
        if (!lp_trace_is_on(state)) {
            arm(state, LP_ARMED_ASIDE);
        }
    }
}

void
lp_arm_end(PyThreadState *state, lp_recorder *rec)
{
    if (rec->armed == LP_ARMED_ASIDE && rec->top == rec->frames &&
        lp_trace_is_on(state)) {
        rec->armed = LP_UNARMED;
        lp_trace_give(state, rec);
    }
}

void
lp_arm_check(lp_recorder *rec, PyFrameObject *frame)
{
    if (rec->armed == LP_ARMED_RUNNING && rec->top == rec->frames &&
        !runs_registered(PyFrame_GetBack(frame))) {
        rec->armed = LP_UNARMED;
        lp_trace_give(lp_thread_state(), rec);
    }
}

#endif
