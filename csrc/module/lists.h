/* Lists of Python objects that snapshots are made of. */
#ifndef LP_MODULE_LISTS_H
#define LP_MODULE_LISTS_H

#include "engine/python_compat.h"
#include "record/call_paths.h"

/* Append a new object to a list, and drop the reference; 0, or -1 with an
 * exception, also if `item` is NULL. */
int lp_append(PyObject *list, PyObject *item);

/* Return (parent, serial, line) of the first `n` paths; NULL with an
 * exception. */
PyObject *lp_path_list(const lp_call_paths *paths, uint32_t n);

#endif
