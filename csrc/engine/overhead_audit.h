/* The overhead audit: Python is called whenever measuring has cost a thread
 * another fixed amount of time.
 *
 * The call comes before a call that is counted, on the thread that makes it:
 * no other thread has to wake up, and the interpreter's lock does not change
 * hands, which alone may slow a program by a tenth.
 */
#ifndef LP_ENGINE_OVERHEAD_AUDIT_H
#define LP_ENGINE_OVERHEAD_AUDIT_H

#include "engine/python_compat.h"
#include "record/recorder.h"

/* [GIL] Call it whenever a thread's events have cost so many ns since the last
 * time; None: no more.  What it returns is the number from then on, if it is
 * one.  0 or -1 with an exception. */
int lp_overhead_audit_set(PyObject *callable, uint64_t ns);

/* [GIL] A thread begins: the recorder is asked about from now on, or never. */
void lp_overhead_audit_begin(lp_recorder *rec);

/* [GIL, OWNER] The slow half of lp_overhead_audit. */
bool lp_overhead_audit_now(lp_recorder *rec);

/* [GIL, OWNER] Nobody may hold on to a frame: they may move, and go.  False
 * where a signal's handler raised an exception: it is the call's. */
static inline bool
lp_overhead_audit(lp_recorder *rec)
{
    return LP_LIKELY(rec->cost < rec->audit_at) || lp_overhead_audit_now(rec);
}

#endif
