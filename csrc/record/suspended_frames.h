/* The suspended frames: for each the time of its suspension, its line, and the
 * lines of a multi-line statement that it has run.
 *
 * A coroutine that waits gives up its frame and resumes later, often on
 * another thread.  The waiting time is added to the line that it waited on.  A
 * frame that is never resumed leaves its entry behind until the frame's
 * address is used again, so the size of the table is bounded: beyond the bound
 * waits are not measured, and the program is never delayed.
 *
 * Under the GIL.
 */
#ifndef LP_RECORD_SUSPENDED_FRAMES_H
#define LP_RECORD_SUSPENDED_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/clock.h"

typedef struct lp_suspended_frame {
    const void *key;   /* identity of the frame; NULL in a free entry */
    const void *code;  /* its code */
    bool is_suspended; /* true while suspended; otherwise the entry is kept for
                          its next suspension */
    uint32_t line;     /* offset of the line it is on */
    uint32_t last_hit; /* as in lp_frame */
    uint64_t hit_mask; /* as in lp_frame */
    uint64_t *awaits;  /* counter of the line; NULL if it has none or the
                          counters were freed */
    lp_ticks since;
} lp_suspended_frame;

typedef struct lp_suspended {
    lp_suspended_frame *frames; /* owned */
    uint32_t capacity;          /* a power of two, or 0 */
    uint32_t used;
} lp_suspended;

/* Add a suspended frame; false if there is no room. */
bool lp_suspended_add(lp_suspended *suspended, lp_suspended_frame frame);

/* The frame is resumed at `now`: charge its line.  Returns its entry, valid
 * until the next call of any of these functions; NULL if it has none. */
const lp_suspended_frame *lp_suspended_resume(lp_suspended *suspended,
                                              const void *key,
                                              const void *code, lp_ticks now);

/* The frames that are suspended were so from `now` on. */
void lp_suspended_restart(lp_suspended *suspended, lp_ticks now);

/* Drop the pointers to counters in [low, high), which are freed. */
void lp_suspended_forget(lp_suspended *suspended, const void *low,
                         const void *high);

void lp_suspended_free(lp_suspended *suspended);

#endif
