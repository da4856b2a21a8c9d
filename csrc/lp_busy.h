/* How long a device did anything at all: the union of intervals.
 *
 * Work of several streams overlaps, and records come nearly, but not quite,
 * in order.  The intervals of late are kept apart and joined; the oldest are
 * added up once there are too many, and a record that comes from before then
 * makes the answer a lower bound.  One owner at a time.
 */
#ifndef LP_BUSY_H
#define LP_BUSY_H

#include <stdbool.h>
#include <stddef.h>

#include "lp_clock.h"

enum { LP_BUSY_SPANS = 1 << 16 };

typedef struct lp_span {
    lp_ns start, end;
} lp_span;

typedef struct lp_busy {
    lp_span *spans; /* owned: apart from each other, in order */
    size_t n;
    lp_ns added;   /* of the spans that were given up */
    lp_ns horizon; /* where the last of those ended */
    bool inexact;  /* a record came from before the horizon, or memory is
                    * out: the device was busy for longer */
} lp_busy;

void lp_busy_free(lp_busy *busy);

/* The device was busy from `start` to `end`. */
void lp_busy_add(lp_busy *busy, lp_ns start, lp_ns end);

/* How long it was busy in all. */
lp_ns lp_busy_total(const lp_busy *busy);

#endif
