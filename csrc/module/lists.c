#include "module/lists.h"

int
lp_append(PyObject *list, PyObject *item)
{
    int failed = item == NULL ? -1 : PyList_Append(list, item);

    Py_XDECREF(item);
    return failed;
}

PyObject *
lp_path_list(const lp_call_paths *paths, uint32_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (uint32_t i = 0; list != NULL && i < n; i++) {
        const lp_call_path *path = lp_call_paths_at(paths, i);
        PyObject *item =
            Py_BuildValue("(III)", path->parent, path->serial, path->line);

        if (item == NULL) {
            Py_CLEAR(list);
        }
        else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
        }
    }
    return list;
}
