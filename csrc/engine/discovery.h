/* Discovery: unregistered code objects are offered to Python.
 *
 * While discovery is on, each code object that begins to run is offered once
 * to a Python callable, just before its first line, with the globals of its
 * frame.  The callable returns true
 * if it has registered the code object, false if the code object is not
 * wanted, and None if no code of that file is wanted.
 *
 * If it returns an int instead, there is no time to register the code object
 * now: it is postponed, and offered again at its first call after that many
 * ns.  A postponed code object that is called often in the meantime is left
 * out: it would be the first whose measuring costs too much.
 */
#ifndef LP_ENGINE_DISCOVERY_H
#define LP_ENGINE_DISCOVERY_H

#include "engine/code.h"
#include "engine/python_compat.h"

/* Calls after which a postponed code object is left out. */
enum { LP_MAX_POSTPONED = 128 };

/* True while discovery is on.  Read at the start of every call. */
extern bool lp_discovery_on;

/* [GIL] Start discovery with this callable, or stop it if `decide` is None.  0
 * or -1. */
int lp_discovery_set(PyObject *decide);

/* [GIL] Offer an unregistered code object that begins to run with these
 * globals, borrowed.  Return its lp_code if it was registered, otherwise NULL;
 * may be called again for the same code object.  Keeps the current exception.
 */
lp_code *lp_discovery_ask(PyObject *code, PyObject *globals);

/* [GIL] True if the code object of the last lp_discovery_ask on this thread
 * has to be offered again: the callable was running, or there was too little
 * stack for it. */
bool lp_discovery_is_undecided(void);

/* [GIL] True while the callable runs on this thread. */
bool lp_discovery_is_asking(void);

/* [GIL] The number of code objects that were postponed, and not registered
 * since. */
uint64_t lp_discovery_left_out(void);

/* [GIL] The number of calls of a code object, up to LP_MAX_POSTPONED, while it
 * was postponed. */
uint32_t lp_discovery_missed_calls(PyObject *code);

#endif
