/* The live small blocks: a shadow of memory, with a cell of 8 bytes for every
 * 16 bytes of address, and a wide cell of 16 bytes for every 512, in which a
 * block of more than that can begin but once.
 *
 * A cell that is not 0 is the block that begins there.  An address belongs to
 * one thread from malloc's return until free, so that a cell needs no lock;
 * a wide cell is claimed and given back as a whole, by its first half, as its
 * other addresses may be another thread's.  Chunks of the shadow are made as
 * addresses come, and stay.
 */
#ifndef LP_MEMORY_SMALL_BLOCKS_H
#define LP_MEMORY_SMALL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/heap.h"
#include "record/clock.h"

enum {
    LP_SMALL_MAX = 512,   /* bytes of the largest small block */
    LP_SMALL_ALIGN = 16,  /* bytes of address of a cell */
    LP_MEDIUM_MAX = 2048, /* bytes of the largest block in a wide cell: a
                             larger one takes less memory elsewhere */
    LP_WIDE_ALIGN = 512,  /* bytes of address of a wide cell */
    LP_CHUNK_SHIFT = 24,  /* addresses of a chunk */
    LP_ADDRESS_BITS = 48, /* of a process */
    LP_CHUNK_CELLS = (1 << LP_CHUNK_SHIFT) / LP_SMALL_ALIGN,
    LP_CHUNK_WIDE_CELLS = (1 << LP_CHUNK_SHIFT) / LP_WIDE_ALIGN,
    LP_CELLS_PER_WIDE = LP_WIDE_ALIGN / LP_SMALL_ALIGN,
    LP_STAMP_BITS = 22,
    LP_STAMP_MASK = (1 << LP_STAMP_BITS) - 1,
    LP_SAMPLED = 1 /* a cell of a block that is among the large ones */
};

typedef struct lp_wide_cell {
    uint64_t block; /* as a cell, with the place of the block for its bytes */
    uint64_t bytes;
} lp_wide_cell;

/* By number of the chunk, with so many entries; NULL if there is no shadow. */
extern uint64_t **lp_shadow;

/* [GIL] Make the shadow; false if memory is out.  Idempotent. */
bool lp_shadow_open(void);

/* [GIL] Forget all blocks. */
void lp_shadow_clear(void);

/* Return the bytes of memory in use. */
size_t lp_shadow_bytes(void);

/* [ANY] Make the chunk of this number; NULL if memory is out. */
uint64_t *lp_shadow_add(uint64_t chunk);

/* Return the number of an address' 16 bytes; a larger one than any has, if the
 * address has no cell. */
LP_INLINE uint64_t
lp_unit_of(const void *block)
{
    uint64_t address = (uintptr_t)block;

    return address >> 4 | address << 60;
}

LP_INLINE bool
lp_has_cell(uint64_t unit)
{
    return unit >> (LP_ADDRESS_BITS - 4) == 0;
}

/* [ANY] Return the cell of a unit that has one; NULL if there is none yet. */
LP_INLINE uint64_t *
lp_shadow_cell(uint64_t unit)
{
    uint64_t *cells =
        __atomic_load_n(&lp_shadow[unit / LP_CHUNK_CELLS], __ATOMIC_ACQUIRE);

    return LP_UNLIKELY(cells == NULL) ? NULL : cells + unit % LP_CHUNK_CELLS;
}

/* [ANY] The same, made if needed; NULL if memory is out. */
LP_INLINE uint64_t *
lp_shadow_make_cell(uint64_t unit)
{
    uint64_t *cell = lp_shadow_cell(unit);

    if (LP_UNLIKELY(cell == NULL)) {
        uint64_t *cells = lp_shadow_add(unit / LP_CHUNK_CELLS);

        cell = cells == NULL ? NULL : cells + unit % LP_CHUNK_CELLS;
    }
    return cell;
}

/* [ANY] Return the wide cell of a unit with a cell. */
LP_INLINE lp_wide_cell *
lp_shadow_wide_cell(uint64_t *cell, uint64_t unit)
{
    uint64_t *end = cell - unit % LP_CHUNK_CELLS + LP_CHUNK_CELLS;

    return (lp_wide_cell *)(void *)end +
           unit % LP_CHUNK_CELLS / LP_CELLS_PER_WIDE;
}

/* A small block as a cell: site, bytes, stamp. */
LP_INLINE uint64_t
lp_cell_of(uint32_t site, uint64_t bytes, uint32_t stamp)
{
    return (uint64_t)site << 32 | bytes << LP_STAMP_BITS |
           (stamp & LP_STAMP_MASK);
}

/* True if what a cell holds is a block: it has a site. */
LP_INLINE bool
lp_is_block(uint64_t cell)
{
    return cell >> 32 != 0;
}

LP_INLINE lp_heap_block
lp_cell_block(uint64_t cell)
{
    return (lp_heap_block){.bytes = (uint32_t)cell >> LP_STAMP_BITS,
                           .site = (uint32_t)(cell >> 32),
                           .stamp = (uint32_t)cell & LP_STAMP_MASK};
}

/* [ANY] Enter a block of more than LP_SMALL_MAX bytes, whose unit has a cell.
 * False if memory is out, or if a block is there, which was freed without a
 * word. */
LP_INLINE bool
lp_wide_add(uint64_t unit, lp_heap_block entry)
{
    uint64_t *cell = lp_shadow_make_cell(unit);
    lp_wide_cell *wide;

    if (LP_UNLIKELY(cell == NULL) ||
        LP_UNLIKELY(__atomic_load_n(cell, __ATOMIC_RELAXED) != 0)) {
        return false;
    }
    wide = lp_shadow_wide_cell(cell, unit);
    if (LP_UNLIKELY(__atomic_load_n(&wide->block, __ATOMIC_ACQUIRE) != 0)) {
        return false;
    }
    wide->bytes = entry.bytes;
    __atomic_store_n(
        &wide->block,
        lp_cell_of(entry.site, unit % LP_CELLS_PER_WIDE, entry.stamp),
        __ATOMIC_RELAXED);
    return true;
}

/* [ANY] Find a block in its wide cell; NULL if it is not there. */
LP_INLINE lp_wide_cell *
lp_wide_find(uint64_t unit, lp_heap_block *found)
{
    uint64_t *cell = lp_shadow_cell(unit);
    lp_wide_cell *wide;

    if (LP_UNLIKELY(cell == NULL)) {
        return NULL;
    }
    wide = lp_shadow_wide_cell(cell, unit);
    *found = lp_cell_block(__atomic_load_n(&wide->block, __ATOMIC_ACQUIRE));
    if (found->site == 0 || found->bytes != unit % LP_CELLS_PER_WIDE) {
        return NULL;
    }
    found->bytes = wide->bytes;
    return wide;
}

/* [ANY] Take a block out of its wide cell; its site is 0 if it is not there.
 */
LP_INLINE lp_heap_block
lp_wide_take(uint64_t unit)
{
    lp_heap_block taken;
    lp_wide_cell *wide = lp_wide_find(unit, &taken);

    if (wide == NULL) {
        return (lp_heap_block){0, 0, 0};
    }
    __atomic_store_n(&wide->block, 0, __ATOMIC_RELEASE);
    return taken;
}

#endif
