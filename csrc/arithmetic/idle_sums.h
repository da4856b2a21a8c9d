/* Idle time of devices, charged to the functions and lines that were open on
 * the threads that a device waited for.
 *
 * A track is one thread with the gaps of one device: the time in which the
 * device was idle until that thread launched its next work.  Slices come in
 * the order of their starts, the longer of two first, as from a trace, and
 * there may be tens of millions: each is looked at once.
 *
 * Time in a gap is charged to the innermost slice.  Of a line's own time only
 * the amount is known that the thread waited, within limits, and not when:
 * some of a gap may remain without a cause.
 */
#ifndef LP_ARITHMETIC_IDLE_SUMS_H
#define LP_ARITHMETIC_IDLE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arithmetic/slice_selection.h"
#include "record/hash_index.h"

/* The idle time of a function or line; times in ns. */
typedef struct lp_idle_sum {
    uint32_t function, line; /* line 0: of a function outside of its lines */
    uint64_t open;           /* slices of it that are open now */
    uint64_t inclusive;      /* with callees, once in recursion */
    uint64_t computing, waiting; /* without callees, */
    uint64_t unknown;            /* and either of the two */
} lp_idle_sum;

typedef struct lp_idle_open lp_idle_open;

typedef struct lp_idle_track {
    uint32_t thread;
    const uint64_t *starts, *ends; /* borrowed; of gaps, sorted, apart */
    size_t n_gaps;
    size_t gap;         /* first gap that ends after `now` */
    uint64_t now;       /* all time before is charged */
    lp_idle_open *open; /* owned; the slices around `now`, outermost first */
    size_t depth, open_capacity;
    lp_idle_sum *sums; /* owned */
    size_t n_sums, sums_capacity;
    lp_hash_index index; /* of the sums, by function and line */
} lp_idle_track;

/* Prepare a track; sets only the fields that are not borrowed. */
void lp_idle_track_begin(lp_idle_track *self);

void lp_idle_track_free(lp_idle_track *self);

/* Take the next slice of the track's thread, with its off-CPU time in ns; the
 * thread may have spent the part `unsure` of it before the slice.  Both are
 * also contained in those of the slices around.  `short_lines`: the time of a
 * function outside of its line slices is known to be computing, or else of
 * unknown cause.  False if memory is out. */
bool lp_idle_track_add(lp_idle_track *self, const lp_trace_slice *slice,
                       uint64_t wait, uint64_t unsure, bool short_lines);

/* All slices have come. */
void lp_idle_track_end(lp_idle_track *self, bool short_lines);

#endif
