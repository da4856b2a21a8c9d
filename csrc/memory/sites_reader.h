/* Memory by call path in a live file: see lasting_sites.h and live_reader.h.
 *
 * The process may have ended at any instruction, so that the last peak is not
 * noted yet; the shares of the peak are found as the process would have.
 * Nothing in the file is trusted.
 */
#ifndef LP_MEMORY_SITES_READER_H
#define LP_MEMORY_SITES_READER_H

#include "memory/heap_session.h"
#include "memory/lasting_sites.h"
#include "record/live_reader.h"

typedef struct lp_sites_copy {
    const lp_sites_block *blocks[LP_CALL_PATH_CHUNKS]; /* borrowed */
    const lp_heap_numbers *numbers; /* NULL: no memory was measured */
    uint32_t n;                     /* paths, number 0 included */
    uint32_t epoch;
    bool is_highest;  /* it was at its peak when it ended */
    lp_ticks peak_at; /* 0 if that is so */
} lp_sites_copy;

void lp_sites_copy_open(lp_sites_copy *self, const lp_live_copy *copy);

/* Return a path, whose parent has a lower number; a root if it is damaged. */
lp_call_path lp_sites_copy_path(const lp_sites_copy *self, uint32_t number);

/* Return the numbers of a path. */
lp_heap_sum lp_sites_copy_sum(const lp_sites_copy *self, uint32_t number);

#endif
