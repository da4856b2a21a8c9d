/* Memory for counters: blocks of fixed-size records that never move.
 *
 * A pointer into a block is valid until the whole arena is freed, so another
 * thread can add to a counter without a lock, and blocks may lie in a file
 * that outlives the process: see block.h.  Records are allocated in runs,
 * zeroed, and never freed singly.
 *
 * An arena has one owner at a time, who alone calls these functions.
 */
#ifndef LP_RECORD_ARENA_H
#define LP_RECORD_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "record/block.h"

enum { LP_RECORD_BYTES = 16 };

typedef struct lp_arena {
    lp_block *first; /* owned; the block from which runs are allocated */
    size_t bytes;    /* bytes mapped in total */
    lp_block_kind kind;
    bool is_live; /* its blocks are in the live file */
} lp_arena;

/* `is_live` may be set later, for blocks from then on. */
void lp_arena_init(lp_arena *arena, lp_block_kind kind, bool is_live);

/* Allocate a run of `records` zeroed records; NULL if memory is out. */
void *lp_arena_alloc(lp_arena *arena, size_t records);

void lp_arena_free(lp_arena *arena);

#endif
