/* Functions of the module that concern NVTX ranges: on and off, and their
 * labels.
 *
 * Labels are registered with the tool when a function is registered, so that
 * an event finds them.  A function that was registered while ranges were off
 * has none, and no ranges for as long as it is registered.
 *
 * Everything here is [GIL].
 */
#ifndef LP_MODULE_NVTX_FUNCTIONS_H
#define LP_MODULE_NVTX_FUNCTIONS_H

#include "engine/code.h"
#include "engine/python_compat.h"

/* Register the labels (bytes, or None in the list) of a code object and of its
 * lines with the tool; does nothing if the code object has labels.  None, or
 * NULL with an exception. */
PyObject *lp_nvtx_label(lp_code *code, PyObject *function, PyObject *lines);

/* Module functions nvtx_open(mode) -> (on, reason), and nvtx_mode(). */
PyObject *lp_nvtx_open(PyObject *module, PyObject *mode);
PyObject *lp_nvtx_mode(PyObject *module, PyObject *ignored);

#endif
