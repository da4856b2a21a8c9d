#include "hooks/profile_function.h"

#include "hooks/replaced_function.h"
#include "hooks/trace_function.h"

static PyObject *setprofile(PyObject *self, PyObject *func);

static PyMethodDef setprofile_method = {
    "setprofile", setprofile, METH_O,
    "setprofile(function, /)\n--\n\n"
    "Set the profile function of this thread; see the library reference."};

static lp_replaced_function sys_setprofile = {.name = "sys",
                                              .method = &setprofile_method};

/* The profile function that skip_own_end() precedes for one event. */
static _Thread_local Py_tracefunc next_function;

static int
skip_own_end(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg)
{
    PyThreadState *state = PyThreadState_Get();

    if (state->c_profilefunc == skip_own_end) {
        state->c_profilefunc = next_function;
    }
    if (what == PyTrace_C_RETURN && arg == sys_setprofile.replacement) {
        return 0;
    }
    return next_function(obj, frame, what, arg);
}

/* True if the program has set a profile function in this thread. */
static bool
is_set(PyThreadState *state)
{
#if LP_HAVE_FRAME_EVAL
    if (lp_trace_is_profiling(state)) {
        return false;
    }
#endif
    return state->c_profilefunc != NULL;
}

static PyObject *
setprofile(PyObject *Py_UNUSED(self), PyObject *func)
{
    PyThreadState *state = PyThreadState_Get();
    bool was_set = is_set(state);
    PyObject *result = lp_call_original(&sys_setprofile, func);

    if (result != NULL && lp_is_replaced(&sys_setprofile) && !was_set &&
        is_set(state)) {
        next_function = state->c_profilefunc;
        state->c_profilefunc = skip_own_end;
    }
    return result;
}

int
lp_profile_function_open(void)
{
    return sys_setprofile.module != NULL
               ? 0
               : lp_replace_function(&sys_setprofile);
}

void
lp_profile_function_close(void)
{
    lp_restore_function(&sys_setprofile);
}
