/* Memory for counters: blocks of fixed-size records that never move.
 *
 * A pointer into a block stays good until the whole set is freed, so another
 * thread can add to a counter without a lock, and a block can one day be a
 * shared mapping that outlives the process.  Records are handed out in runs
 * and are zero; nothing is given back singly.
 *
 * One owner at a time: whoever holds the set calls these verbs.
 */
#ifndef LP_RECORD_ARENA_H
#define LP_RECORD_ARENA_H

#include <stddef.h>

enum { LP_RECORD_BYTES = 16 };

typedef struct lp_block lp_block;

typedef struct lp_blocks {
    lp_block *first; /* owned; the one that runs are taken from */
    size_t bytes;    /* mapped in all */
} lp_blocks;

void lp_blocks_init(lp_blocks *blocks);

/* A run of `records` zeroed records, or NULL when memory is out. */
void *lp_blocks_take(lp_blocks *blocks, size_t records);

void lp_blocks_free(lp_blocks *blocks);

#endif
