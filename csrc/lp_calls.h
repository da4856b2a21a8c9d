/* From a thread's frames to its trees of calls, see lp_tree.h: which node a
 * frame is of, and what it adds there.
 *
 * A frame's caller is the nearest one below that the same tracer counts and
 * that is on a line.
 */
#ifndef LP_CALLS_H
#define LP_CALLS_H

#include "lp_recorder.h"
#include "lp_tree.h"

/* [OWNER] The slow half of lp_calls_enter. */
lp_node *lp_calls_find(lp_recorder *rec, lp_frame *frame);

/* [OWNER] The slow half of lp_calls_charge. */
void lp_calls_charge_caller(lp_recorder *rec, const lp_frame *frame,
                            lp_ticks ticks, uint64_t cost);

/* The tree of a tracer; NULL where it called nothing, or memory is out. */
lp_tree *lp_calls_tree(const lp_recorder *rec, const void *owner);

/* The tracer's tree goes; none of its frames is open. */
void lp_calls_drop(lp_recorder *rec, const void *owner);

/* Forget what its tree has counted. */
void lp_calls_reset(lp_recorder *rec, const void *owner);

/* [OWNER] The frame is the top one, and its owner is known: find its node. */
static inline lp_node *
lp_calls_enter(lp_recorder *rec, lp_frame *frame)
{
    const lp_frame *caller = frame - 1;

    if (LP_LIKELY(caller->owner == frame->owner && caller->line != NULL &&
                  caller->node != NULL)) {
        const lp_node *above = caller->node->goes_on;
        lp_node *node =
            above->near[lp_tree_place(caller->line, frame->counts)];

        if (LP_LIKELY(node != NULL && node->line == caller->line &&
                      node->counts == frame->counts)) {
            frame->node = node;
            return node;
        }
    }
    return lp_calls_find(rec, frame);
}

/* [OWNER] The same for a frame that was called, and not resumed: count that.
 */
static inline void
lp_calls_called(lp_recorder *rec, lp_frame *frame)
{
    lp_node *node = lp_calls_enter(rec, frame);

    frame->counts->calls++;
    if (LP_LIKELY(node != NULL)) {
        node->calls++;
        node->primitive += (frame->flags & LP_FRAME_OUTERMOST) != 0;
    }
}

/* [OWNER] The frame's time from its begin up to `now` is over. */
static inline void
lp_calls_charge(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    lp_ticks ticks = now - frame->first;
    uint64_t cost = rec->cost + frame->own - frame->first_cost;
    lp_node *node = frame->node;
    lp_frame *caller = frame - 1;

    if (LP_UNLIKELY(node == NULL)) {
        node = lp_calls_find(rec, frame);
        if (node == NULL) {
            return;
        }
    }
    node->self += ticks;
    node->self_cost += cost;
    node->inclusive += ticks;
    node->inclusive_cost += cost;
    if (LP_LIKELY(frame->flags & LP_FRAME_OUTERMOST)) {
        node->total += ticks;
        node->total_cost += cost;
        frame->counts->total += ticks;
        frame->counts->total_cost += cost;
    }
    if (LP_LIKELY(caller->owner == frame->owner && caller->line != NULL &&
                  caller->node != NULL)) {
        caller->node->self -= ticks;
        caller->node->self_cost -= cost;
    }
    else {
        lp_calls_charge_caller(rec, frame, ticks, cost);
    }
}

#endif
