/* The choice of the slices that a timeline shows: the longest ones.
 *
 * Slices come in the order of their starts, the longer of two first, and there
 * may be tens of millions.  So they are gone through several times: first to
 * count their lengths, with all of them shown; then with the minimum length
 * that follows from the counts.
 *
 * A slice that is not shown is folded: its time is self time of the slice
 * around it.  A slice is shown only if the slice around it is.  Folded slices
 * with no slice around them are summed up, by function, thread and slot of
 * time; the sums of a thread lie apart, each in its slot.
 */
#ifndef LP_ARITHMETIC_SLICE_SELECTION_H
#define LP_ARITHMETIC_SLICE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/hash_index.h"

/* A slice of a trace; times in ns. */
typedef struct lp_trace_slice {
    uint32_t thread, function, line;
    uint64_t start, ns;
} lp_trace_slice;

/* What is shown. */
typedef struct lp_slice_rule {
    uint64_t low, high; /* the time window: slices are cut off at its ends */
    uint64_t min_ns;    /* min length of slices that are shown */
    /* Of `ties` slices that are exactly as long, so many are shown, spread
     * over time; 1 of 1: all.  `credit` is where the spreading stands. */
    uint64_t shown_ties, ties, credit;
    uint64_t slot_ns; /* above 0; slots begin at `low` */
} lp_slice_rule;

typedef struct lp_open_slices lp_open_slices;

/* The sums of a slot, by thread and function. */
typedef struct lp_slot_sums {
    lp_trace_slice *sums; /* owned; `start` is that of the first slice */
    size_t n, capacity;
    lp_hash_index index;
} lp_slot_sums;

typedef struct lp_slice_selection {
    lp_slice_rule rule;
    lp_open_slices *threads; /* owned; of each thread */
    uint32_t n_threads;
    uint64_t last_start;
    uint64_t slot; /* of the sums that are being added up */
    lp_slot_sums slot_sums;
    lp_trace_slice *sums; /* owned; of the slots before, by slot */
    size_t n_sums, sums_capacity;
} lp_slice_selection;

typedef enum lp_selected {
    LP_SLICE_OUTSIDE, /* of the time window */
    LP_SLICE_FOLDED,
    LP_SLICE_SHOWN,
    LP_SLICE_UNORDERED, /* starts before the last slice */
    LP_SLICE_NO_THREAD, /* its thread has no such number */
    LP_SLICE_NO_MEMORY,
} lp_selected;

/* Prepare a selection among the slices of threads 0 to n_threads - 1; false if
 * memory is out. */
bool lp_slice_selection_begin(lp_slice_selection *self,
                              const lp_slice_rule *rule, uint32_t n_threads);

/* Take the next slice, and cut it off at the ends of the window and of the
 * slice around it. */
lp_selected lp_slice_selection_add(lp_slice_selection *self,
                                   lp_trace_slice *slice);

/* Complete `sums`; false if memory is out. */
bool lp_slice_selection_end(lp_slice_selection *self);

void lp_slice_selection_free(lp_slice_selection *self);

/* Classes of lengths.  Class 0 to 4095 have one length each; above, a class is
 * at most 1/2048 of its lengths wide. */
enum { LP_LENGTH_CLASSES = 110592 };

/* Return the class of a length. */
uint32_t lp_length_class(uint64_t ns);

#endif
