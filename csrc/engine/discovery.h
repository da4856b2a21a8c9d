/* Discovery: unregistered code objects are offered to Python.
 *
 * While discovery is on, each code object that begins to run is offered once
 * to a Python callable, just before its first line.  The callable returns true
 * if it has registered the code object, false if the code object is not
 * wanted, and None if no code of that file is wanted.
 */
#ifndef LP_ENGINE_DISCOVERY_H
#define LP_ENGINE_DISCOVERY_H

#include "engine/code.h"
#include "engine/python_compat.h"

/* True while discovery is on.  Read at the start of every call. */
extern bool lp_discovery_on;

/* [GIL] On, with this callable, or off, with None.  0 or -1. */
int lp_discovery_set(PyObject *decide);

/* [GIL] What to count of a code object that begins and is not registered, or
 * NULL; it may be asked for again.  Keeps the exception that is set. */
lp_code *lp_discovery_ask(PyObject *code);

/* [GIL] Is Python asked just now, on this thread? */
bool lp_discovery_is_asking(void);

#endif
