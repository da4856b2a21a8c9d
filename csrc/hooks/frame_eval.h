/* The frame evaluator (PEP 523) of the settrace hook, on versions older than
 * sys.monitoring: it switches the trace function on in profiled frames, and
 * in all others back to what it was.
 */
#ifndef LP_HOOKS_FRAME_EVAL_H
#define LP_HOOKS_FRAME_EVAL_H

#include "engine/python_compat.h"

#if LP_HAVE_FRAME_EVAL

/* [GIL] Is the frame evaluator as we know it?  0, or -1 with an exception. */
int lp_frame_eval_check(void);

/* [GIL] Into, and out of, the chain of frame evaluators. */
void lp_frame_eval_open(void);
void lp_frame_eval_close(void);

/* [GIL] How many times ours was found out of the chain while it was
 * open; if it is so now, it goes back in. */
uint64_t lp_frame_eval_displaced(void);

#endif

#endif
