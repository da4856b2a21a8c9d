/* The one measurement of the process' heap: begun, ended, and read.
 *
 * The numbers stay readable after the end, until the next begin.  A forked
 * child goes on measuring, with all counts at 0: blocks of its parent are
 * older than the hooks.
 */
#ifndef LP_MEMORY_HEAP_SESSION_H
#define LP_MEMORY_HEAP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "record/call_paths.h"
#include "record/clock.h"

/* Numbers of one call path. */
typedef struct lp_heap_sum {
    uint64_t allocs;
    uint64_t alloc_bytes;
    uint64_t freed_bytes;
    uint64_t temp_bytes; /* freed before the execution of the line ended */
    uint64_t peak_bytes; /* live at the peak of the process */
} lp_heap_sum;

/* [GIL] Begin: all counts are 0.  `paths` and `clock` are borrowed for ever;
 * `sample` is the mean number of bytes between two blocks that are counted, 0
 * for all.  False if memory is out. */
bool lp_heap_start(lp_call_paths *paths, const lp_clock *clock,
                   uint64_t sample);

/* [GIL] End.  Idempotent. */
void lp_heap_stop(void);

/* [GIL] Whether blocks of extension modules are counted, for the live file. */
void lp_heap_note_native(bool native);

/* A child that was made without the handlers of forks: it counts no more for
 * its parent.  Idempotent. */
void lp_heap_part(void);

/* [GIL] There is a new live file: have the numbers in it. */
void lp_heap_outlive(void);

/* True if the heap is measured now, or was ever. */
bool lp_heap_is_on(void);
bool lp_heap_was_on(void);

/* Return the moment up to which it is, or was. */
lp_ticks lp_heap_until(void);

/* [GIL] Note the peak up to now, before the numbers are read. */
void lp_heap_settle(void);

/* Return the number of paths that may have numbers. */
uint32_t lp_heap_paths(void);

/* Return the numbers of a path. */
lp_heap_sum lp_heap_sum_of(uint32_t path);

/* Bytes that are live, and the moment of the peak; 0 if there is none. */
uint64_t lp_heap_live(void);
lp_ticks lp_heap_peak_at(void);

/* Return the bytes of memory of all tables, and the number of blocks that
 * there was no memory for. */
uint64_t lp_heap_side_bytes(void);
uint64_t lp_heap_lost(void);

#endif
