/* The suspended frames: since when, on which line, and how much of a statement
 * of several lines they have run.
 *
 * A coroutine that waits gives its frame up and takes it again later, often
 * on another thread.  What it waited is added to the line that it waited on.
 * A frame that never comes back leaves its entry behind until the frame's
 * address is used again, so the table is bounded: past the bound a wait goes
 * unmeasured, and the program is never held up.
 *
 * Under the interpreter's lock.
 */
#ifndef LP_RECORD_SUSPENDED_FRAMES_H
#define LP_RECORD_SUSPENDED_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/clock.h"

typedef struct lp_suspended_frame {
    const void *key;   /* which frame; NULL: a free place */
    const void *code;  /* whose */
    bool is_suspended; /* it is suspended; else its place is kept for it */
    uint32_t line;     /* offset of the line it is on */
    uint32_t last_hit; /* as in lp_frame */
    uint64_t hit_mask; /* as in lp_frame */
    uint64_t *awaits;  /* the line's counter; NULL: none, or forgotten */
    lp_ticks since;
} lp_suspended_frame;

typedef struct lp_suspended {
    lp_suspended_frame *frames; /* owned */
    uint32_t capacity;          /* a power of two, or 0 */
    uint32_t used;
} lp_suspended;

/* The frame is suspended at `now`; false when there is no room. */
bool lp_suspended_add(lp_suspended *suspended, lp_suspended_frame frame);

/* The frame runs again at `now`: charge its line.  What was kept of it, until
 * the next call of any verb; NULL when nothing was. */
const lp_suspended_frame *lp_suspended_resume(lp_suspended *suspended,
                                              const void *key,
                                              const void *code, lp_ticks now);

/* Forget the waits charged to counters in [low, high). */
void lp_suspended_forget(lp_suspended *suspended, const void *low,
                         const void *high);

void lp_suspended_free(lp_suspended *suspended);

#endif
