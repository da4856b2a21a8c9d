/* Baseline for PyEval_SetTrace: a C trace function that does nothing.  No
 * tracer with this hook can cost less. */

#include <Python.h>

static int
do_nothing(PyObject *Py_UNUSED(self), PyFrameObject *Py_UNUSED(frame),
           int Py_UNUSED(what), PyObject *Py_UNUSED(arg))
{
    return 0;
}

static PyObject *
on(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyEval_SetTrace(do_nothing, Py_None);
    Py_RETURN_NONE;
}

static PyObject *
off(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyEval_SetTrace(NULL, NULL);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"on", on, METH_NOARGS, "Install the tracer in this thread."},
    {"off", off, METH_NOARGS, "Remove the tracer."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "baseline_settrace",
    .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit_baseline_settrace(void);

PyMODINIT_FUNC
PyInit_baseline_settrace(void)
{
    return PyModule_Create(&module);
}
