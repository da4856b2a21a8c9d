/* Superinstructions of Python 3.12, which events of sys.monitoring undo. */
#ifndef LP_HOOKS_SUPERINSTRUCTIONS_H
#define LP_HOOKS_SUPERINSTRUCTIONS_H

#include "engine/python_compat.h"

/* Whether this Python joins two instructions to one when it creates code, and
 * never again: 3.12 is the last that does, and the first whose events undo
 * it. */
#define LP_EVENTS_UNDO_SUPERINSTRUCTIONS                                      \
    (LP_HAVE_MONITORING && PY_VERSION_HEX < 0x030D0000)

#if LP_EVENTS_UNDO_SUPERINSTRUCTIONS

/* [GIL] Note that a code object has, or had, events. */
void lp_superinstructions_note(PyObject *code);

/* [GIL] Join the instructions of all noted code objects as Python did when it
 * created them, but for those with events of others.  `reset` is called for
 * each one before, and removes what is left of events that have gone: Python
 * does that when the code is next called, or when its events change, and
 * undoes superinstructions as it does so.  0 or -1, with an exception.
 *
 * A frame that runs the code goes on: the second instruction stays where it
 * is.  Does nothing while the interpreter ends. */
void lp_superinstructions_restore(int (*reset)(PyObject *code));

#endif

#endif
