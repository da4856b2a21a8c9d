#include "module/prepared_call.h"

#define PLAIN "plain"
#define PREPARE "prepare"

/* `self` is a module, as that of each built-in function, with the two. */
static PyObject *
call(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *plain = PyObject_GetAttrString(self, PLAIN);
    PyObject *prepare = PyObject_GetAttrString(self, PREPARE);
    PyObject *prepared = NULL;
    PyObject *result = NULL;

    if (prepare != NULL) {
        prepared = PyObject_Call(prepare, args, NULL);
    }
    if (prepared == NULL && PyErr_Occurred() &&
        !PyErr_ExceptionMatches(PyExc_Exception)) {
        /* Of a signal's handler, as KeyboardInterrupt and SystemExit. */
        Py_XDECREF(prepare);
        Py_XDECREF(plain);
        return NULL;
    }
    if (prepared == NULL) {
        PyErr_Clear(); /* it is ours; the program is not to see it */
    }
    else if (!PyTuple_Check(prepared)) {
        Py_SETREF(prepared, NULL);
    }
    if (plain != NULL) {
        result =
            PyObject_Call(plain, prepared == NULL ? args : prepared, keywords);
    }
    Py_XDECREF(prepared);
    Py_XDECREF(prepare);
    Py_XDECREF(plain);
    return result;
}

#define NAMED(name)                                                           \
    {name, (PyCFunction)(void (*)(void))call, METH_VARARGS | METH_KEYWORDS,   \
     NULL}

/* By the names that the functions show; the last one is for any other. */
static PyMethodDef defs[] = {
    NAMED("_exit"),       NAMED("execv"),        NAMED("execve"),
    NAMED("posix_spawn"), NAMED("posix_spawnp"), NAMED("fork_exec"),
    NAMED("function"),
};

#undef NAMED

PyObject *
lp_prepared_call(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyMethodDef *def = defs;
    const PyMethodDef *last = defs + sizeof defs / sizeof *defs - 1;
    PyObject *plain, *prepare;
    PyObject *name = NULL, *home = NULL, *self = NULL, *function = NULL;

    if (!PyArg_ParseTuple(args, "OO", &plain, &prepare)) {
        return NULL;
    }
    name = PyObject_GetAttrString(plain, "__name__");
    home = PyObject_GetAttrString(plain, "__module__");
    self = PyModule_New("posix");
    if (name == NULL || home == NULL || self == NULL ||
        PyModule_AddObjectRef(self, PLAIN, plain) < 0 ||
        PyModule_AddObjectRef(self, PREPARE, prepare) < 0) {
        goto done;
    }
    while (def != last &&
           (!PyUnicode_Check(name) ||
            PyUnicode_CompareWithASCIIString(name, def->ml_name) != 0)) {
        def++;
    }
    function = PyCFunction_NewEx(def, self, home);
done:
    Py_XDECREF(self);
    Py_XDECREF(home);
    Py_XDECREF(name);
    return function;
}
