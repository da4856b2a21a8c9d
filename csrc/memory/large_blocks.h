/* The live blocks that are not small: a hash table by address.
 *
 * A block is in one of two buckets of 8, in one of several segments.  When all
 * its buckets are full, a segment as large as all others is added: nothing is
 * ever moved, so that threads need no lock.  A slot is claimed by exchanging
 * its address for 0, and given back by storing 0; the rest of it belongs to
 * the thread that has the address.
 */
#ifndef LP_MEMORY_LARGE_BLOCKS_H
#define LP_MEMORY_LARGE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "memory/heap.h"

/* [GIL] Make the table; false if memory is out.  Idempotent. */
bool lp_large_open(void);

/* [GIL] Forget all blocks. */
void lp_large_clear(void);

/* [ANY] Add a block; false if memory is out.  `stale` becomes the block that
 * was at this address before, if nobody said that it was freed. */
bool lp_large_add(const void *address, lp_heap_block block,
                  lp_heap_block *stale);

/* [ANY] Find a block, and leave it where it is; its site is 0 if it is not
 * there.  Nobody may take it meanwhile. */
lp_heap_block lp_large_find(const void *address);

/* [ANY] Take a block out; its site is 0 if it is not there. */
lp_heap_block lp_large_take(const void *address);

/* Return the bytes of memory in use. */
size_t lp_large_bytes(void);

#endif
