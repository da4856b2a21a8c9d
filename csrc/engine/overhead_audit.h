/* The overhead audit: Python is called each time measuring has cost a thread
 * another fixed amount of time.
 *
 * The callable runs just before a counted call, on the thread that makes that
 * call: no other thread has to wake up, and the GIL does not change hands,
 * which alone may slow a program by a tenth.
 */
#ifndef LP_ENGINE_OVERHEAD_AUDIT_H
#define LP_ENGINE_OVERHEAD_AUDIT_H

#include "engine/python_compat.h"
#include "record/recorder.h"

/* [GIL] Call `callable` each time the events of a thread have cost another
 * `ns`; stop if it is None.  If the callable returns an int, that is the next
 * `ns`.  0 or -1 with an exception. */
int lp_overhead_audit_set(PyObject *callable, uint64_t ns);

/* [GIL] Start the audit of a new recorder if the audit is on. */
void lp_overhead_audit_begin(lp_recorder *rec);

/* [GIL, OWNER] The slow path of lp_overhead_audit. */
bool lp_overhead_audit_now(lp_recorder *rec);

/* [GIL, OWNER] Run the audit if it is due.  Callers may keep no pointer to a
 * frame, because frames may move or be left.  False if a signal handler raised
 * an exception, which then belongs to the call. */
static inline bool
lp_overhead_audit(lp_recorder *rec)
{
    return LP_LIKELY(rec->cost < rec->audit_at) || lp_overhead_audit_now(rec);
}

#endif
