#include "engine/greenlets.h"

#include "engine/frames.h"
#include "record/greenlet_stacks.h"

static PyObject *on_switch(PyObject *before, PyObject *args);

static PyMethodDef listener = {"lineprof", on_switch, METH_VARARGS, NULL};

/* The thread's trace function was set. */
static _Thread_local bool is_listening;

/* Return the module, or NULL: borrowed, without an exception.  The interpreter
 * may be ending, and have no modules. */
static PyObject *
module(void)
{
    PyObject *modules = PySys_GetObject("modules");

    return modules != NULL && PyDict_Check(modules)
               ? PyDict_GetItemString(modules, "greenlet")
               : NULL;
}

/* -- the frames that are there when greenlet is noticed --------------------
 */

/* True if this code object runs in the frame or in a caller of it.  `*frame`
 * becomes the next one further out; it is not changed if there is none. */
static bool
runs_in(const void *code, PyFrameObject **frame)
{
    PyFrameObject *at = *frame;
    bool found = false;

    Py_XINCREF(at);
    while (at != NULL && !found) {
        PyCodeObject *here = PyFrame_GetCode(at);
        PyFrameObject *back = PyFrame_GetBack(at);

        found = (const void *)here == code;
        Py_DECREF(here);
        Py_DECREF(at);
        at = back;
    }
    if (found) {
        Py_XDECREF(*frame);
        *frame = at;
    }
    else {
        Py_XDECREF(at);
    }
    return found;
}

/* Leave the frames that do not run in the thread's present greenlet. */
static void
leave_others(lp_recorder *rec, PyThreadState *state)
{
    PyFrameObject *frame = PyThreadState_GetFrame(state);
    Py_ssize_t at = rec->top - rec->frames;

    while (at > 0) {
        Py_ssize_t first = at; /* of those that share a frame */
        bool runs;

        while (rec->frames[first].flags & LP_FRAME_SHARED) {
            first--;
        }
        runs = (rec->frames[first].flags & LP_FRAME_C_FUNCTION) ||
               runs_in(rec->frames[first].code, &frame);
        for (; !runs && at >= first; at--) {
            lp_engine_leave_frame(rec, rec->frames + at,
                                  lp_clock_now(&rec->clock));
        }
        at = first - 1;
    }
    Py_XDECREF(frame);
}

static void
begin(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();

    lp_the_engine.greenlets = true;
    for (PyThreadState *state = PyInterpreterState_ThreadHead(interpreter);
         state != NULL; state = PyThreadState_Next(state)) {
        lp_recorder *rec = lp_the_engine.recorders;

        while (rec != NULL &&
               (rec->python_thread != (uint64_t)state->thread_id ||
                __atomic_load_n(&rec->finished, __ATOMIC_ACQUIRE))) {
            rec = rec->next;
        }
        if (rec == NULL || rec->top == rec->frames) {
            continue;
        }
        leave_others(rec, state);
        rec->stack_key = lp_thread_stack_root(state);
        for (lp_frame *at = rec->frames + 1; at <= rec->top; at++) {
            __atomic_fetch_or(&at->flags, LP_FRAME_GREENLET, __ATOMIC_RELAXED);
        }
    }
}

void
lp_greenlets_notice(void)
{
    if (!lp_the_engine.greenlets && module() != NULL) {
        begin();
    }
}

/* -- switches --------------------------------------------------------------
 */

/* The frames of the greenlet with this key, of which some are open or one
 * begins, are the recorder's from now on. */
static void
switch_to(lp_recorder *rec, const void *key)
{
    bool ranged = lp_ranges_any(rec);

    if (ranged) {
        lp_ranges_remove(rec, rec->frames + 1);
    }
    if (!lp_stacks_switch(rec, key, lp_clock_now(&rec->clock))) {
        return;
    }
    rec->ranged = 0;
    if (lp_the_engine.paused) {
        lp_recorder_pause(rec, lp_clock_now(&rec->clock));
    }
    if (ranged || lp_the_engine.ranges != LP_RANGES_OFF) {
        lp_ranges_sync(rec);
    }
}

bool
lp_greenlets_check_slow(lp_recorder *rec)
{
    const void *key = lp_thread_stack_root(lp_thread_state());

    if (LP_LIKELY(key == rec->stack_key)) {
        return false;
    }
    if (rec->top == rec->frames && !lp_stacks_has(rec, key)) {
        rec->stack_key = key;
        return false;
    }
    switch_to(rec, key);
    return true;
}

/* The running greenlet has begun or is resumed. */
static void
switched(lp_recorder *rec)
{
    PyThreadState *state = lp_thread_state();
    const void *key = lp_thread_stack_root(state);

    if (key != NULL && key != rec->stack_key && lp_stacks_has(rec, key)) {
        switch_to(rec, key);
        if (lp_the_engine.hook->switched != NULL) {
            lp_the_engine.hook->switched(rec);
        }
    }
}

/* Set the trace function of this thread's greenlets; returns the one before,
 * or NULL if that failed. */
static PyObject *
set_listener(PyObject *function)
{
    PyObject *found = module();

    return found == NULL
               ? NULL
               : PyObject_CallMethod(found, "settrace", "O", function);
}

/* True if the object is lineprof's trace function. */
static bool
is_ours(PyObject *object)
{
    return PyCFunction_Check(object) &&
           PyCFunction_GetFunction(object) == on_switch;
}

/* Called by greenlet after a switch; `before` is the trace function that the
 * thread had before, or None. */
static PyObject *
on_switch(PyObject *before, PyObject *args)
{
    lp_recorder *rec = lp_current_recorder;

    if (lp_the_engine.tracers == 0) {
        is_listening = false;
        if (module() != NULL) {
            PyObject *ours = set_listener(before);

            if (ours == NULL) {
                return NULL;
            }
            Py_DECREF(ours);
        }
    }
    else if (rec != NULL) {
        switched(rec);
    }
    if (before == Py_None) {
        Py_RETURN_NONE;
    }
    return PyObject_Call(before, args, NULL);
}

void
lp_greenlets_listen(void)
{
    PyObject *type, *value, *traceback, *found, *before = NULL, *ours = NULL;

    if (LP_LIKELY(is_listening)) {
        return;
    }
    PyErr_Fetch(&type, &value, &traceback);
    found = module();
    if (found != NULL) {
        before = PyObject_CallMethod(found, "gettrace", NULL);
    }
    if (before != NULL && !is_ours(before)) {
        ours = PyCFunction_New(&listener, before);
    }
    if (ours != NULL) {
        Py_XSETREF(before, set_listener(ours));
    }
    is_listening = before != NULL;
    Py_XDECREF(before);
    Py_XDECREF(ours);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

void
lp_greenlets_unlisten(void)
{
    PyObject *type, *value, *traceback, *found, *current = NULL;

    if (!is_listening) {
        return;
    }
    PyErr_Fetch(&type, &value, &traceback);
    found = module();
    if (found != NULL) {
        current = PyObject_CallMethod(found, "gettrace", NULL);
    }
    if (current != NULL && is_ours(current)) {
        Py_XDECREF(set_listener(PyCFunction_GET_SELF(current)));
    }
    is_listening = false;
    Py_XDECREF(current);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}
