#include "engine/live_log.h"

#include <string.h>

#include "engine/tracer.h"
#include "record/live_file.h"

/* Return a text in UTF-8, with lone surrogates, as bytes; NULL if it is none
 * or memory is out. */
static PyObject *
encoded(PyObject *text)
{
    return text != NULL && PyUnicode_Check(text)
               ? PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass")
               : NULL;
}

static void
log_key(const lp_tracer *tracer, const lp_code *code, PyObject *file,
        long line, PyObject *name)
{
    size_t file_bytes = file == NULL ? 0 : (size_t)PyBytes_GET_SIZE(file);
    size_t bytes = file_bytes + (size_t)PyBytes_GET_SIZE(name);
    lp_live_code head = {
        .serial = code->layout.serial,
        .first_line = code->layout.first_line,
        .line = (uint32_t)line,
        .file_bytes = (uint32_t)file_bytes,
    };
    char *text = PyMem_Malloc(bytes + 1);

    if (text == NULL || bytes > UINT32_MAX / 2) {
        PyMem_Free(text);
        return;
    }
    if (file != NULL) {
        memcpy(text, PyBytes_AS_STRING(file), file_bytes);
    }
    memcpy(text + file_bytes, PyBytes_AS_STRING(name), bytes - file_bytes);
    lp_live_log(LP_LIVE_CODE, (uint64_t)(uintptr_t)tracer, &head, sizeof(head),
                text, bytes);
    PyMem_Free(text);
}

void
lp_live_log_code(const lp_tracer *tracer, const lp_code *code, PyObject *key)
{
    PyObject *type, *value, *traceback, *file = NULL, *name = NULL;
    long line = 0;

    if (!tracer->arena.is_live) {
        return;
    }
    PyErr_Fetch(&type, &value, &traceback);
    if (PyTuple_Check(key) && PyTuple_GET_SIZE(key) >= 3) {
        file = encoded(PyTuple_GET_ITEM(key, 0));
        line = PyLong_AsLong(PyTuple_GET_ITEM(key, 1));
        name = encoded(PyTuple_GET_ITEM(key, 2));
    }
    else {
        name = encoded(key);
    }
    if (name != NULL) {
        log_key(tracer, code, file, line, name);
    }
    Py_XDECREF(file);
    Py_XDECREF(name);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}
