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

/* [GIL] Start discovery with this callable, or stop it if `decide` is None.  0
 * or -1. */
int lp_discovery_set(PyObject *decide);

/* [GIL] Offer an unregistered code object that begins to run.  Return its
 * lp_code if it was registered, otherwise NULL; may be called again for the
 * same code object.  Keeps the current exception. */
lp_code *lp_discovery_ask(PyObject *code);

/* [GIL] True if the code object of the last lp_discovery_ask on this thread
 * has to be offered again: the callable was running, or there was too little
 * stack for it. */
bool lp_discovery_is_undecided(void);

/* [GIL] True while the callable runs on this thread. */
bool lp_discovery_is_asking(void);

#endif
