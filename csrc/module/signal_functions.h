/* Signals that come in the instant before a call blocks, in Python.
 *
 * Python's own handler notes a signal, and the handler in Python runs between
 * two instructions of the main thread.  A call that blocks is interrupted by
 * the signal; but one that is about to block when the signal comes, after
 * Python last looked, sleeps as if there were none.  A signal whose default
 * is to end the process must not be lost like that: it is sent once more. */
#ifndef LP_MODULE_SIGNAL_FUNCTIONS_H
#define LP_MODULE_SIGNAL_FUNCTIONS_H

#include "engine/python_compat.h"

/* [GIL] Functions of the module:
 *
 * repeat_signal(number): from now on, when the signal comes, it is sent to
 * this thread, the main one, a few times more, at growing distances, until
 * `signal_handled`.  To be called after `signal.signal`, the next call of
 * which for this signal ends it.  Without effect where the system has no
 * timers for threads.  OSError if the system refuses; ValueError if there is
 * no such signal.
 *
 * signal_handled(): no signal is to be sent again. */
extern PyMethodDef lp_signal_functions[];

#endif
