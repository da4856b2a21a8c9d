/* The heap of the process: which call path allocated each block that is live,
 * and the sums of every path.
 *
 * The hooks of allocators call these functions around the allocator below
 * them.  Every function marked [ANY] may run on any thread, at any time, with
 * or without the GIL, in a signal handler: it takes no lock, calls no Python
 * and allocates by mmap alone.  A hook works so:
 *
 *     bool counts = lp_heap_enter();
 *     block = below(bytes);
 *     if (counts) {
 *         lp_heap_leave();
 *         lp_heap_added(block, bytes);
 *     }
 *
 *     lp_heap_freed(lp_heap_take(block));          (free)
 *     below_free(block);
 *
 *     lp_heap_block old;                           (realloc)
 *     bool counts = lp_heap_enter();
 *     if (counts) {
 *         old = lp_heap_take(block);
 *     }
 *     moved = below_realloc(block, bytes);
 *     if (counts) {
 *         lp_heap_leave();
 *         if (moved != NULL) {
 *             lp_heap_moved(old);
 *             lp_heap_added(moved, bytes);
 *         } else {
 *             lp_heap_put_back(block, old);
 *         }
 *     }
 *
 * A block is taken before the allocator below frees it, for another thread may
 * get its address at once.  A free needs no lp_heap_enter(): a block has one
 * entry, whichever layer made it.
 */
#ifndef LP_MEMORY_HEAP_H
#define LP_MEMORY_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block that was taken out of the tables. */
typedef struct lp_heap_block {
    uint64_t bytes;
    uint32_t site; /* number of its call path, plus 1; 0: it was not counted */
    uint32_t stamp; /* which execution of its line allocated it */
} lp_heap_block;

/* [ANY] An allocator below is called now.  False: pass through, as another
 * hook of this thread is at work already, or nothing is measured; else the
 * caller must leave. */
bool lp_heap_enter(void);

void lp_heap_leave(void);

/* [ANY] Count a block of the thread's open lines; after lp_heap_leave().  NULL
 * is ignored. */
void lp_heap_added(void *block, size_t bytes);

/* [ANY] Take a block out of the tables: nothing is counted yet.  NULL and
 * blocks without an entry give one that counts for nothing. */
lp_heap_block lp_heap_take(void *block);

/* [ANY] Count the block as freed. */
void lp_heap_freed(lp_heap_block taken);

/* [ANY] Count it as freed by realloc, which is never temporary. */
void lp_heap_moved(lp_heap_block taken);

/* [ANY] realloc failed: as if nothing had happened. */
void lp_heap_put_back(void *block, lp_heap_block taken);

/* [ANY] The block may have been allocated for lineprof itself, by an event: if
 * the present execution of the thread's line did, it is as if it had never
 * been. */
void lp_heap_forget(void *block);

/* [ANY] Return the newest block of this thread, and its size; NULL if it is
 * not small, was freed, or is older than the present execution of the thread's
 * line. */
void *lp_heap_newest(size_t *bytes);

/* [ANY] Blocks that this thread allocates from now on are lineprof's own, and
 * count nowhere; what it frees does count.  Nests. */
void lp_heap_quiet(void);

void lp_heap_audible(void);

#endif
