/* A copy of a ledger's sums, taken at one moment: so that whoever reads them
 * at leisure keeps no one waiting. */
#ifndef LP_LEDGER_COPY_H
#define LP_LEDGER_COPY_H

#include "lp_gpu.h"
#include "lp_ledger.h"

typedef struct lp_names {
    const char **texts; /* owned array, borrowed entries */
    uint32_t n;
    uint32_t directions; /* the number of the first direction's name */
    uint32_t room;
    uint32_t *calls[2]; /* owned: by the number of a runtime's or driver's
                         * call, the number of its name; 0: not asked for */
} lp_names;

typedef struct lp_ledger_copy {
    lp_sum *sums; /* owned; in no order */
    size_t n_sums;
    lp_names names;
    uint32_t n_paths; /* at least those that the sums name */
    size_t n_events;
    uint32_t n_launches;
    uint64_t left_out, invalid, outstanding;
    lp_ns busy[LP_DEVICES];
    bool inexact[LP_DEVICES];
    bool seen[LP_DEVICES]; /* devices that did anything */
} lp_ledger_copy;

/* False when memory is out. */
bool lp_ledger_copy_take(lp_ledger_copy *copy, lp_ledger *ledger);

void lp_ledger_copy_free(lp_ledger_copy *copy);

/* The number of the name of what a sum or an event tells of. */
uint32_t lp_names_of(lp_names *names, const lp_gpu_backend *backend,
                     uint32_t kind, uint32_t name);

#endif
