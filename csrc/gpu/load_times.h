/* Time in which calls of a device's API loaded modules or created a context,
 * by call path.
 *
 * Few calls do: the table is small, and of fixed size.  Any thread adds to it
 * without a lock.
 */
#ifndef LP_GPU_LOAD_TIMES_H
#define LP_GPU_LOAD_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/clock.h"

enum { LP_LOAD_TIMES = 1 << 12 };

typedef struct lp_load_time {
    uint32_t path;  /* plus 1; 0 in a free place (atomic) */
    uint32_t calls; /* (atomic) */
    lp_ticks ticks; /* (atomic) */
} lp_load_time;

typedef struct lp_load_times {
    lp_load_time *places; /* owned */
    uint64_t left_out;    /* calls for which there was no room (atomic) */
} lp_load_times;

/* Initialise; false if memory is out. */
bool lp_load_times_init(lp_load_times *self);

void lp_load_times_free(lp_load_times *self);

/* [ANY] Add so many calls of a path and their ticks; left out, and counted, if
 * the table is full. */
void lp_load_times_add(lp_load_times *self, uint32_t path, uint32_t calls,
                       lp_ticks ticks);

/* [ANY] Return the sums in a place, with `path` as it is, and calls 0 if it is
 * free. */
lp_load_time lp_load_times_at(const lp_load_times *self, uint32_t place);

#endif
