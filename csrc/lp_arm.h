/* Threads that are traced although no frame of theirs came in by the gate:
 * because a registered function ran already when its profiler was enabled, or
 * because the gate stepped aside.
 *
 * [GIL] all of it.  Only where there is a gate.
 */
#ifndef LP_ARM_H
#define LP_ARM_H

#include "lp_python.h"

#if LP_HAVE_GATE

#  include "lp_recorder.h"

/* Trace the threads in which registered code runs. */
void lp_arm_running(void);

/* Trace every thread, while the gate is aside. */
void lp_arm_all(void);

/* Its gate is back: a thread that runs nothing of ours is left alone. */
void lp_arm_end(PyThreadState *state, lp_recorder *rec);

/* A frame of an armed thread returns: was it the last of interest? */
void lp_arm_check(lp_recorder *rec, PyFrameObject *frame);

#endif
#endif
