/* The slices of functions and long lines, one by one, as varints in chunks.
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

typedef struct lp_trace_chunk lp_trace_chunk;

typedef struct lp_trace_buffer {
    lp_trace_chunk *first; /* owned list, oldest first */
    lp_trace_chunk *last;
} lp_trace_buffer;

/* Lines are not recorded however long they take. */
#define LP_NO_LINE_SLICES UINT64_MAX
#define LP_NOT_FULL UINT64_MAX

/* The state that all threads share. */
typedef struct lp_trace_pool {
    bool on;
    lp_ticks min_line_ticks; /* time on a line is recorded from so long on */
    size_t max;              /* bytes */
    size_t used;
    lp_ticks full_at; /* since when nothing new is taken; or LP_NOT_FULL */
} lp_trace_pool;

extern lp_trace_pool lp_the_trace_pool;

/* Have slices recorded from now on, in so many bytes; with 0: no more. */
void lp_trace_pool_begin(size_t max, lp_ticks min_line_ticks);

/* False when it is left out. */
bool lp_trace_buffer_add(lp_trace_buffer *slices, const lp_slice *slice);

/* Forget those of serials that `goes` has a mark at; the others are kept. */
void lp_trace_buffer_forget(lp_trace_buffer *slices, const bool *forgotten,
                            uint32_t n);

void lp_trace_buffer_free(lp_trace_buffer *slices);

/* Walks over what a thread has, in order. */
typedef struct lp_trace_reader {
    const lp_trace_chunk *chunk;
    size_t at;
    lp_ticks last;
    lp_ticks low, high;
} lp_trace_reader;

/* Chunks without any slice that starts in [low, high) are passed over; of the
 * others all slices come. */
void lp_trace_reader_open(lp_trace_reader *reader,
                          const lp_trace_buffer *slices, lp_ticks low,
                          lp_ticks high);

/* False at the end. */
bool lp_trace_reader_next(lp_trace_reader *reader, lp_slice *slice);

#endif
