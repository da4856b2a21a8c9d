#include "record/arena.h"

/* Blocks of a live file grow with the arena: room on the disk is reserved for
 * all of a block, while the pages of private memory come as they are used. */
enum { MIN_LIVE_BYTES = 16 * 1024, BLOCK_BYTES = 256 * 1024 };

void
lp_arena_init(lp_arena *arena, lp_block_kind kind, bool is_live)
{
    arena->first = NULL;
    arena->bytes = 0;
    arena->kind = kind;
    arena->is_live = is_live;
}

static size_t
usual_bytes(const lp_arena *arena)
{
    if (!arena->is_live || arena->bytes >= BLOCK_BYTES) {
        return BLOCK_BYTES;
    }
    return arena->bytes > MIN_LIVE_BYTES ? arena->bytes : MIN_LIVE_BYTES;
}

void *
lp_arena_alloc(lp_arena *arena, size_t records)
{
    size_t bytes = records * LP_RECORD_BYTES;
    lp_block *block = arena->first;
    char *run;

    if (block == NULL || block->bytes - block->used < bytes) {
        size_t need = bytes + sizeof(lp_block), usual = usual_bytes(arena);

        block = lp_block_new(arena->kind, need > usual ? need : usual,
                             arena->is_live);
        if (block == NULL) {
            return NULL;
        }
        block->next = arena->first;
        arena->first = block;
        arena->bytes += block->bytes;
    }
    run = (char *)block + block->used;
    block->used += bytes;
    return run;
}

void
lp_arena_free(lp_arena *arena)
{
    lp_block *block = arena->first;

    while (block != NULL) {
        lp_block *next = block->next;

        lp_block_free(block);
        block = next;
    }
    lp_arena_init(arena, arena->kind, arena->is_live);
}
