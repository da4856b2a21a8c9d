/* Sites: the counters of each call path that allocated memory, by its number.
 *
 * A site belongs to the thread of its path, which writes the fields without a
 * lock; what other threads free, they add to a field of their own.  Site 0 is
 * shared by the threads that have no recorder.
 */
#ifndef LP_MEMORY_SITES_H
#define LP_MEMORY_SITES_H

#include <stdint.h>

#include "record/call_paths.h"
#include "record/line_counters.h"

enum {
    LP_MAX_SITES = LP_CALL_PATHS_PER_CHUNK * LP_CALL_PATH_CHUNKS,
    LP_NO_THREAD = 0
};

typedef struct lp_site {
    uint64_t allocs;
    uint64_t alloc_bytes;
    uint64_t own_freed;   /* bytes, by its thread, */
    uint64_t other_freed; /* and by others (atomic add) */
    uint64_t temp_bytes;
    uint64_t snap;       /* bytes that were live when `epoch` began, if */
    uint32_t epoch;      /* that is the present one: see heap.c */
    uint16_t thread;     /* LP_NO_THREAD: no thread's own */
    uint16_t frame;      /* place of the frame of its line, when last seen */
    const lp_line *line; /* its innermost line, compared but never read */
} lp_site;

_Static_assert(sizeof(lp_site) == 64, "one line of a cache");

#define LP_READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define LP_WRITE(field, value)                                                \
    __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

/* Bytes of a site that are live. */
static inline uint64_t
lp_site_live(const lp_site *site)
{
    return LP_READ(site->alloc_bytes) - LP_READ(site->own_freed) -
           LP_READ(site->other_freed);
}

#endif
