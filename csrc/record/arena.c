#include "record/arena.h"

#include <sys/mman.h>

enum { BLOCK_BYTES = 256 * 1024 };

/* The header of a block is a whole number of records long, so that every
 * record is aligned to its size. */
struct lp_arena_block {
    lp_arena_block *next;
    size_t bytes; /* of the mapping, this header included */
    size_t used;  /* bytes allocated, this header included */
    size_t padding;
};

_Static_assert(sizeof(struct lp_arena_block) % LP_RECORD_BYTES == 0,
               "records must be aligned");

void
lp_arena_init(lp_arena *arena)
{
    arena->first = NULL;
    arena->bytes = 0;
}

static lp_arena_block *
map_block(size_t bytes)
{
    lp_arena_block *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (block == MAP_FAILED) {
        return NULL;
    }
    block->bytes = bytes;
    block->used = sizeof(lp_arena_block);
    return block;
}

void *
lp_arena_alloc(lp_arena *arena, size_t records)
{
    size_t bytes = records * LP_RECORD_BYTES;
    lp_arena_block *block = arena->first;
    char *run;

    if (block == NULL || block->bytes - block->used < bytes) {
        size_t need = bytes + sizeof(lp_arena_block);

        block = map_block(need > BLOCK_BYTES ? need : BLOCK_BYTES);
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
    lp_arena_block *block = arena->first;

    while (block != NULL) {
        lp_arena_block *next = block->next;

        munmap(block, block->bytes);
        block = next;
    }
    lp_arena_init(arena);
}
