/* Pages for the tables of the heap: by mmap alone, zeroed, and in memory only
 * once they are written to.
 */
#ifndef LP_MEMORY_PAGES_H
#define LP_MEMORY_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* True if the process' limits (ulimit -v and -d) have room for so many bytes
 * more, in memory or not. */
bool lp_pages_are_spare(size_t bytes);

/* [ANY] Map so many bytes; NULL if memory is out. */
void *lp_pages_map(size_t bytes);

/* [ANY] */
void lp_pages_unmap(void *pages, size_t bytes);

/* [ANY] Zero them, and give back their memory. */
void lp_pages_clear(void *pages, size_t bytes);

/* [ANY] Return how many bytes of these are on pages that have any data.  A
 * page that was only read is in memory for mincore(), and takes none. */
size_t lp_pages_used(void *pages, size_t bytes);

#endif
