/* When functions and long lines ran, one by one, as varints in chunks.
 *
 * Each thread has its own, and only it adds to them; under the interpreter's
 * lock another may do the rest.  A slice is added when it ends, so those of a
 * thread come in the order of their ends, what lies within others before
 * these.
 *
 * All threads together have so much memory and no more.  Once it is used up,
 * at `full_at`, what begins later is left out; what was under way then is
 * still added as it ends, to room kept for it: so up to that moment nothing is
 * missing, and least of all the calls around everything else.
 */
#ifndef LP_RECORD_TRACE_BUFFER_H
#define LP_RECORD_TRACE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/clock.h"

typedef struct lp_slice {
    lp_ticks start, end;
    uint32_t serial; /* of the code, see lp_layout */
    uint32_t place;  /* 1 + the line's offset from the code's first line; 0:
                      * all of the function */
} lp_slice;

typedef struct lp_slices_chunk lp_slices_chunk;

typedef struct lp_slices {
    lp_slices_chunk *first; /* owned list, oldest first */
    lp_slices_chunk *last;
} lp_slices;

/* Lines are not recorded however long one stays there. */
#define LP_NO_STAY UINT64_MAX
#define LP_NOT_FULL UINT64_MAX

/* What holds for all threads. */
typedef struct lp_slices_pool {
    bool on;
    lp_ticks long_stay; /* stays on a line are recorded from so long on */
    size_t most;        /* bytes */
    size_t used;
    lp_ticks full_at; /* since when nothing new is taken; or LP_NOT_FULL */
} lp_slices_pool;

extern lp_slices_pool lp_all_slices;

/* Have slices recorded from now on, in so many bytes; with 0: no more. */
void lp_slices_begin(size_t most, lp_ticks long_stay);

/* False when it is left out. */
bool lp_slices_add(lp_slices *slices, const lp_slice *slice);

/* Forget those of serials that `goes` has a mark at; the others stay. */
void lp_slices_forget(lp_slices *slices, const bool *goes, uint32_t n);

void lp_slices_free(lp_slices *slices);

/* Walks over what a thread has, in order. */
typedef struct lp_slices_reader {
    const lp_slices_chunk *chunk;
    size_t at;
    lp_ticks last;
    lp_ticks low, high;
} lp_slices_reader;

/* Chunks without any slice that starts in [low, high) are passed over; of the
 * others all slices come. */
void lp_slices_open(lp_slices_reader *reader, const lp_slices *slices,
                    lp_ticks low, lp_ticks high);

/* False at the end. */
bool lp_slices_next(lp_slices_reader *reader, lp_slice *slice);

#endif
