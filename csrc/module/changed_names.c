#include "module/changed_names.h"

PyObject *
lp_changed_names(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *found = NULL;
    PyObject *namespace, *saved, *name, *value;
    Py_ssize_t place = 0;

    if (!PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &namespace, &PyDict_Type,
                          &saved)) {
        return NULL;
    }
    found = PyList_New(0);
    while (found != NULL && PyDict_Next(saved, &place, &name, &value)) {
        PyObject *now = PyDict_GetItemWithError(namespace, name);
        bool has_failed = now == NULL && PyErr_Occurred();

        if (has_failed || (now != value && PyList_Append(found, name) < 0)) {
            Py_CLEAR(found);
        }
    }
    return found;
}
