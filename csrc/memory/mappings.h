/* Mappings that count as blocks of the heap, so that a part of one can be
 * unmapped, moved or replaced.
 *
 * A table of a fixed size: mappings beyond it count until the whole of them
 * is unmapped.  Everything here is [ANY]; no lock: a thread that cuts a
 * mapping claims it, and another one that cuts the same mapping at that moment
 * tries some times and gives up.
 */
#ifndef LP_MEMORY_MAPPINGS_H
#define LP_MEMORY_MAPPINGS_H

#include <stddef.h>

#include "memory/heap.h"

enum { LP_MAX_PIECES = 16 };

/* What was cut out of mappings: taken out of the heap, not yet counted. */
typedef struct lp_cut {
    size_t n;
    struct {
        char *start;
        size_t bytes;
        lp_heap_block block;
    } pieces[LP_MAX_PIECES]; /* more are counted as freed at once */
} lp_cut;

/* Remember a mapping that was added to the heap. */
void lp_mappings_add(void *start, size_t bytes);

/* Cut the pages of a range out of all mappings.  It is to be counted, or put
 * back, when the system call has shown whether it succeeds. */
void lp_mappings_cut(void *start, size_t bytes, lp_cut *cut);

void lp_cut_freed(const lp_cut *cut);

/* Of mremap. */
void lp_cut_moved(const lp_cut *cut);

void lp_cut_put_back(const lp_cut *cut);

/* Forget all mappings. */
void lp_mappings_clear(void);

#endif
