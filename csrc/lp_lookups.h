/* What it takes to find the line of an event in a long function: before 3.11
 * the interpreter goes there through the function's table of lines.
 */
#ifndef LP_LOOKUPS_H
#define LP_LOOKUPS_H

#include "lp_code.h"
#include "lp_python.h"
#include "lp_recorder.h"

/* From one offset in the code to another; below 0: from its start. */
uint64_t lp_lookups_cost(const lp_recorder *rec, const lp_code *code, int was,
                         int now);

/* [OWNER] The top frame, a long function's, comes to a line: the one before it
 * has not worked meanwhile. */
void lp_lookups_charge(lp_recorder *rec, lp_frame *top, PyFrameObject *frame);

#endif
