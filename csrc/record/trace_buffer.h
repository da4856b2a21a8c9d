/* The slices of functions and long lines, one by one, as varints in chunks.
 *
 * Each thread has its own buffer, and only that thread adds to it; another may
 * do the rest under the GIL.  A slice is added when it ends, so the slices of
 * a thread are in the order of their ends, and nested slices come before the
 * slice that encloses them.
 *
 * All threads together have a fixed amount of memory.  Once it is full, at
 * `full_at`, no new slice is recorded; a slice that was already open is still
 * written when it ends, into reserved space: so up to that time nothing is
 * missing, in particular not the outermost calls.
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
    uint32_t place;  /* 1 + the line's offset from the code's first line; 0 for
                        the whole function */
    /* Off-CPU time or LP_WAIT_UNKNOWN, and the part of it that may have been
     * before the slice; 0 for a function. */
    lp_ns wait, unsure;
} lp_slice;

typedef struct lp_trace_chunk lp_trace_chunk;

typedef struct lp_trace_buffer {
    lp_trace_chunk *first; /* owned list, oldest first */
    lp_trace_chunk *last;
} lp_trace_buffer;

/* Value of min_line_ticks with which no line is recorded. */
#define LP_NO_LINE_SLICES UINT64_MAX
#define LP_NOT_FULL UINT64_MAX

/* State shared by all threads. */
typedef struct lp_trace_pool {
    bool on;
    lp_ticks min_line_ticks; /* min time on a line that is recorded, */
    lp_ticks min_call_ticks; /* and in a function */
    size_t max;              /* bytes */
    size_t used;
    lp_ticks full_at; /* time from which on no new slice is recorded; or
                         LP_NOT_FULL */
} lp_trace_pool;

extern lp_trace_pool lp_the_trace_pool;

/* Start recording slices, in `max` bytes; stop if `max` is 0. */
void lp_trace_pool_begin(size_t max, lp_ticks min_line_ticks,
                         lp_ticks min_call_ticks);

/* Add a slice; false if it was dropped. */
bool lp_trace_buffer_add(lp_trace_buffer *slices, const lp_slice *slice);

/* Drop the slices of serials for which `forgotten` is true. */
void lp_trace_buffer_forget(lp_trace_buffer *slices, const bool *forgotten,
                            uint32_t n);

void lp_trace_buffer_free(lp_trace_buffer *slices);

/* Iterator over the slices of a thread, in order. */
typedef struct lp_trace_reader {
    const lp_trace_chunk *chunk;
    size_t at;
    lp_ticks last;
    lp_ticks low, high;
} lp_trace_reader;

/* Skips chunks without any slice that starts in [low, high); of the others all
 * slices are returned. */
void lp_trace_reader_open(lp_trace_reader *reader,
                          const lp_trace_buffer *slices, lp_ticks low,
                          lp_ticks high);

/* Read the next slice; false at the end. */
bool lp_trace_reader_next(lp_trace_reader *reader, lp_slice *slice);

#endif
