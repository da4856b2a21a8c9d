#include "gpu/wait_log.h"

#include <stdlib.h>

bool
lp_wait_log_init(lp_wait_log *log, size_t max)
{
    *log = (lp_wait_log){.max = max, .cut = UINT64_MAX};
    log->chunks =
        calloc(max / LP_WAITS_PER_CHUNK + 1, sizeof(lp_logged_wait *));
    return log->chunks != NULL;
}

void
lp_wait_log_free(lp_wait_log *log)
{
    for (size_t i = 0;
         log->chunks != NULL && i <= log->max / LP_WAITS_PER_CHUNK; i++) {
        free(log->chunks[i]);
    }
    free(log->chunks);
    *log = (lp_wait_log){0};
}

/* Return the chunk of an entry, made if needed; NULL if memory is out. */
static lp_logged_wait *
chunk_of(lp_wait_log *log, uint64_t at)
{
    lp_logged_wait **slot = &log->chunks[at / LP_WAITS_PER_CHUNK];
    lp_logged_wait *chunk = __atomic_load_n(slot, __ATOMIC_ACQUIRE), *made;

    if (LP_LIKELY(chunk != NULL)) {
        return chunk;
    }
    made = calloc(LP_WAITS_PER_CHUNK, sizeof(*made));
    if (made != NULL &&
        !__atomic_compare_exchange_n(slot, &chunk, made, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        free(made); /* another thread has made the chunk in the meantime */
        return chunk;
    }
    return made;
}

static void
leave_out(lp_wait_log *log, lp_ticks start)
{
    lp_ticks cut = __atomic_load_n(&log->cut, __ATOMIC_RELAXED);

    while (start < cut &&
           !__atomic_compare_exchange_n(&log->cut, &cut, start, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

void
lp_wait_log_add(lp_wait_log *log, uint32_t path, lp_ticks start,
                lp_ticks ticks)
{
    uint64_t at = __atomic_fetch_add(&log->n, 1, __ATOMIC_RELAXED);
    lp_logged_wait *chunk = at < log->max ? chunk_of(log, at) : NULL;
    lp_logged_wait *entry;

    if (chunk == NULL) {
        leave_out(log, start);
        return;
    }
    entry = &chunk[at % LP_WAITS_PER_CHUNK];
    entry->path = path;
    entry->start = start;
    entry->ticks = ticks;
    __atomic_store_n(&entry->written, 1, __ATOMIC_RELEASE);
}

uint64_t
lp_wait_log_entries(const lp_wait_log *log)
{
    uint64_t n = __atomic_load_n(&log->n, __ATOMIC_RELAXED);

    return n < log->max ? n : log->max;
}

lp_logged_wait
lp_wait_log_at(const lp_wait_log *log, uint64_t at)
{
    const lp_logged_wait *chunk = __atomic_load_n(
        &log->chunks[at / LP_WAITS_PER_CHUNK], __ATOMIC_ACQUIRE);
    const lp_logged_wait *entry;

    if (chunk == NULL) {
        return (lp_logged_wait){0};
    }
    entry = &chunk[at % LP_WAITS_PER_CHUNK];
    if (!__atomic_load_n(&entry->written, __ATOMIC_ACQUIRE)) {
        return (lp_logged_wait){0};
    }
    return *entry;
}
