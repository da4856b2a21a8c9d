#include "lp_thread_name.h"

#include <string.h>

/* An entry of a dict by its name; borrowed, NULL without an exception. */
static PyObject *
entry(PyObject *dict, const char *name)
{
    return dict != NULL && PyDict_Check(dict)
               ? PyDict_GetItemString(dict, name)
               : NULL;
}

/* threading._active maps the interpreter's numbers to Thread objects.  Only
 * dicts are read, so nothing of the program's runs.  Borrowed. */
static PyObject *
find_name(PyObject *number)
{
    PyObject *module = entry(PyImport_GetModuleDict(), "threading");
    PyObject *active, *thread, **dict;

    if (module == NULL || !PyModule_Check(module)) {
        return NULL;
    }
    active = entry(PyModule_GetDict(module), "_active");
    thread = active != NULL && PyDict_Check(active)
                 ? PyDict_GetItemWithError(active, number)
                 : NULL;
    dict = thread != NULL ? _PyObject_GetDictPtr(thread) : NULL;
    return dict != NULL ? entry(*dict, "_name") : NULL;
}

/* Cut between characters, not inside one. */
static void
copy_cut(char *name, size_t bytes, const char *text, size_t length)
{
    if (length >= bytes) {
        length = bytes - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) {
            length--;
        }
    }
    memcpy(name, text, length);
    name[length] = '\0';
}

void
lp_thread_name(uint64_t python_thread, char *name, size_t bytes)
{
    PyObject *type, *value, *traceback, *number, *found = NULL;
    const char *text = NULL;
    Py_ssize_t length = 0;

    name[0] = '\0';
    PyErr_Fetch(&type, &value, &traceback);
    number = PyLong_FromUnsignedLongLong(python_thread);
    if (number != NULL) {
        found = find_name(number);
    }
    if (found != NULL && PyUnicode_Check(found)) {
        text = PyUnicode_AsUTF8AndSize(found, &length);
    }
    if (text != NULL) {
        copy_cut(name, bytes, text, (size_t)length);
    }
    Py_XDECREF(number);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}
