/* Events by PyEval_SetTrace.
 *
 * Before 3.12 a frame evaluator turns the trace function on in profiled frames
 * only.  From 3.12 on, where switching it costs microseconds, the trace
 * function is on in every thread while a tracer exists: that is the fallback
 * for a process in which all tool ids of sys.monitoring are taken.
 *
 * A trace function that the program sets itself is called after lineprof's.
 * So that both are kept, sys.settrace is replaced by a function that calls the
 * original and then installs lineprof's trace function in front again.
 * Without a frame evaluator, the functions that set the trace function of new
 * threads and of all threads are also replaced.
 */
#include "hooks/hooks.h"

#include "engine/engine.h"
#include "hooks/frame_eval.h"
#include "hooks/profile_function.h"
#include "hooks/replaced_function.h"
#include "hooks/trace_function.h"

/* owned: the trace function that lineprof gives to threading where there is no
 * frame evaluator, so that lineprof gets new threads; hidden from the program.
 */
static PyObject *trace_thread;

static PyObject *settrace(PyObject *self, PyObject *func);

static PyMethodDef settrace_method = {
    "settrace", settrace, METH_O,
    "settrace(function, /)\n--\n\n"
    "Set the trace function of this thread; see the library reference."};

static lp_replaced_function sys_settrace = {.name = "sys",
                                            .method = &settrace_method};

static PyObject *
settrace(PyObject *Py_UNUSED(self), PyObject *func)
{
    PyThreadState *state = PyThreadState_Get();
    bool was_on = lp_trace_is_on(state);
    PyObject *result;

    if (!lp_is_replaced(&sys_settrace)) {
        return lp_call_original(&sys_settrace, func);
    }
    if (func == Py_None && lp_current_recorder != NULL) {
        lp_frame_wishes_leave(lp_current_recorder);
    }
    result =
        lp_call_original(&sys_settrace, func == trace_thread ? Py_None : func);

    /* Without a frame evaluator every thread is traced, also a new one that
     * sets its first trace function here. */
    if ((was_on || !LP_HAVE_FRAME_EVAL) && !lp_trace_is_on(state)) {
        lp_recorder *rec = lp_threads_here();

        if (rec != NULL) {
            lp_trace_install(state, rec);
        }
    }
    return result;
}

#if LP_HAVE_FRAME_EVAL

static int
settrace_open(PyObject *Py_UNUSED(module))
{
    if (lp_frame_eval_check() < 0) {
        return -1;
    }
    return lp_replace_function(&sys_settrace);
}

/* The greenlet may have been left in a profiled frame by one that runs an
 * unprofiled frame. */
static void
trace_switched(lp_recorder *rec)
{
    PyThreadState *state = PyThreadState_Get();

    if (!lp_trace_is_on(state)) {
        lp_trace_install(state, rec);
    }
}

/* The thread may still be traced because of frames that were running when the
 * tracer was enabled. */
static void
settrace_stop(void)
{
    PyThreadState *state = PyThreadState_Get();

    lp_frame_eval_close();
    if (lp_trace_is_on(state) && lp_current_recorder != NULL) {
        lp_current_recorder->trace_reason = LP_TRACE_PROFILED_ONLY;
        lp_trace_uninstall(state, lp_current_recorder);
    }
}

/* So may other threads, in frames that go on for long. */
static void
settrace_close(void)
{
    lp_trace_threads_none();
    lp_restore_function(&sys_settrace);
    lp_profile_function_close();
}

#else

/* The trace function of new threads: install lineprof's in its place. */
static PyObject *
trace_new_thread(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args))
{
    PyThreadState *state = PyThreadState_Get();
    lp_recorder *rec = lp_threads_here();

    if (rec != NULL && !lp_trace_is_on(state)) {
        rec->other_tracer = NULL;
        PyEval_SetTrace(lp_trace_function, NULL);
    }
    Py_RETURN_NONE;
}

static PyMethodDef trace_method = {"lineprof", trace_new_thread, METH_VARARGS,
                                   NULL};

static PyObject *settrace_new(PyObject *self, PyObject *func);
static PyObject *settrace_all(PyObject *self, PyObject *func);
static PyObject *gettrace_new(PyObject *self, PyObject *args);

static PyMethodDef new_method = {
    "settrace", settrace_new, METH_O,
    "settrace(func)\n--\n\n"
    "Set the trace function of new threads; see the library reference."};
static PyMethodDef all_method = {"_settraceallthreads", settrace_all, METH_O,
                                 "_settraceallthreads(arg, /)\n--\n\n"};

static PyMethodDef get_method = {
    "gettrace", gettrace_new, METH_NOARGS,
    "gettrace()\n--\n\n"
    "Get the trace function of new threads; see the library reference."};

static lp_replaced_function threading_settrace = {.name = "threading",
                                                  .method = &new_method};
static lp_replaced_function sys_settraceallthreads = {.name = "sys",
                                                      .method = &all_method};
static lp_replaced_function threading_gettrace = {.name = "threading",
                                                  .method = &get_method};

/* A new thread that the program does not trace gets lineprof's trace function
 * only. */
static PyObject *
settrace_new(PyObject *Py_UNUSED(self), PyObject *func)
{
    bool is_ours = func == Py_None && lp_is_replaced(&threading_settrace);

    return lp_call_original(&threading_settrace,
                            is_ours ? trace_thread : func);
}

/* Make lineprof's the trace function of every thread, which calls `now` after
 * itself.  A thread that has not begun is traced through trace_thread. */
