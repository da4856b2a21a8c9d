/* The module's state, and its one getter. */
#ifndef LP_MODULE_H
#define LP_MODULE_H

#include "lp_python.h"

/* [GIL] The type of wrappers, found from another type of the module;
 * borrowed, or NULL with an exception. */
PyTypeObject *lp_module_wrapper_type(PyTypeObject *type);

#endif
