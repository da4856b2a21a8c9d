#include "module/nvtx_functions.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "gpu/nvtx.h"
#include "gpu/nvtx_ranges.h"
#include "record/greenlet_stacks.h"

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
end_ranges(lp_recorder *rec, lp_ticks Py_UNUSED(now), void *Py_UNUSED(unused))
{
    lp_ranges_end(rec);
}

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
        lp_stacks_visit(rec, end_ranges, NULL);
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

static PyObject *categories; /* owned dict: the category of each function's
                                label */

/* Return the category of a function, the first serial of a code with its
 * label, named with the tool then; 0 with an exception. */
static uint32_t
category_of(PyObject *function, uint32_t serial)
{
    PyObject *known, *made;
    int failed;

    if (categories == NULL) {
        categories = PyDict_New();
    }
    known = categories == NULL ? NULL
                               : PyDict_GetItemWithError(categories, function);
    if (known != NULL) {
        return (uint32_t)PyLong_AsUnsignedLong(known);
    }
    made = PyErr_Occurred() ? NULL : PyLong_FromUnsignedLong(serial);
    failed = made == NULL || PyDict_SetItem(categories, function, made) < 0;
    Py_XDECREF(made);
    if (failed) {
        return 0;
    }
    lp_gpu_nvtx_name_category(serial, PyBytes_AS_STRING(function));
    return serial;
}

enum { DARKEST = 0x60, LIGHTEST = 0xD8, SECTOR = 60, SECTORS = 6 };

/* Return the color of a function: a hue by the hash of its label, neither too
 * dark nor too light to read a text on it. */
static uint32_t
color_of(const char *label)
{
    static const uint8_t order[SECTORS][3] = {{0, 1, 2}, {1, 0, 2}, {2, 0, 1},
                                              {2, 1, 0}, {1, 2, 0}, {0, 2, 1}};
    uint32_t hash = 2166136261u; /* FNV-1a */
    uint32_t hue, rising, levels[3];
    const uint8_t *at;

    for (; *label != '\0'; label++) {
        hash = (hash ^ (uint8_t)*label) * 16777619u;
    }
    hue = (hash ^ hash >> 16) % (SECTOR * SECTORS);
    rising = hue % SECTOR * (LIGHTEST - DARKEST) / SECTOR;
    levels[0] = LIGHTEST;
    levels[1] = hue / SECTOR % 2 == 0 ? DARKEST + rising : LIGHTEST - rising;
    levels[2] = DARKEST;
    at = order[hue / SECTOR];
    return 0xFF000000u | levels[at[0]] << 16 | levels[at[1]] << 8 |
           levels[at[2]];
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
    labels->category = category_of(function, labels->serial);
    labels->function = PyErr_Occurred() ? NULL : handle_of(function);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines); i++) {
        if ((size_t)i < labels->n_lines && !PyErr_Occurred()) {
            labels->lines[i] = handle_of(PyList_GET_ITEM(lines, i));
        }
    }
    if (PyErr_Occurred()) {
        free(labels);
        return NULL;
    }
    labels->color = color_of(PyBytes_AS_STRING(function));
    code->labels = labels;
    Py_RETURN_NONE;
}
