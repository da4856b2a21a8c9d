/* A query of slices: those of all threads that start in a window of time,
 * sorted. */
#ifndef LP_RECORD_TRACE_QUERY_H
#define LP_RECORD_TRACE_QUERY_H

#include "record/recorder.h"

/* A slice that was found. */
typedef struct lp_found {
    lp_ticks start, end;
    uint32_t thread; /* number of its recorder */
    uint32_t order;  /* in which they were found */
    uint32_t function, line;
} lp_found;

/* The window that is asked for, and the slices found. */
typedef struct lp_trace_query {
    lp_recorder *recorders;      /* the first of the list */
    const unsigned char *wanted; /* an uint32_t a serial, in no alignment: the
                                  * function's number + 1; 0: not wanted */
    uint32_t *first_lines;       /* owned; by serial: of its code */
    uint32_t n_serials;
    lp_ticks until; /* what came later is left out */
    lp_ticks low, high;
    uint32_t thread;
    lp_found *found; /* owned */
    size_t n, capacity;
    bool failed; /* memory was out */
} lp_trace_query;

/* The number of a serial in `wanted`; 0: it is not there. */
uint32_t lp_trace_query_number(const lp_trace_query *self, uint32_t serial);

/* Find what starts in [low, high): what has ended, and what is under way, cut
 * off at `until`.  In order of their starts, the longer first; of two alike
 * the one around the other.  False when memory is out. */
bool lp_trace_query_window(lp_trace_query *self);

/* The start of each 64th that is wanted, in no order: *n of them, to be freed;
 * false when memory is out. */
bool lp_trace_query_sample(const lp_trace_query *self, lp_ticks **starts,
                           size_t *n);

enum { LP_TRACE_SAMPLE = 64 };

void lp_trace_query_free(lp_trace_query *self);

#endif
