#include "hooks/replaced_function.h"

PyObject *
lp_call_original(const lp_replaced_function *function, PyObject *argument)
{
    return PyObject_CallFunctionObjArgs(function->original, argument, NULL);
}

static void
clear_function(lp_replaced_function *function)
{
    Py_CLEAR(function->module);
    Py_CLEAR(function->replacement);
}

/* Take the original out of the module.  The program may have put a replacement
 * of before there again.  0, or -1 with an exception. */
static int
find_original(lp_replaced_function *function)
{
    PyObject *found =
        PyObject_GetAttrString(function->module, function->method->ml_name);

    if (found == NULL) {
        return -1;
    }
    if (PyCFunction_Check(found) && function->original != NULL &&
        ((PyCFunctionObject *)found)->m_ml == function->method) {
        Py_DECREF(found);
    }
    else {
        Py_XSETREF(function->original, found);
    }
    return 0;
}

int
lp_replace_function(lp_replaced_function *function)
{
    const char *method = function->method->ml_name;
    PyObject *name = PyUnicode_FromString(function->name);
    int result = -1;

    if (name != NULL && function->module == NULL) {
        /* Look the module up without the program's own __import__. */
        function->module = PyImport_GetModule(name);
        if (function->module == NULL && !PyErr_Occurred()) {
            function->module = PyImport_Import(name);
        }
    }
    if (function->module != NULL && find_original(function) == 0) {
        function->replacement =
            PyCFunction_NewEx(function->method, NULL, name);
    }
    if (function->replacement != NULL) {
        result = PyObject_SetAttrString(function->module, method,
                                        function->replacement);
    }
    if (result < 0) {
        clear_function(function);
    }
    Py_XDECREF(name);
    return result;
}

void
lp_restore_function(lp_replaced_function *function)
{
    const char *method = function->method->ml_name;
    PyObject *type, *value, *traceback, *now;

    if (function->module == NULL) {
        return;
    }
    PyErr_Fetch(&type, &value, &traceback);
    now = PyObject_GetAttrString(function->module, method);
    if (now == function->replacement) {
        PyObject_SetAttrString(function->module, method, function->original);
    }
    Py_XDECREF(now);
    clear_function(function);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}
