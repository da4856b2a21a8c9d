/* Memory for counters: blocks of fixed-size records that never move.
 *
 * A pointer into a block is valid until the whole set is freed, so another
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

typedef struct lp_arena_block lp_arena_block;

typedef struct lp_arena {
    lp_arena_block *first; /* owned; the one that runs are taken from */
    size_t bytes;          /* mapped in all */
} lp_arena;

void lp_arena_init(lp_arena *arena);

/* A run of `records` zeroed records, or NULL when memory is out. */
void *lp_arena_alloc(lp_arena *arena, size_t records);

void lp_arena_free(lp_arena *arena);

#endif
