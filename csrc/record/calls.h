/* Calls of counted functions: their frames begin and end, and add their times
 * to the nodes of the call tree.
 *
 * The caller of a frame is the nearest frame below that the same tracer counts
 * and that is on a line.
 */
#ifndef LP_RECORD_CALLS_H
#define LP_RECORD_CALLS_H

#include "record/call_tree.h"
#include "record/recorder.h"

/* [OWNER] The slow path of lp_calls_look_up; NULL if memory is out. */
lp_node *lp_calls_find(lp_recorder *rec, lp_frame *frame, bool is_call);

/* [OWNER] The slow path of lp_calls_charge. */
void lp_calls_charge_caller(lp_recorder *rec, const lp_frame *frame,
                            lp_ticks ticks, uint64_t cost);

/* Return the tree of a tracer; NULL if it has no calls here or memory was out.
 */
lp_tree *lp_calls_tree(const lp_recorder *rec, const void *owner);

/* Free the tree of a tracer, which has no open frame. */
void lp_calls_drop(lp_recorder *rec, const void *owner);

/* Reset the counts of the tracer's tree. */
void lp_calls_reset(lp_recorder *rec, const void *owner);

/* [OWNER] Find the node of the top frame, whose owner is set, and which was
 * called or resumed. */
LP_INLINE lp_node *
lp_calls_look_up(lp_recorder *rec, lp_frame *frame, bool is_call)
{
    const lp_frame *caller = frame - 1;

    if (LP_LIKELY(caller->owner == frame->owner && caller->line != NULL &&
                  caller->node != NULL)) {
        const lp_node *above = caller->node->canonical;
        lp_node *node =
            above->cache[lp_tree_cache_slot(caller->line, frame->counters)];

        if (LP_LIKELY(node != NULL && node->line == caller->line &&
                      node->counters == frame->counters)) {
            frame->node = node;
            return node;
        }
    }
    else if (caller == rec->frames && rec->trees != NULL &&
             rec->trees->owner == frame->owner) {
        lp_node *root = &rec->trees->root;
        lp_node *node = root->cache[lp_tree_cache_slot(NULL, frame->counters)];

        if (LP_LIKELY(node != NULL && node->counters == frame->counters)) {
            frame->node = node;
            return node;
        }
    }
    return lp_calls_find(rec, frame, is_call);
}

/* [OWNER] Find the node of the top frame, which is resumed. */
LP_INLINE lp_node *
lp_calls_enter(lp_recorder *rec, lp_frame *frame)
{
    return lp_calls_look_up(rec, frame, false);
}

/* [OWNER] The same for a frame that was called, not resumed: count the call.
 */
LP_INLINE void
lp_calls_called(lp_recorder *rec, lp_frame *frame)
{
    lp_node *node = lp_calls_look_up(rec, frame, true);

    frame->counters->calls++;
    if (LP_LIKELY(node != NULL)) {
        node->calls++;
        node->primitive += (frame->flags & LP_FRAME_OUTERMOST) != 0;
    }
}

/* [OWNER] Charge the frame's time from its begin up to `now`. */
LP_INLINE void
lp_calls_charge(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    lp_ticks ticks = now - frame->first;
    uint64_t cost = rec->cost + frame->self_cost - frame->first_cost;
    lp_node *node = frame->node;
    lp_frame *caller = frame - 1;

    if (LP_UNLIKELY(node == NULL)) {
        node = lp_calls_find(rec, frame, false);
        if (node == NULL) {
            return;
        }
    }
    node->self += ticks;
    node->self_cost += cost;
    if (LP_LIKELY(frame->flags & LP_FRAME_OUTERMOST)) {
        node->total += ticks;
        node->total_cost += cost;
        frame->counters->total += ticks;
        frame->counters->total_cost += cost;
    }
    else {
        node->nested += ticks;
        node->nested_cost += cost;
    }
    if (LP_LIKELY(caller->owner == frame->owner && caller->line != NULL &&
                  caller->node != NULL)) {
        caller->node->self -= ticks;
        caller->node->self_cost -= cost;
    }
    else if (caller != rec->frames) {
        lp_calls_charge_caller(rec, frame, ticks, cost);
    }
}

/* [OWNER] A frame is left, or suspended, at `now`: close its line.  It is the
 * top frame unless greenlets switch frames on the thread. */
LP_INLINE void
lp_calls_leave(lp_recorder *rec, lp_frame *frame, bool suspended, lp_ticks now)
{
    frame->counters->depth--;
    if (LP_LIKELY(frame->line != NULL)) {
        uint64_t gap_cost = rec->wait.cost;

        if (suspended) {
            lp_recorder_split(frame);
        }
        now = lp_recorder_charge(rec, frame, now);
        /* Time after `now` does not belong to the frame. */
        frame->first_cost += rec->wait.cost - gap_cost;
        if (LP_UNLIKELY(rec->traced)) {
            lp_recorder_add_function_slice(rec, frame, now);
        }
        lp_recorder_end_statement(frame);
        lp_calls_charge(rec, frame, now);
        rec->cost += frame->self_cost;
    }
    else if (frame->flags & LP_FRAME_INHERITED) {
        frame->counters->depth++; /* it was not counted */
    }
    rec->wait.last_leave = now;
    lp_recorder_change(rec);
    if (LP_UNLIKELY(frame != rec->top)) {
        lp_recorder_close_gap(rec, frame);
    }
    __atomic_store_n(&rec->top, rec->top - 1, __ATOMIC_RELAXED);
    lp_recorder_changed(rec);
}

#endif
