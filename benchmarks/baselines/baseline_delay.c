/* Delay that measures its own length: a chain of divisions, each of which
 * needs the previous result, or a call of a function.  The sum of the measured
 * times is right also on a busy machine.
 *
 * Divisions are used because they always take the same number of cycles and
 * leave the branch predictor as it was for the code after them. */

#include <Python.h>
#include <stdint.h>
#include <time.h>

static long length = 0;       /* in turns of the chain; 0: no delay */
static PyObject *work = NULL; /* owned; NULL: the chain */
static int64_t spent_ns = 0;

static volatile uint64_t seed = 0x0123456789abcdef;
static volatile uint64_t sink;

#define STEP x = k / (x | 1);
#define STEPS_8 STEP STEP STEP STEP STEP STEP STEP STEP

static void
divide(long turns)
{
    uint64_t k = seed, x = seed >> 20;

    for (long i = 0; i < turns; i++) {
        STEPS_8 STEPS_8
    }
    sink = x;
}

#undef STEPS_8
#undef STEP

static int64_t
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static PyObject *
set_length(PyObject *Py_UNUSED(module), PyObject *turns)
{
    long value = PyLong_AsLong(turns);

    if (value == -1 && PyErr_Occurred()) {
        return NULL;
    }
    length = value;
    Py_CLEAR(work);
    Py_RETURN_NONE;
}

static PyObject *
set_work(PyObject *Py_UNUSED(module), PyObject *callable)
{
    Py_XDECREF(work);
    Py_INCREF(callable);
    work = callable;
    Py_RETURN_NONE;
}

static PyObject *
take_spent(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    int64_t ns = spent_ns;

    spent_ns = 0;
    return PyLong_FromLongLong(ns);
}

static PyObject *
chain_ns(PyObject *Py_UNUSED(module), PyObject *turns)
{
    int64_t begin = now();
    long value = PyLong_AsLong(turns);

    if (value == -1 && PyErr_Occurred()) {
        return NULL;
    }
    divide(value);
    return PyLong_FromLongLong(now() - begin);
}

static PyObject *
delay(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    int64_t begin = now();

    if (work != NULL) {
        PyObject *result = PyObject_CallObject(work, NULL);

        if (result == NULL) {
            return NULL;
        }
        Py_DECREF(result);
        spent_ns += now() - begin;
    }
    else if (length > 0) {
        divide(length);
        spent_ns += now() - begin;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"set_length", set_length, METH_O,
     "Make each delay a chain of this many turns."},
    {"set_work", set_work, METH_O, "Make each delay a call of this function."},
    {"take_spent", take_spent, METH_NOARGS,
     "Return the ns of all delays since the last call."},
    {"chain_ns", chain_ns, METH_O,
     "Return the ns of one chain of this many turns."},
    {"delay", delay, METH_NOARGS, "Run one delay."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "baseline_delay",
    .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit_baseline_delay(void);

PyMODINIT_FUNC
PyInit_baseline_delay(void)
{
    return PyModule_Create(&module);
}
