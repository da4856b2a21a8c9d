/* C functions as callees of profiled lines, counted on demand.
 *
 * While a C function runs, a frame of it is on its thread's stack, on its one
 * line, 0.  A callee is known by its method definition, whatever object it is
 * bound to; by itself if it is a class or a callable with a name of its own;
 * otherwise by the class of the callable.
 */
#ifndef LP_ENGINE_C_FUNCTIONS_H
#define LP_ENGINE_C_FUNCTIONS_H

#include "engine/engine.h"
#include "engine/python_compat.h"
#include "engine/tracer.h"

/* Whether they are asked for: for functions that are watched from then on. */
extern bool lp_c_functions_on;

/* What the two events of a call of one cost, as lp_costs has it: half of it
 * before the call, and half within. */
extern uint32_t lp_c_functions_cost;

/* [GIL] The top frame's line calls something that is no function of Python. */
void lp_c_functions_enter(lp_recorder *rec, PyObject *callable, lp_ticks now);

/* [GIL] The call is over, and whatever it left open. */
void lp_c_functions_leave(lp_recorder *rec, lp_ticks now);

/* Is the frame one of C's? */
static inline bool
lp_c_functions_is(const lp_frame *frame)
{
    return (frame->flags & LP_FRAME_C_FUNCTION) != 0;
}

/* [GIL] A frame below goes on: calls of C on top of it ended unheard. */
void lp_c_functions_end(lp_recorder *rec, lp_ticks now);

/* [GIL] A list of (serial, name), or NULL with an exception. */
PyObject *lp_c_functions_names(const lp_tracer *tracer);

/* Mark the serials of all; `serials` has room for any. */
void lp_c_functions_mark(const lp_tracer *tracer, bool *marked);

/* Forget what was counted, or all of them. */
void lp_c_functions_reset(lp_tracer *tracer);
void lp_c_functions_close(lp_tracer *tracer);

#endif
