/* Sums of device activity, by call path and kind of work, and busy time.
 *
 * There is one sum for each distinct key; a record costs a look-up and five
 * additions, and memory only for a new key.
 *
 * Busy time is the time in which a device did any work: the union of
 * intervals.  Work of several streams overlaps, and records come nearly, but
 * not quite, in order.  Recent intervals are kept separately and joined; the
 * oldest are added up once there are too many, and a record from before then
 * makes the result a lower bound.  One owner at a time.
 */
#ifndef LP_GPU_ACTIVITY_SUMS_H
#define LP_GPU_ACTIVITY_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/clock.h"
#include "record/hash_index.h"

/* Kinds of records; Python uses the same numbers. */
typedef enum lp_activity_kind {
    LP_KERNEL = 1,
    LP_MEMCPY,
    LP_MEMSET,
    LP_WAIT,
    LP_RUNTIME_CALL,
    LP_DRIVER_CALL,
    LP_MIGRATION,
    LP_ALLOC,
    LP_FREE,
    LP_GRAPH,
    LP_LOAD
} lp_activity_kind;

typedef struct lp_sum_key {
    uint32_t path; /* LP_NO_PATH if unattributed */
    /* path on which the graph node was captured, or LP_NO_PATH */
    uint32_t origin;
    /* number of a string; a direction; or number of an API call */
    uint32_t name;
    uint16_t kind; /* lp_activity_kind */
    uint16_t device;
} lp_sum_key;

typedef struct lp_sum {
    lp_sum_key key;
    uint64_t count;
    lp_ns ns, min, max;
    uint64_t bytes;
} lp_sum;

typedef struct lp_sums {
    lp_sum *sums; /* owned */
    size_t n, capacity;
    lp_hash_index index; /* of the sums, by their keys */
    uint64_t lost;       /* records that there was no memory for */
} lp_sums;

void lp_sums_init(lp_sums *sums);

void lp_sums_free(lp_sums *sums);

/* Add a record of this key. */
void lp_sums_add(lp_sums *sums, const lp_sum_key *key, lp_ns ns,
                 uint64_t bytes);

enum { LP_BUSY_SPANS = 1 << 16 };

typedef struct lp_span {
    lp_ns start, end;
} lp_span;

typedef struct lp_busy_time {
    lp_span *spans; /* owned: disjoint, sorted */
    size_t n;
    lp_ns merged;  /* sum of the merged spans */
    lp_ns horizon; /* end of the last merged span */
    bool inexact;  /* a record came from before the horizon, or memory was out:
                      the device was busy for longer */
} lp_busy_time;

void lp_busy_time_free(lp_busy_time *busy);

/* Add a span in which the device was busy. */
void lp_busy_time_add(lp_busy_time *busy, lp_ns start, lp_ns end);

/* Return the total busy time. */
lp_ns lp_busy_time_total(const lp_busy_time *busy);

#endif
