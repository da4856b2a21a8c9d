/* C functions as callees of profiled lines, counted on request.
 *
 * While a C function runs, the recorder's stack has a frame for it, on the
 * only line of its layout, line 0.  A callee is identified by its method
 * definition, whatever object the method is bound to; by itself if it is a
 * class or a callable with a name of its own; otherwise by the class of the
 * callable.
 */
#ifndef LP_ENGINE_C_FUNCTIONS_H
#define LP_ENGINE_C_FUNCTIONS_H

#include "engine/engine.h"
#include "engine/python_compat.h"
#include "engine/tracer.h"

/* True if C functions are to be counted.  Read when a function is registered:
 * the setting is valid for functions registered from then on. */
extern bool lp_c_functions_on;

/* Cost of the two events of a call of a C function, in the unit of lp_costs:
 * half of it falls before the call, half within the call. */
extern uint32_t lp_c_functions_cost;

/* [GIL] The line of the top frame calls a callable that is not a Python
 * function. */
void lp_c_functions_enter(lp_recorder *rec, PyObject *callable, lp_ticks now);

/* [GIL] The call of the C function on top has ended; nothing is done if the
 * top frame is a Python frame. */
void lp_c_functions_leave(lp_recorder *rec, lp_ticks now);

/* True if the frame is a C function. */
static inline bool
lp_c_functions_is(const lp_frame *frame)
{
    return (frame->flags & LP_FRAME_C_FUNCTION) != 0;
}

/* [GIL] A frame below continues: end the calls of C functions on top of it,
 * the ends of which had no event. */
void lp_c_functions_end(lp_recorder *rec, lp_ticks now);

/* [GIL] Return a list of (serial, name), or NULL with an exception. */
PyObject *lp_c_functions_names(const lp_tracer *tracer);

/* Set marked[serial] for each C function of the tracer; `marked` has an entry
 * for every serial. */
void lp_c_functions_mark(const lp_tracer *tracer, bool *marked);

/* Reset the counters of all C functions, or free the C functions. */
void lp_c_functions_reset(lp_tracer *tracer);
void lp_c_functions_close(lp_tracer *tracer);

#endif
