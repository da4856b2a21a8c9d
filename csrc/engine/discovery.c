#include "engine/discovery.h"

#include "engine/c_stack.h"
#include "engine/engine.h"
#include "engine/python_call.h"

bool lp_discovery_on;

static PyObject *decide; /* owned; NULL while discovery is off */
static PyObject
    *unwanted_files; /* owned set: files from which no code is wanted */
static uintptr_t round_number;
static lp_ticks paused_until; /* no postponed code object is offered before */
static uint64_t left_out; /* code objects that are postponed, or were so often
                             that they are unwanted */

static _Thread_local bool asking;
/* True if the last question on this thread had no answer. */
static _Thread_local bool undecided;

/* Have the hook deliver the start of all code objects, or of watched ones
 * only. */
static int
watch_all(bool all)
{
    const lp_hook *hook = lp_the_engine.hook;

    if (hook == NULL || hook->watch_all == NULL) {
        return 0;
    }
    return hook->watch_all(all);
}

static int
stop(void)
{
    if (!lp_discovery_on) {
        return 0;
    }
    lp_discovery_on = false;
    Py_CLEAR(decide);
    Py_CLEAR(unwanted_files);
    if (lp_the_engine.hook != NULL) {
        lp_engine_deactivate();
    }
    return watch_all(false);
}

static int
start(PyObject *callable)
{
    unwanted_files = PySet_New(NULL);
    if (unwanted_files == NULL) {
        return -1;
    }
    Py_INCREF(callable);
    decide = callable;
    round_number++;
    paused_until = left_out = 0;
    lp_discovery_on = true;
    lp_engine_activate();
    if (watch_all(true) < 0) {
        PyObject *type, *value, *traceback;

        PyErr_Fetch(&type, &value, &traceback);
        stop();
        PyErr_Restore(type, value, traceback);
        return -1;
    }
    return 0;
}

int
lp_discovery_set(PyObject *callable)
{
    if (callable == Py_None) {
        return stop();
    }
    if (lp_the_engine.hook == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "there is no tracer");
        return -1;
    }
    return stop() < 0 ? -1 : start(callable);
}

bool
lp_discovery_is_asking(void)
{
    return asking;
}

bool
lp_discovery_is_undecided(void)
{
    return asking || undecided;
}

/* The code object is not offered at this depth of the stack, but at its next
 * call. */
static void
postpone(void)
{
    const lp_recorder *rec = lp_current_recorder;

    undecided = true;
    lp_c_stack_skip(rec == NULL ? 0 : (uint64_t)(rec->top - rec->frames));
}

static uint32_t
postponed_calls(const lp_mark *mark)
{
    return mark != NULL && mark->postponed_in == round_number ? mark->postponed
                                                              : 0;
}

/* The code object is offered at its first call after `ns`. */
static void
pause_for(PyObject *code, PyObject *ns)
{
    double ticks_per_ns =
        4294967296.0 / (double)lp_clock_scale(&lp_the_engine.clock);
    double wait = PyLong_AsDouble(ns);
    lp_mark *mark = lp_code_add_mark(code);

    if (mark == NULL || wait < 0) { /* an exception, too */
        return;
    }
    if (postponed_calls(mark) == 0) {
        mark->postponed_in = round_number;
        mark->postponed = 0;
        left_out++;
    }
    mark->postponed++;
    paused_until = lp_clock_now(&lp_the_engine.clock) +
                   (lp_ticks)(wait < 1e12 ? wait * ticks_per_ns : 1e12);
    undecided = true;
}

/* True if the code object is postponed, and it is not yet time to offer it
 * again. */
static bool
is_postponed(lp_mark *mark)
{
    if (postponed_calls(mark) == 0 ||
        lp_clock_now(&lp_the_engine.clock) >= paused_until) {
        return false;
    }
    undecided = ++mark->postponed < LP_MAX_POSTPONED;
    if (!undecided) {
        mark->unwanted_in = round_number;
    }
    return true;
}

/* Do not offer the code object again in this round. */
static void
mark_unwanted(PyObject *code)
{
    lp_mark *mark = lp_code_add_mark(code);

    if (mark != NULL) {
        mark->unwanted_in = round_number;
    }
}

/* The same, and leave the current exception alone. */
static void
remember_unwanted(PyObject *code)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    mark_unwanted(code);
    PyErr_Restore(type, value, traceback); /* in place of one of ours */
}

/* True if no code of its file is wanted.  Runs no Python, and leaves the
 * current exception alone. */
static bool
is_in_unwanted_file(PyObject *code)
{
    PyObject *file = ((PyCodeObject *)code)->co_filename;

    /* A subclass may have methods of the program's own. */
    return PyUnicode_CheckExact(file) &&
           PySet_Contains(unwanted_files, file) == 1;
}

/* Offer the code object to the Python callable; true if it was registered. */
static bool
call_decide(PyObject *code, PyObject *globals)
{
    PyObject *file = ((PyCodeObject *)code)->co_filename;
    PyObject *callable = decide, *answer;
    bool wanted = false;

    Py_INCREF(callable); /* the callable may end discovery */
    answer = PyObject_CallFunctionObjArgs(callable, code, globals, NULL);
    Py_DECREF(callable);
    if (answer == NULL) {
        if (PyErr_ExceptionMatches(PyExc_RecursionError)) {
            postpone();
        }
        return false;
    }
    if (PyLong_CheckExact(answer)) {
        pause_for(code, answer);
    }
    else if (answer == Py_None) {
        if (unwanted_files != NULL && PyUnicode_CheckExact(file)) {
            (void)PySet_Add(unwanted_files, file);
        }
    }
    else {
        wanted = PyObject_IsTrue(answer) == 1;
    }
    Py_DECREF(answer);
    return wanted;
}

lp_code *
lp_discovery_ask(PyObject *code, PyObject *globals)
{
    lp_code *found = NULL;
    lp_mark *mark;
    lp_python_call call;

    undecided = false;
    if (asking || decide == NULL) {
        return NULL;
    }
    mark = lp_code_mark(code);
    if (mark != NULL &&
        (mark->unwanted_in == round_number || is_postponed(mark))) {
        return NULL;
    }
    if (is_in_unwanted_file(code)) {
        if (lp_the_engine.hook->watch_all == NULL) {
            remember_unwanted(code); /* its next call comes here, too */
        }
        return NULL;
    }
    if (lp_c_stack_is_full()) {
        postpone();
        return NULL;
    }
    lp_python_call_begin(&call);
    asking = true;
    if (call_decide(code, globals != NULL ? globals : Py_None)) {
        found = lp_code_of(code);
    }
    if (found != NULL) {
        left_out -= postponed_calls(lp_code_mark(code)) > 0;
    }
    else if (!undecided) {
        mark_unwanted(code);
    }
    asking = false;
    lp_python_call_end(&call);
    return found;
}

uint64_t
lp_discovery_left_out(void)
{
    return left_out;
}

uint32_t
lp_discovery_missed_calls(PyObject *code)
{
    return postponed_calls(lp_code_mark(code));
}
