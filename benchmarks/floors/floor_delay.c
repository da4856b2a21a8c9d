/* A delay of a known length, spent spinning on the monotonic clock: the same
 * on a fast and on a slow machine, and opaque to every tracer. */

#include <Python.h>
#include <stdint.h>
#include <time.h>

static int64_t length_ns = 0;

static int64_t
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static PyObject *
set_length(PyObject *Py_UNUSED(module), PyObject *ns)
{
    long long value = PyLong_AsLongLong(ns);

    if (value == -1 && PyErr_Occurred()) {
        return NULL;
    }
    length_ns = value;
    Py_RETURN_NONE;
}

static PyObject *
delay(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    int64_t end = now() + length_ns;

    while (now() < end) {
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"set_length", set_length, METH_O, "Set the length of delays, in ns."},
    {"delay", delay, METH_NOARGS, "Spin for the length that was set."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "floor_delay",
    .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit_floor_delay(void);

PyMODINIT_FUNC
PyInit_floor_delay(void)
{
    return PyModule_Create(&module);
}
