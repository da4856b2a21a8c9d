/* Names of a module whose values have changed.
 *
 * Everything here is [GIL].
 */
#ifndef LP_MODULE_CHANGED_NAMES_H
#define LP_MODULE_CHANGED_NAMES_H

#include "engine/python_compat.h"

/* Module function changed_names(namespace, saved) -> list of the names in
 * `saved` that have another value, or none, in `namespace`; both are dicts.
 *
 * No reference is counted for a value that is the same: in a child that was
 * just forked that would copy the pages of all the values. */
PyObject *lp_changed_names(PyObject *module, PyObject *args);

#endif
