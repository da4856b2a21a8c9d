/* The ledger: what a device did, and to which lines it is charged.
 *
 * A backend opens an account for each call that gives the device work, and
 * brings each record of the device; the ledger knows the rest.  It knows of
 * no vendor.  Calls are opened and closed on the launching threads, without
 * a lock.  Records are entered by one thread at a time, which holds the lock
 * for a buffer of them, and so does who reads the ledger.
 */
#ifndef LP_GPU_ACTIVITY_H
#define LP_GPU_ACTIVITY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/activity_sums.h"
#include "gpu/correlation.h"
#include "gpu/event_timeline.h"
#include "gpu/string_table.h"
#include "record/call_paths.h"
#include "record/clock.h"
struct lp_gpu_backend;

enum { LP_DEVICES = 128 };

/* One record of a device; what a kind does not have is 0. */
typedef struct lp_record {
    lp_kind kind;
    bool blocking; /* a copy that held its thread: memory is pageable */
    uint16_t device;
    uint8_t memory; /* as in lp_event */
    uint64_t correlation;
    lp_ns start, end; /* of CLOCK_MONOTONIC */
    uint64_t bytes;
    uint64_t node;    /* of a graph */
    const char *name; /* borrowed; of a kernel */
    uint32_t what;    /* without a name: a direction or a call's number */
    uint32_t context, stream;
    uint64_t thread;
    lp_launch launch; /* of a kernel */
} lp_record;

typedef struct lp_ledger {
    lp_paths paths;
    lp_corr corr;
    lp_origins origins;
    bool paused;          /* collection is off (atomic) */
    pthread_mutex_t lock; /* of all below */
    lp_sums sums;
    lp_texts texts;
    lp_timeline timeline;
    lp_busy busy[LP_DEVICES];
    uint64_t invalid; /* records whose times were not collected, or that
                       * could not be read */
} lp_ledger;

/* `events` is how many records the timeline keeps.  False when memory is
 * out. */
bool lp_ledger_init(lp_ledger *ledger, size_t events);

void lp_ledger_free(lp_ledger *ledger);

/* [ANY] A call begins, charged to `path`; `flags` as in lp_corr.h. */
static inline void
lp_ledger_open_call(lp_ledger *ledger, uint64_t correlation, uint32_t path,
                    uint32_t flags)
{
    if (LP_UNLIKELY(__atomic_load_n(&ledger->paused, __ATOMIC_RELAXED))) {
        flags |= LP_CORR_IGNORED;
    }
    lp_corr_put(&ledger->corr, correlation, path, flags);
}

/* [ANY] A call on this path blocked its thread. */
static inline void
lp_ledger_waited(lp_ledger *ledger, uint32_t path, lp_ticks ticks)
{
    if (!__atomic_load_n(&ledger->paused, __ATOMIC_RELAXED)) {
        lp_paths_waited(&ledger->paths, path, ticks);
    }
}

/* [ANY] An asynchronous copy has returned after so many ticks: a wait, if its
 * record says that it was none of those that return at once. */
void lp_ledger_held(lp_ledger *ledger, uint64_t correlation, lp_ticks ticks);

/* Under the lock: enter a record. */
void lp_ledger_enter(lp_ledger *ledger, const lp_record *record);

/* A copy of a ledger's sums, taken at one moment: so that whoever reads them
 * at leisure keeps no one waiting. */

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
uint32_t lp_names_of(lp_names *names, const struct lp_gpu_backend *backend,
                     uint32_t kind, uint32_t name);

#endif
