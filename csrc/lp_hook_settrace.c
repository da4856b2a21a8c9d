/* Events by PyEval_SetTrace.
 *
 * Before 3.12 a gate turns the trace function on in profiled frames alone.
 * From 3.12 on, where switching it costs microseconds, it goes on once, in
 * every thread, and stays while a tracer exists: that is the fallback for a
 * process in which all tool ids of sys.monitoring are taken.
 *
 * A trace function that the program sets itself is called after ours.  So
 * that it is not lost, and we neither, sys.settrace is replaced by one that
 * does what it always did and then puts ours in front again.
 */
#include "lp_hook_settrace.h"

#include "lp_arm.h"
#include "lp_engine.h"
#include "lp_gate.h"
#include "lp_trace.h"

static PyObject *settrace_before; /* owned: the interpreter's own, while ours
                                   * stands in sys */
static PyObject *settrace_ours;   /* owned */

static PyObject *
settrace(PyObject *Py_UNUSED(self), PyObject *func)
{
    PyThreadState *state = PyThreadState_Get();
    bool was_on = lp_trace_is_on(state);
    PyObject *result;

    if (settrace_before == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "sys.settrace() is shut down");
        return NULL;
    }
    result = PyObject_CallFunctionObjArgs(settrace_before, func, NULL);
    /* Without a gate every thread is ours, a new one that only now comes to
     * its trace function, too. */
    if ((was_on || !LP_HAVE_GATE) && !lp_trace_is_on(state)) {
        lp_recorder *rec = lp_threads_here();

        if (rec != NULL) {
            lp_trace_take(state, rec);
        }
    }
    return result;
}

static PyMethodDef settrace_method = {
    "settrace", settrace, METH_O,
    "settrace(function, /)\n--\n\n"
    "Set the trace function of this thread; see the library reference."};

static int
replace_settrace(void)
{
    PyObject *name = PyUnicode_FromString("sys");

    settrace_before = PySys_GetObject("settrace"); /* borrowed */
    Py_XINCREF(settrace_before);
    settrace_ours =
        name == NULL ? NULL : PyCFunction_NewEx(&settrace_method, NULL, name);
    Py_XDECREF(name);
    if (settrace_before == NULL || settrace_ours == NULL) {
        Py_CLEAR(settrace_before);
        Py_CLEAR(settrace_ours);
        PyErr_SetString(PyExc_RuntimeError, "sys.settrace is not there");
        return -1;
    }
    return PySys_SetObject("settrace", settrace_ours);
}

static void
restore_settrace(void)
{
    if (PySys_GetObject("settrace") == settrace_ours &&
        settrace_ours != NULL) {
        PySys_SetObject("settrace", settrace_before);
    }
    Py_CLEAR(settrace_ours);
    Py_CLEAR(settrace_before);
}

#if LP_HAVE_GATE

static int
settrace_open(PyObject *Py_UNUSED(module))
{
    if (lp_gate_check() < 0) {
        return -1;
    }
    return replace_settrace();
}

/* A thread may still be traced for the sake of frames that ran when the
 * tracer was enabled. */
static void
settrace_stop(void)
{
    PyThreadState *state = PyThreadState_Get();

    lp_gate_close();
    if (lp_trace_is_on(state) && lp_here != NULL) {
        lp_here->armed = LP_UNARMED;
        lp_trace_give(state, lp_here);
    }
}

static void
settrace_close(void)
{
    restore_settrace();
}

#else

static PyObject *trace_thread; /* owned: what threading is given */

/* As a trace function of a new thread: put ours in its place. */
static PyObject *
take_thread(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args))
{
    PyThreadState *state = PyThreadState_Get();
    lp_recorder *rec = lp_threads_here();

    if (rec != NULL && !lp_trace_is_on(state)) {
        rec->before = NULL;
        PyEval_SetTrace(lp_trace, NULL);
    }
    Py_RETURN_NONE;
}

static PyMethodDef take_method = {"lineprof", take_thread, METH_VARARGS, NULL};

/* threading.settrace(func); func may be NULL for None. */
static void
tell_threading(PyObject *func)
{
    PyObject *type, *value, *traceback, *module, *answer = NULL;

    PyErr_Fetch(&type, &value, &traceback);
    module = PyImport_ImportModule("threading");
    if (module != NULL) {
        answer = PyObject_CallMethod(module, "settrace", "O",
                                     func != NULL ? func : Py_None);
    }
    Py_XDECREF(answer);
    Py_XDECREF(module);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

static int
settrace_open(PyObject *Py_UNUSED(module))
{
    PyThreadState *own = PyThreadState_Get();
    lp_recorder *rec = lp_threads_here();
    PyObject *object = own->c_traceobj;

    trace_thread = PyCFunction_New(&take_method, NULL);
    if (rec == NULL || trace_thread == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (replace_settrace() < 0) {
        return -1;
    }
    Py_XINCREF(object);
    {
        Py_tracefunc now = own->c_tracefunc;

        PyEval_SetTraceAllThreads(lp_trace, NULL);
        lp_trace_remember(rec, now);
        PyEval_SetTrace(lp_trace, object);
    }
    Py_XDECREF(object);
    tell_threading(trace_thread);
    return 0;
}

static void
settrace_close(void)
{
    PyThreadState *own = PyThreadState_Get();
    lp_recorder *rec = lp_threads_here();
    PyObject *object = own->c_traceobj;

    restore_settrace();
    tell_threading(NULL);
    Py_CLEAR(trace_thread);
    Py_XINCREF(object);
    {
        Py_tracefunc now = rec != NULL ? lp_trace_before(rec) : NULL;

        PyEval_SetTraceAllThreads(NULL, NULL);
        if (now != NULL) {
            PyEval_SetTrace(now, object);
        }
    }
    Py_XDECREF(object);
    for (rec = lp_process.recorders; rec != NULL; rec = rec->next) {
        rec->before = NULL;
    }
}

#endif

static int
settrace_watch(PyObject *Py_UNUSED(code))
{
    return 0;
}

static void
settrace_unwatch(PyObject *Py_UNUSED(code))
{
}

const lp_hook lp_hook_settrace = {
    .name = "settrace",
    .open = settrace_open,
    .close = settrace_close,
    .watch = settrace_watch,
    .unwatch = settrace_unwatch,
#if LP_HAVE_GATE
    .start = lp_gate_open,
    .stop = settrace_stop,
    .catch_up = lp_arm_running,
    .displaced = lp_gate_displaced,
    .how = "PyEval_SetTrace, switched on by a frame evaluator (PEP 523) in "
           "profiled functions alone",
#else
    .how = "PyEval_SetTrace, on in all code while a profiler exists",
#endif
};
