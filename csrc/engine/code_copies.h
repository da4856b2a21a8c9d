/* Copies of functions by value: code objects that are put together from the
 * parts of a registered one, as cloudpickle and dill do.
 *
 * Each code object that may be such a copy is offered once to a Python
 * callable, which registers it: as it is created, where the interpreter tells
 * of that (3.12), otherwise as it is first called.  It may be one if it has
 * the qualified name of a registered one, or the mark of a decorated one: a
 * string behind its other constants, which survives any way to copy it.
 */
#ifndef LP_ENGINE_CODE_COPIES_H
#define LP_ENGINE_CODE_COPIES_H

#include "engine/code.h"
#include "engine/python_compat.h"

/* True while code objects have to be offered at their first call. */
extern bool lp_copies_at_calls;

/* [GIL] Offer code objects to `adopt` from now on, until there is no tracer.
 * `names` is a set of qualified names, to which more may be added; a string
 * that begins with `mark` is one. */
void lp_copies_begin(PyObject *adopt, PyObject *names, PyObject *mark);

/* [GIL] Offer no more. */
void lp_copies_end(void);

/* [GIL] Offer code objects also while no other code is registered.  Only where
 * they are offered at their calls has this an effect, and for ever: an audit
 * hook tells of the first code object that is made from parts, so that
 * processes without any pay nothing for their calls.  0 or -1. */
int lp_copies_await(void);

/* [GIL] Offer an unregistered code object that is called, if that was not
 * done.  Return its lp_code if it was registered, otherwise NULL.  Keeps the
 * current exception. */
lp_code *lp_copies_ask(PyObject *code);

#endif
