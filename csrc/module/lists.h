/* Call paths as Python objects. */
#ifndef LP_MODULE_PATH_LIST_H
#define LP_MODULE_PATH_LIST_H

#include "engine/python_compat.h"
#include "record/call_paths.h"

/* Return (parent, serial, line) of the first `n` paths; NULL with an
 * exception. */
PyObject *lp_path_list(const lp_call_paths *paths, uint32_t n);

#endif
