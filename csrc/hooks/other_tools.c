#include "hooks/other_tools.h"

#if LP_HAVE_MONITORING

#  include "hooks/replaced_function.h"

static PyObject *settrace(PyObject *self, PyObject *func);
static PyObject *settraceallthreads(PyObject *self, PyObject *func);
static PyObject *use_tool_id(PyObject *self, PyObject *const *args,
                             Py_ssize_t nargs);

static PyMethodDef settrace_method = {
    "settrace", settrace, METH_O,
    "settrace(function, /)\n--\n\n"
    "Set the trace function of this thread; see the library reference."};
static PyMethodDef settraceallthreads_method = {
    "_settraceallthreads", settraceallthreads, METH_O,
    "_settraceallthreads(function, /)\n--\n\n"
    "Set the trace function of all threads; see the library reference."};
static PyMethodDef use_tool_id_method = {
    "use_tool_id", _PyCFunction_CAST(use_tool_id), METH_FASTCALL,
    "use_tool_id(tool_id, name, /)\n--\n\n"
    "Take a tool id; see the library reference."};

enum { SETTRACE, SETTRACEALLTHREADS, USE_TOOL_ID, FUNCTIONS };

static lp_replaced_function functions[FUNCTIONS] = {
    [SETTRACE] = {.name = "sys", .method = &settrace_method},
    [SETTRACEALLTHREADS] = {.name = "sys",
                            .method = &settraceallthreads_method},
    [USE_TOOL_ID] = {.name = "sys.monitoring", .method = &use_tool_id_method},
};

static void (*on_other_tool)(void); /* NULL once it was called */

static void
tell(void)
{
    void (*came)(void) = on_other_tool;

    on_other_tool = NULL;
    if (came != NULL) {
        came();
    }
}

static PyObject *
settrace(PyObject *Py_UNUSED(self), PyObject *func)
{
    if (func != Py_None) {
        tell();
    }
    return lp_call_original(&functions[SETTRACE], func);
}

static PyObject *
settraceallthreads(PyObject *Py_UNUSED(self), PyObject *func)
{
    if (func != Py_None) {
        tell();
    }
    return lp_call_original(&functions[SETTRACEALLTHREADS], func);
}

static PyObject *
use_tool_id(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t nargs)
{
    tell();
    return PyObject_Vectorcall(functions[USE_TOOL_ID].original, args,
                               (size_t)nargs, NULL);
}

/* True if any thread of the interpreter has a trace function. */
static bool
is_traced(void)
{
    PyThreadState *state =
        PyInterpreterState_ThreadHead(PyInterpreterState_Get());

    while (state != NULL && state->c_tracefunc == NULL) {
        state = PyThreadState_Next(state);
    }
    return state != NULL;
}

/* Tool ids that a program may use; the interpreter has two more for its own
 * use. */
enum { TOOL_IDS = 6 };

/* 1 if any tool id is in use, 0, or -1 with an exception. */
static int
is_any_in_use(PyObject *monitoring)
{
    for (int id = 0; id < TOOL_IDS; id++) {
        PyObject *name = PyObject_CallMethod(monitoring, "get_tool", "i", id);

        if (name == NULL) {
            return -1;
        }
        Py_DECREF(name);
        if (name != Py_None) {
            return 1;
        }
    }
    return 0;
}

int
lp_other_tools_open(PyObject *monitoring, void (*came)(void))
{
    int is_there = is_traced() ? 1 : is_any_in_use(monitoring);

    if (is_there != 0) {
        return is_there;
    }
    functions[USE_TOOL_ID].module = Py_NewRef(monitoring);
    for (int i = 0; i < FUNCTIONS; i++) {
        if (lp_replace_function(&functions[i]) < 0) {
            lp_other_tools_close();
            return -1;
        }
    }
    on_other_tool = came;
    return 0;
}

void
lp_other_tools_close(void)
{
    on_other_tool = NULL;
    for (int i = 0; i < FUNCTIONS; i++) {
        lp_restore_function(&functions[i]);
    }
}

int
lp_other_tools_use_id(int id)
{
    void (*came)(void) = on_other_tool;
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    PyObject *answer = NULL;

    on_other_tool = NULL;
    if (monitoring != NULL) {
        answer = PyObject_CallMethod(monitoring, "use_tool_id", "is", id,
                                     "lineprof");
    }
    on_other_tool = came;
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

#endif
