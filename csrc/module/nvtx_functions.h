/* The module's functions about NVTX ranges: on and off, and their labels.
 *
 * Labels are registered with the tool when a function is, so that an event
 * finds them ready.  A function that was registered while no ranges were
 * wanted has none, and is no range for as long as it is registered.
 *
 * [GIL] all of it.
 */
#ifndef LP_MODULE_NVTX_FUNCTIONS_H
#define LP_MODULE_NVTX_FUNCTIONS_H

#include "engine/code.h"
#include "engine/python_compat.h"

/* Hand the labels (bytes, or None in the list) of a code object and of its
 * lines to the tool; nothing where it has some.  None, or NULL with an
 * exception. */
PyObject *lp_nvtx_label(lp_code *code, PyObject *function, PyObject *lines);

/* Of the module: nvtx_open(mode) -> (on, reason), and nvtx_mode(). */
PyObject *lp_nvtx_open(PyObject *module, PyObject *mode);
PyObject *lp_nvtx_mode(PyObject *module, PyObject *ignored);

#endif
