/* A tracer that wants no line events of a frame, which we count.
 *
 * It says so by the frame's attribute f_trace_lines, and then the interpreter
 * sends none to anybody.  So the attribute is true while the frame runs, and
 * line events are kept from that tracer; for its other events, and when the
 * frame stops, it finds the attribute as it left it.
 */
#ifndef LP_MUTE_H
#define LP_MUTE_H

#include "lp_python.h"
#include "lp_recorder.h"

/* [GIL] Does the tracer before us want no lines of this frame? */
bool lp_mute_is_on(const lp_recorder *rec, const PyFrameObject *frame);

/* [GIL] The tracer is about to see the frame: show it its own attribute. */
void lp_mute_show(const lp_recorder *rec, PyFrameObject *frame);

/* [GIL] It has seen it, and may have changed its mind.  What it says once it
 * has `left` is the program's: a debugger puts back what it found. */
void lp_mute_update(const lp_recorder *rec, PyFrameObject *frame, bool left);

/* [GIL] It takes itself off, in the middle of a frame perhaps. */
void lp_mute_leave(const lp_recorder *rec);

#endif
