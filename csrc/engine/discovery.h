/* Code that nobody registered: is it to be counted?
 *
 * While discovery is on, each code object that begins to run is offered once
 * to a callable of Python, which registers it or not, just before its first
 * line.  It answers true for one that it has registered, false for one that is
 * not wanted, and None where no code of that file ever is.
 */
#ifndef LP_ENGINE_DISCOVERY_H
#define LP_ENGINE_DISCOVERY_H

#include "engine/code.h"
#include "engine/python_compat.h"

/* Whether it is on.  Read at the begin of every call. */
extern bool lp_discovery_on;

/* [GIL] On, with this callable, or off, with None.  0 or -1. */
int lp_discovery_set(PyObject *decide);

/* [GIL] What to count of a code object that begins and is not registered, or
 * NULL; it may be asked for again.  Keeps the exception that is set. */
lp_code *lp_discovery_ask(PyObject *code);

/* [GIL] Is Python asked just now, on this thread? */
bool lp_discovery_is_asking(void);

#endif
