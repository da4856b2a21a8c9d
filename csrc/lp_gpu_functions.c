#include "lp_gpu_functions.h"

#include "lp_devices.h"
#include "lp_engine.h"
#include "lp_gpu_snapshot.h"

enum { MOST_LIBRARIES = 32 };

/* The texts of a tuple, in a NULL-ended array; borrowed.  False with an
 * exception. */
static bool
read_texts(PyObject *tuple, const char *texts[MOST_LIBRARIES + 1])
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);

    if (n > MOST_LIBRARIES) {
        n = MOST_LIBRARIES;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        texts[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, i));
        if (texts[i] == NULL) {
            return false;
        }
    }
    texts[n] = NULL;
    return true;
}

/* gpu_open(backend, driver, libraries, calls, memory, migrations,
 * whole_graphs, events) -> (opened, why not) */
static PyObject *
gpu_open(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *backend, *libraries[MOST_LIBRARIES + 1];
    int calls, memory, migrations, whole_graphs;
    lp_gpu_options options;
    PyObject *tuple;
    Py_ssize_t events;
    char why[LP_GPU_WHY] = "";
    bool opened;

    if (!PyArg_ParseTuple(args, "ssO!ppppn:gpu_open", &backend,
                          &options.driver, &PyTuple_Type, &tuple, &calls,
                          &memory, &migrations, &whole_graphs, &events) ||
        !read_texts(tuple, libraries)) {
        return NULL;
    }
    if (lp_process.clock.name == NULL) {
        PyErr_SetString(PyExc_RuntimeError,
                        "no tracer has started the clock yet");
        return NULL;
    }
    options.libraries = libraries;
    options.calls = calls;
    options.memory = memory;
    options.migrations = migrations;
    options.whole_graphs = whole_graphs;
    opened = lp_process_devices.backend != NULL ||
             lp_devices_open(backend, &options,
                             events > 0 ? (size_t)events : 0, why);
    return Py_BuildValue("(NN)", PyBool_FromLong(opened),
                         PyUnicode_DecodeFSDefault(why));
}

static PyObject *
gpu_is_open(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(lp_process_devices.backend != NULL);
}

/* Whether this process was forked from one that records a device. */
static PyObject *
gpu_forked(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(lp_process_devices.forked);
}

static PyObject *
gpu_flush(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    lp_devices_flush();
    Py_RETURN_NONE;
}

static PyObject *
gpu_snapshot(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return lp_gpu_snapshot_take();
}

/* Switch collection on or off: of lines, and of what devices do. */
static PyObject *
collect(PyObject *Py_UNUSED(module), PyObject *on)
{
    int wanted = PyObject_IsTrue(on);

    if (wanted < 0) {
        return NULL;
    }
    lp_devices_collect(wanted);
    lp_engine_pause(!wanted);
    Py_RETURN_NONE;
}

static PyObject *
collecting(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(!lp_process.paused);
}

/* How many calls could not be charged as they should. */
static PyObject *
gpu_lost(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    const lp_ledger *ledger = lp_process_devices.ledger;
    uint64_t lost = 0;

    if (ledger != NULL) {
        lost = __atomic_load_n(&ledger->paths.lost, __ATOMIC_RELAXED) +
               __atomic_load_n(&ledger->corr.lost, __ATOMIC_RELAXED);
    }
    return PyLong_FromUnsignedLongLong(lost);
}

static PyObject *
gpu_close(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    lp_devices_close();
    Py_RETURN_NONE;
}

PyMethodDef lp_gpu_functions[] = {
    {"gpu_open", gpu_open, METH_VARARGS, NULL},
    {"gpu_is_open", gpu_is_open, METH_NOARGS, NULL},
    {"gpu_forked", gpu_forked, METH_NOARGS, NULL},
    {"gpu_flush", gpu_flush, METH_NOARGS, NULL},
    {"gpu_snapshot", gpu_snapshot, METH_NOARGS, NULL},
    {"collect", collect, METH_O, NULL},
    {"collecting", collecting, METH_NOARGS, NULL},
    {"gpu_lost", gpu_lost, METH_NOARGS, NULL},
    {"gpu_close", gpu_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
