#include "lp_callable.h"

/* An attribute that is a string, or NULL. */
static PyObject *
text_of(PyObject *object, const char *attribute)
{
    PyObject *text = PyObject_GetAttrString(object, attribute);

    if (text != NULL && !PyUnicode_Check(text)) {
        Py_CLEAR(text);
    }
    PyErr_Clear();
    return text;
}

/* Is nothing of the program's own asked when an attribute is looked up? */
static bool
is_plain(PyObject *object)
{
    return PyType_Check(object)
               ? Py_TYPE(object) == &PyType_Type
               : Py_TYPE(object)->tp_getattro == PyObject_GenericGetAttr;
}

/* Nor of its class's attributes? (Cython's functions have a metaclass of C's.)
 */
static bool
is_plain_class(PyObject *type)
{
    return Py_TYPE(type)->tp_getattro == PyType_Type.tp_getattro;
}

PyObject *
lp_callable_name(PyObject *object)
{
    PyObject *name = NULL, *module = NULL, *whole;

    if (is_plain(object)) {
        name = text_of(object, "__qualname__");
        module = text_of(object, "__module__");
        if (name == NULL) {
            name = text_of(object, "__name__");
        }
    }
    if (name == NULL) {
        const PyTypeObject *type =
            PyType_Check(object) ? (PyTypeObject *)object : Py_TYPE(object);

        name = PyUnicode_FromString(type->tp_name);
    }
    whole = name == NULL || module == NULL
                ? name
                : PyUnicode_FromFormat("%U.%U", module, name);
    if (whole != name) {
        Py_XDECREF(name);
    }
    Py_XDECREF(module);
    PyErr_Clear();
    return whole;
}

lp_kind
lp_callable_kind(PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object);
    PyObject *call, *name = NULL;
    lp_kind found = LP_BY_CLASS;

    if (!is_plain_class(type)) {
        return found;
    }
    call = PyObject_GetAttrString(type, "__call__");
    if (call != NULL && PyFunction_Check(call)) {
        found = LP_NOT_C;
    }
    else if (is_plain(object)) {
        name = text_of(object, "__name__");
        found = name != NULL ? LP_BY_NAME : LP_BY_CLASS;
    }
    PyErr_Clear();
    Py_XDECREF(call);
    Py_XDECREF(name);
    return found;
}
