/* Waits by line, and those that are still to be handed down to lines. */
#ifndef LP_WAIT_SUMS_H
#define LP_WAIT_SUMS_H

#include "lp_recorder.h"

/* Add to what the frame's open line waited. */
void lp_wait_charge_line(const lp_frame *frame, const lp_waited *waited);

/* Add to what the line of the frame at `depth` was itself; where that is one
 * of C, to what the C functions of the line were that called it. */
void lp_wait_charge_own(const lp_recorder *rec, uint64_t depth,
                        uint64_t waited, uint64_t system);

/* The depth of the innermost frame that has a line open, from this one down:
 * waits are never kept for one that has none. */
uint64_t lp_wait_depth(const lp_recorder *rec, const lp_frame *frame);

/* All frames up to `depth` waited; 0: there is none. */
void lp_wait_push(lp_wait *wait, uint64_t depth, const lp_waited *waited);

/* Take off what the frames from `depth` on waited; false: nothing. */
bool lp_wait_pop(lp_wait *wait, uint64_t depth, lp_waited *waited);

#endif
