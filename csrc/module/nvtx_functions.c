#include "module/nvtx_functions.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "gpu/nvtx.h"
#include "gpu/nvtx_ranges.h"

static const struct {
    const char *name; /* name of the mode */
    lp_range_mode mode;
    const char *reason; /* reason for the mode */
} modes[] = {
    {"auto", LP_RANGES_LINES, "a tool listens to NVTX"},
    {"line", LP_RANGES_LINES, "a tool listens to NVTX"},
    {"func", LP_RANGES_FUNCTIONS,
     "a tool listens to NVTX, and only functions were asked for"},
    {"off", LP_RANGES_OFF, "NVTX ranges were switched off"},
};

enum { MODES = sizeof(modes) / sizeof(modes[0]) };

/* Set the ranges of frames entered from now on; open frames have none from now
 * on. */
static void
set_mode(lp_range_mode mode)
{
    if (mode == lp_the_engine.ranges) {
        return;
    }
    lp_the_engine.ranges = mode;
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        lp_ranges_end(rec);
        lp_engine_sync_ranges(rec);
    }
}

PyObject *
lp_nvtx_open(PyObject *Py_UNUSED(module), PyObject *mode)
{
    const char *name = PyUnicode_AsUTF8(mode);
    const char *reason;
    lp_range_mode wanted;
    size_t i = 0;

    if (name == NULL) {
        return NULL;
    }
    while (i < MODES && strcmp(modes[i].name, name) != 0) {
        i++;
    }
    if (i == MODES) {
        PyErr_Format(PyExc_ValueError,
                     "there is no NVTX mode '%s', only auto, line, func and "
                     "off",
                     name);
        return NULL;
    }
    wanted = modes[i].mode;
    reason = modes[i].reason;
    if (wanted != LP_RANGES_OFF && !lp_gpu_nvtx_open()) {
        wanted = LP_RANGES_OFF;
        reason = lp_gpu_nvtx_why_not();
    }
    set_mode(wanted);
    return Py_BuildValue("(Os)", wanted != LP_RANGES_OFF ? Py_True : Py_False,
                         reason);
}

PyObject *
lp_nvtx_mode(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    size_t i = 1; /* after "auto", which is a request, not a mode */

    while (modes[i].mode != lp_the_engine.ranges) {
        i++;
    }
    return PyUnicode_FromString(modes[i].name);
}

static PyObject *handles; /* owned dict: the tool's handle of each label */

/* Register a label with the tool once, because the tool never frees it.  0 or
 * -1 with an exception. */
static int
register_label(PyObject *label)
{
    PyObject *handle;
    int failed;

    if (handles == NULL) {
        handles = PyDict_New();
    }
    if (handles == NULL || PyDict_Contains(handles, label) != 0) {
        return PyErr_Occurred() != NULL ? -1 : 0;
    }
    handle = PyLong_FromVoidPtr(
        (void *)lp_gpu_nvtx_register_string(PyBytes_AS_STRING(label)));
    failed = handle == NULL || PyDict_SetItem(handles, label, handle) < 0;
    Py_XDECREF(handle);
    return failed ? -1 : 0;
}

/* Return the handle of a label; NULL if it has none, or with an exception. */
static const void *
handle_of(PyObject *label)
{
    if (!PyBytes_Check(label) || register_label(label) < 0) {
        return NULL;
    }
    return PyLong_AsVoidPtr(PyDict_GetItemWithError(handles, label));
}

PyObject *
lp_nvtx_label(lp_code *code, PyObject *function, PyObject *lines)
{
    lp_labels *labels;

    if (code->labels != NULL || lp_the_engine.ranges == LP_RANGES_OFF) {
        Py_RETURN_NONE;
    }
    labels = lp_labels_new(&code->layout);
    if (labels == NULL) {
        return PyErr_NoMemory();
    }
    labels->function = handle_of(function);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines); i++) {
        if ((size_t)i < labels->n_lines && !PyErr_Occurred()) {
            labels->lines[i] = handle_of(PyList_GET_ITEM(lines, i));
        }
    }
    if (PyErr_Occurred()) {
        free(labels);
        return NULL;
    }
    lp_gpu_nvtx_name_category(labels->serial, PyBytes_AS_STRING(function));
    code->labels = labels;
    Py_RETURN_NONE;
}
