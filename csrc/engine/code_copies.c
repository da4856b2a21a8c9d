#include "engine/code_copies.h"

#include <string.h>

#include "engine/engine.h"
#include "engine/python_call.h"

bool lp_copies_at_calls;

/* Owned; NULL while nothing is offered. */
static PyObject *callable, *wanted_names, *mark_prefix;

static _Thread_local bool offering;

/* True if the last constant is a mark.  (Anything else of that kind is some
 * program's own.) */
static bool
is_marked(const PyCodeObject *code)
{
    Py_ssize_t n = PyTuple_GET_SIZE(code->co_consts);
    PyObject *last;

    if (n == 0) {
        return false;
    }
    last = PyTuple_GET_ITEM(code->co_consts, n - 1);
    return PyUnicode_CheckExact(last) &&
           PyUnicode_Tailmatch(last, mark_prefix, 0, PY_SSIZE_T_MAX, -1) == 1;
}

/* Runs no Python, and raises nothing: names are strings and have a hash. */
static bool
is_candidate(const PyCodeObject *code)
{
    return is_marked(code) ||
           (PyUnicode_CheckExact(code->co_qualname) &&
            PySet_Contains(wanted_names, code->co_qualname) == 1);
}

static void
offer(PyObject *code)
{
    lp_python_call call;
    PyObject *adopt = callable;

    if (offering) { /* it copies code itself */
        return;
    }
    lp_python_call_begin(&call);
    offering = true;
    Py_INCREF(adopt);
    Py_XDECREF(PyObject_CallFunctionObjArgs(adopt, code, NULL));
    Py_DECREF(adopt);
    offering = false;
    lp_python_call_end(&call);
}

lp_code *
lp_copies_ask(PyObject *code)
{
    lp_mark *mark = lp_code_mark(code);

    if ((mark != NULL && mark->offered) || callable == NULL || offering) {
        return NULL;
    }
    mark = lp_code_add_mark(code);
    if (mark == NULL) {
        PyErr_Clear(); /* of memory: a call without an exception begins */
        return NULL;
    }
    mark->offered = true;
    if (!is_candidate((PyCodeObject *)code)) {
        return NULL;
    }
    offer(code);
    return lp_code_of(code);
}

#if LP_HAVE_CODE_WATCHERS
static int watcher = -1; /* the number of the code watcher, below 0 if none */

static int
on_code_event(PyCodeEvent event, PyCodeObject *code)
{
    if (event == PY_CODE_EVENT_CREATE && callable != NULL &&
        is_candidate(code)) {
        offer((PyObject *)code);
    }
    return 0;
}

static void
watch(void)
{
    if (watcher < 0) {
        watcher = PyCode_AddWatcher(on_code_event);
    }
    if (watcher < 0) { /* others have all numbers: copies are not found */
        PyErr_Clear();
    }
}

static void
unwatch(void)
{
    if (watcher >= 0 && PyCode_ClearWatcher(watcher) < 0) {
        PyErr_Clear();
    }
    watcher = -1;
}

int
lp_copies_await(void)
{
    return 0;
}
#else
static bool is_awaiting; /* the audit hook is there */
static bool is_active;   /* calls are looked at because of it */

static void
watch(void)
{
    lp_copies_at_calls = true;
}

static void
unwatch(void)
{
    lp_copies_at_calls = false;
    if (is_active) {
        is_active = false;
        lp_engine_deactivate();
    }
}

/* True if the current frame is the import system's, which makes code objects
 * from files. */
static bool
is_importing(void)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    PyCodeObject *code;
    bool found;

    if (frame == NULL) {
        return false;
    }
    code = PyFrame_GetCode(frame);
    found =
        PyUnicode_CompareWithASCIIString(
            code->co_filename, "<frozen importlib._bootstrap_external>") == 0;
    Py_DECREF(code);
    Py_DECREF(frame);
    return found;
}

static int
on_audit_event(const char *event, PyObject *Py_UNUSED(args),
               void *Py_UNUSED(data))
{
    if (is_active || !lp_copies_at_calls || offering) {
        return 0;
    }
    if (strcmp(event, "code.__new__") == 0 ||
        (strcmp(event, "marshal.loads") == 0 && !is_importing())) {
        is_active = true;
        lp_engine_activate();
    }
    return 0;
}

int
lp_copies_await(void)
{
    if (!is_awaiting && PySys_AddAuditHook(on_audit_event, NULL) < 0) {
        return -1;
    }
    is_awaiting = true;
    return 0;
}
#endif

void
lp_copies_begin(PyObject *adopt, PyObject *names, PyObject *mark)
{
    Py_INCREF(adopt);
    Py_XSETREF(callable, adopt);
    Py_INCREF(names);
    Py_XSETREF(wanted_names, names);
    Py_INCREF(mark);
    Py_XSETREF(mark_prefix, mark);
    watch();
}

void
lp_copies_end(void)
{
    unwatch();
    Py_CLEAR(callable);
    Py_CLEAR(wanted_names);
    Py_CLEAR(mark_prefix);
}
