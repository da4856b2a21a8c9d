/* A log of the calls of a device's API that can block their thread, in the
 * order in which they returned.
 *
 * Any thread adds without a lock: an entry is reserved by an atomic addition,
 * and read only once it is marked as written.  Chunks of entries are allocated
 * as they are needed, and freed with the log alone.  Beyond the max number of
 * entries calls are left out, and the log knows from when on.
 */
#ifndef LP_GPU_WAIT_LOG_H
#define LP_GPU_WAIT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/clock.h"

typedef struct lp_logged_wait {
    lp_ticks start, ticks;
    uint32_t path;
    uint32_t written; /* 1 once the fields above are valid (atomic) */
} lp_logged_wait;

enum { LP_WAITS_PER_CHUNK = 4096 };

typedef struct lp_wait_log {
    lp_logged_wait **chunks; /* owned array, owned entries (atomic) */
    uint64_t n;              /* number of waits, left-out ones too (atomic) */
    uint64_t max;            /* max number of entries */
    lp_ticks cut;            /* min start of a wait that is left out (atomic);
                                UINT64_MAX for none */
} lp_wait_log;

/* Initialise; false if memory is out. */
bool lp_wait_log_init(lp_wait_log *log, size_t max);

void lp_wait_log_free(lp_wait_log *log);

/* [ANY] A call on this path took so many ticks. */
void lp_wait_log_add(lp_wait_log *log, uint32_t path, lp_ticks start,
                     lp_ticks ticks);

/* [ANY] Return the number of entries. */
uint64_t lp_wait_log_entries(const lp_wait_log *log);

/* [ANY] Return an entry; `start` is 0 if it is not written yet. */
lp_logged_wait lp_wait_log_at(const lp_wait_log *log, uint64_t at);

#endif
