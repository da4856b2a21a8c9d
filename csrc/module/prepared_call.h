/* Functions in place of plain ones, of `os` for example, whose arguments are
 * prepared by a callable first.
 *
 * A function of Python would do, but would stand in the tracebacks of the
 * plain one's exceptions.
 *
 * Everything here is [GIL].
 */
#ifndef LP_MODULE_PREPARED_CALL_H
#define LP_MODULE_PREPARED_CALL_H

#include "engine/python_compat.h"

/* Module function prepared_call(plain, prepare, note=None) -> a built-in
 * function.
 *
 * It shows the name, the documentation and the signature of `plain`, if that
 * is a built-in function.  Its calls call prepare(*arguments, **keywords), and
 * then `plain` with the pair of a tuple and a dict that this returns.  If it
 * raises or returns anything else, `plain` gets the arguments as they are.
 * note(result, arguments) is called after a call of `plain` that has not
 * raised, with the tuple of arguments that `plain` got; its own result and its
 * exceptions are dropped. */
PyObject *lp_prepared_call(PyObject *module, PyObject *args);

#endif
