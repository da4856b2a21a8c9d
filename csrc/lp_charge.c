/* A line ends in which more happened than a short stay. */
#include "lp_recorder.h"

/* What others' events took while it was open is none of its execution's
 * ticks; what is left of them. */
static lp_ticks
charge_others(lp_recorder *rec, lp_frame *frame, lp_ticks ticks)
{
    uint64_t cost = rec->cost - (frame->cost & ~LP_SPLIT);
    lp_ticks lost = cost / LP_COST_ONE;

    frame->line->cost += cost;
    frame->cost = rec->cost;
    return ticks > lost ? ticks - lost : 0;
}

void
lp_recorder_charge_apart(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    lp_ticks stay = now - frame->since, ticks = stay;
    bool whole = !(frame->cost & LP_SPLIT);

    /* (A line that was split may be on for longer than it now stayed.) */
    if (LP_UNLIKELY(stay >= rec->long_stay || (!whole && rec->traced))) {
        lp_recorder_stay(rec, frame, now);
    }
    if (rec->cost != frame->cost) {
        ticks = charge_others(rec, frame, ticks);
    }
    if (LP_UNLIKELY(stay >=
                    __atomic_load_n(&rec->wait.least, __ATOMIC_RELAXED))) {
        lp_wait_charge(rec, frame, now);
    }
    if (LP_LIKELY(whole)) {
        lp_recorder_executed(frame, ticks);
    }
}
