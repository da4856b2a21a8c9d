/* Functions of modules, such as sys.settrace, that lineprof replaces while a
 * tracer exists.  Everything here is [GIL].
 */
#ifndef LP_HOOKS_REPLACED_FUNCTION_H
#define LP_HOOKS_REPLACED_FUNCTION_H

#include "engine/python_compat.h"

/* A function of a module and its replacement; the last three fields are owned.
 * The module, which is set before if it cannot be imported by its name, and
 * the replacement are set while it is replaced.  The original stays, for code
 * that keeps the replacement. */
typedef struct lp_replaced_function {
    const char *name; /* of the module */
    PyMethodDef *method;
    PyObject *module;
    PyObject *original;
    PyObject *replacement;
} lp_replaced_function;

/* True while it is replaced: code may keep the replacement, and call it later.
 */
static inline bool
lp_is_replaced(const lp_replaced_function *function)
{
    return function->replacement != NULL;
}

/* Put the replacement into the module.  0, or -1 with an exception. */
int lp_replace_function(lp_replaced_function *function);

/* Restore the original, unless other code has replaced the function since.
 * Keeps the current exception. */
void lp_restore_function(lp_replaced_function *function);

/* Call the original function.  New reference, or NULL with an exception. */
PyObject *lp_call_original(const lp_replaced_function *function,
                           PyObject *argument);

#endif
