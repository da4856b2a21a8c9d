/* A query of slices: those of all threads that start in a time window, sorted.
 */
#ifndef LP_RECORD_TRACE_QUERY_H
#define LP_RECORD_TRACE_QUERY_H

#include "record/recorder.h"

/* A slice that was found. */
typedef struct lp_found {
    lp_ticks start, end;
    uint32_t thread; /* number of its recorder */
    uint32_t order;  /* order in which slices were found */
    uint32_t function, line;
    lp_ns wait, unsure; /* see lp_slice */
} lp_found;

/* The time window of the query, and the slices found. */
typedef struct lp_trace_query {
    lp_recorder *recorders;      /* first of the list */
    const unsigned char *wanted; /* one uint32_t per serial, unaligned: 1 + the
                                    function's number; 0 if not wanted */
    uint32_t *first_lines;       /* owned; first line of the code, by serial */
    uint32_t n_serials;
    lp_ticks until; /* end of the recording: later slices are dropped */
    lp_ticks low, high;
    uint32_t thread;
    lp_found *found; /* owned */
    size_t n, capacity;
    bool failed; /* memory was out */
} lp_trace_query;

/* Return the number of a serial in `wanted`; 0 if it is not there. */
uint32_t lp_trace_query_number(const lp_trace_query *self, uint32_t serial);

/* Find the slices that start in [low, high): those that have ended, and open
 * ones, cut off at `until`.  Sorted by start, the longer first; of two equal
 * ones the enclosing one first.  False if memory is out. */
bool lp_trace_query_window(lp_trace_query *self);

/* Find the start of every 64th wanted slice, unsorted: *n of them, to be freed
 * by the caller; false if memory is out. */
bool lp_trace_query_sample(const lp_trace_query *self, lp_ticks **starts,
                           size_t *n);

enum { LP_TRACE_SAMPLE = 64 };

void lp_trace_query_free(lp_trace_query *self);

#endif