static void
trace_all_threads(Py_tracefunc now, PyObject *object)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();

    for (PyThreadState *state = PyInterpreterState_ThreadHead(interpreter);
         state != NULL; state = PyThreadState_Next(state)) {
        lp_recorder *rec =
            state->thread_id == 0 ? NULL : lp_threads_of(state->thread_id);

        if (rec != NULL) {
            lp_trace_set_other(rec, now);
        }
    }
    Py_XINCREF(object);
    PyEval_SetTraceAllThreads(lp_trace_function, object);
    Py_XDECREF(object);
}

static PyObject *
settrace_all(PyObject *Py_UNUSED(self), PyObject *func)
{
    PyObject *result = lp_call_original(&sys_settraceallthreads, func);

    if (result != NULL && lp_is_replaced(&sys_settraceallthreads)) {
        PyThreadState *current = PyThreadState_Get();

        trace_all_threads(current->c_tracefunc, current->c_traceobj);
    }
    return result;
}

static PyObject *
gettrace_new(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args))
{
    PyObject *found = lp_call_original(&threading_gettrace, NULL);

    if (found != NULL && found == trace_thread) {
        Py_DECREF(found);
        found = Py_None;
        Py_INCREF(found);
    }
    return found;
}

/* Replace the functions, and have new threads traced.  If the program traces
 * new threads, lineprof gets them when they call sys.settrace. */
static int
replace_thread_functions(void)
{
    PyObject *found, *answer = NULL;

    if (lp_replace_function(&sys_settraceallthreads) < 0 ||
        lp_replace_function(&threading_settrace) < 0 ||
        lp_replace_function(&threading_gettrace) < 0) {
        return -1;
    }
    found = gettrace_new(NULL, NULL);
    if (found != NULL) {
        answer = settrace_new(NULL, found);
    }
    Py_XDECREF(found);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

static void
restore_functions(void)
{
    PyObject *type, *value, *traceback, *found = NULL, *answer = NULL;

    PyErr_Fetch(&type, &value, &traceback);
    if (threading_gettrace.module != NULL) {
        found = gettrace_new(NULL, NULL);
    }
    if (found != NULL) { /* None if only lineprof traces new threads */
        answer = lp_call_original(&threading_settrace, found);
    }
    Py_XDECREF(found);
    Py_XDECREF(answer);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    lp_restore_function(&threading_gettrace);
    lp_restore_function(&threading_settrace);
    lp_restore_function(&sys_settraceallthreads);
    lp_restore_function(&sys_settrace);
    Py_CLEAR(trace_thread);
}

static int
settrace_open(PyObject *Py_UNUSED(module))
{
    PyThreadState *current = PyThreadState_Get();
    lp_recorder *rec = lp_threads_here();
    PyObject *object = current->c_traceobj;
    Py_tracefunc now = current->c_tracefunc;

    trace_thread = PyCFunction_New(&trace_method, NULL);
    if (rec == NULL || trace_thread == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (lp_replace_function(&sys_settrace) < 0 ||
        replace_thread_functions() < 0) {
        restore_functions();
        return -1;
    }
    Py_XINCREF(object);
    PyEval_SetTraceAllThreads(lp_trace_function, NULL);
    lp_trace_set_other(rec, now);
    PyEval_SetTrace(lp_trace_function, object);
    Py_XDECREF(object);
    return 0;
}

static void
settrace_close(void)
{
    PyThreadState *current = PyThreadState_Get();
    lp_recorder *rec = lp_threads_here();
    PyObject *object = current->c_traceobj;
    Py_tracefunc now = rec != NULL ? lp_trace_other(rec) : NULL;

    restore_functions();
    lp_profile_function_close();
    Py_XINCREF(object);
    PyEval_SetTraceAllThreads(NULL, NULL);
    if (now != NULL) {
        PyEval_SetTrace(now, object);
    }
    Py_XDECREF(object);
    for (rec = lp_the_engine.recorders; rec != NULL; rec = rec->next) {
        rec->other_tracer = NULL;
    }
}

#endif

/* Where lines begin without a LINE event, opcode events tell of them. */
static int
settrace_watch(PyObject *code)
{
    lp_code *known = lp_code_of(code);

    if (!(known->flags & LP_CODE_HAS_HIDDEN_STARTS)) {
        return 0;
    }
    if (!LP_HAVE_OPCODES_OF_CODE) {
        lp_code_miss_hidden_starts(known);
        return 0;
    }
    return lp_trace_opcodes(code, true);
}

static void
settrace_unwatch(PyObject *code, uint32_t flags)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    if (LP_HAVE_OPCODES_OF_CODE && (flags & LP_CODE_HAS_HIDDEN_STARTS) &&
        lp_trace_opcodes(code, false) < 0) {
        PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
}

const lp_hook lp_hook_settrace = {
    .name = "settrace",
    .open = settrace_open,
    .close = settrace_close,
    .watch = settrace_watch,
    .unwatch = settrace_unwatch,
#if LP_HAVE_FRAME_EVAL
    .start = lp_frame_eval_open,
    .stop = settrace_stop,
    .scan_running_frames = lp_trace_threads_running,
    .switched = trace_switched,
    .displaced = lp_frame_eval_displaced,
    .how = "PyEval_SetTrace, switched on by a frame evaluator (PEP 523) in "
           "profiled functions alone",
#else
    .how = "PyEval_SetTrace, on in all code while a profiler exists",
#endif
};
