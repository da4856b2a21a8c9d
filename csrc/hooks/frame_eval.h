/* The frame evaluator (PEP 523) of the settrace hook, on versions older than
 * sys.monitoring: it installs the trace function for profiled frames, and
 * restores the thread's previous state for all others.
 */
#ifndef LP_HOOKS_FRAME_EVAL_H
#define LP_HOOKS_FRAME_EVAL_H

#include "engine/python_compat.h"

#if LP_HAVE_FRAME_EVAL

/* [GIL] Check that this interpreter's frames have the known layout.  0, or -1
 * with an exception. */
int lp_frame_eval_check(void);

/* [GIL] Enter or leave the chain of frame evaluators. */
void lp_frame_eval_open(void);
void lp_frame_eval_close(void);

/* [GIL] The trace function got a call.  Where the C stack is short, the
 * evaluator enters the chain again to run the calls below without tracing. */
void lp_frame_eval_called(void);

/* [GIL] Return how many times the open evaluator was found removed from the
 * chain; if it is removed now, it is inserted again. */
uint64_t lp_frame_eval_displaced(void);

#endif

#endif
