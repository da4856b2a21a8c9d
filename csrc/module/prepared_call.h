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

/* Module function prepared_call(plain, prepare) -> a built-in function.
 *
 * Its calls call prepare(*arguments), and then `plain` with the tuple that
 * this returns and with the same keywords.  If it raises or returns anything
 * else, `plain` gets the arguments as they are. */
PyObject *lp_prepared_call(PyObject *module, PyObject *args);

#endif
