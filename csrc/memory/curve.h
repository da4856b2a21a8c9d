/* The curve of live memory over time, in a bounded number of moments.
 *
 * When all are taken, every second goes, of two the one with less memory, and
 * the next ones are twice as far apart.  One thread at a time takes a moment;
 * another one that comes meanwhile takes none.
 */
#ifndef LP_MEMORY_CURVE_H
#define LP_MEMORY_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/clock.h"

enum { LP_MOMENTS = 512, LP_MOMENT_PATHS = 16 };

/* Bytes that were live at one moment: in all, and on the paths with most by
 * their own blocks, the largest first. */
typedef struct lp_moment {
    lp_ticks at;
    uint64_t live;
    uint32_t n;
    uint32_t paths[LP_MOMENT_PATHS];
    uint64_t bytes[LP_MOMENT_PATHS];
} lp_moment;

/* [GIL] Begin with no moments, `step` ticks apart; false if memory is out. */
bool lp_curve_start(lp_ticks now, lp_ticks step);

/* [ANY] The time from which on the next moment is due; never 0. */
lp_ticks lp_curve_due(void);

/* [ANY] Take a moment, if it is due; returns the ticks that it took. */
lp_ticks lp_curve_take(const lp_clock *clock);

/* Fill in what is live now. */
void lp_moment_take(lp_moment *moment, lp_ticks now);

/* [GIL] Copy all moments, at most LP_MOMENTS; returns their number. */
uint32_t lp_curve_copy(lp_moment *to);

/* While no thread takes a moment: return their number, and one of them. */
uint32_t lp_curve_length(void);
const lp_moment *lp_curve_at(uint32_t number);

/* Return the bytes of memory in use. */
size_t lp_curve_bytes(void);

#endif
