/* The activity of devices, and the call paths that it is charged to.
 *
 * A backend begins a call for each API call that launches work on a device,
 * and adds each record of the device.  Nothing here depends on a vendor.
 * Calls begin and end on the launching threads, without a lock.  Records are
 * added by one thread at a time, which holds the lock for a buffer of them;
 * readers also hold it.  A snapshot is a copy of the sums, taken at one time,
 * that a slow reader can use without the lock.
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

/* One record of a device; fields that a kind does not have are 0. */
typedef struct lp_record {
    lp_activity_kind kind;
    bool blocking; /* a copy that blocked its thread: memory is pageable */
    uint16_t device;
    uint8_t memory; /* as in lp_event */
    uint64_t correlation;
    lp_ns start, end; /* on CLOCK_MONOTONIC */
    uint64_t bytes;
    uint64_t node;        /* graph node */
    const char *name;     /* borrowed; of a kernel */
    uint32_t name_number; /* without a name: a direction or the number of an
                             API call */
    uint32_t context, stream;
    uint64_t thread;
    lp_launch launch; /* of a kernel */
} lp_record;

typedef struct lp_activity {
    lp_call_paths paths;
    lp_correlation correlations;
    lp_graph_nodes graph_nodes;
    bool paused;          /* collection is off (atomic) */
    pthread_mutex_t lock; /* of all fields below */
    lp_sums sums;
    lp_string_table strings;
    lp_event_timeline timeline;
    lp_busy_time busy[LP_DEVICES];
    uint64_t invalid; /* records whose times were not collected, or that could
                         not be read */
} lp_activity;

/* Initialise; `events` is the max number of records in the timeline.  False if
 * memory is out. */
bool lp_activity_init(lp_activity *activity, size_t events);

void lp_activity_free(lp_activity *activity);

/* [ANY] A call begins, charged to `path`; `flags` as in correlation.h. */
static inline void
lp_activity_begin_call(lp_activity *activity, uint64_t correlation,
                       uint32_t path, uint32_t flags)
{
    if (LP_UNLIKELY(__atomic_load_n(&activity->paused, __ATOMIC_RELAXED))) {
        flags |= LP_CORRELATION_IGNORED;
    }
    lp_correlation_insert(&activity->correlations, correlation, path, flags);
}

/* [ANY] A call on this path blocked its thread. */
static inline void
lp_activity_add_wait(lp_activity *activity, uint32_t path, lp_ticks ticks)
{
    if (!__atomic_load_n(&activity->paused, __ATOMIC_RELAXED)) {
        lp_call_paths_add_wait(&activity->paths, path, ticks);
    }
}

/* [ANY] An asynchronous copy has returned after so many ticks, which are a
 * wait if its record says that it blocked its thread. */
void lp_activity_add_copy_wait(lp_activity *activity, uint64_t correlation,
                               lp_ticks ticks);

/* Add a record; under the lock. */
void lp_activity_add_record(lp_activity *activity, const lp_record *record);

typedef struct lp_names {
    const char **strings; /* owned array, borrowed entries */
    uint32_t n;
    uint32_t directions; /* number of the first direction's name */
    uint32_t capacity;
    /* owned: number of the name of a runtime or driver call, by the number of
     * the call; 0 if not looked up yet */
    uint32_t *calls[2];
} lp_names;

typedef struct lp_activity_snapshot {
    lp_sum *sums; /* owned; unsorted */
    size_t n_sums;
    lp_names names;
    uint32_t n_paths; /* at least those in the sums */
    size_t n_events;
    uint32_t n_launches;
    uint64_t left_out, invalid, outstanding;
    lp_ns busy[LP_DEVICES];
    bool inexact[LP_DEVICES];
    bool active[LP_DEVICES]; /* devices with any activity */
} lp_activity_snapshot;

/* Copy; false if memory is out. */
bool lp_activity_snapshot_take(lp_activity_snapshot *copy,
                               lp_activity *activity);

void lp_activity_snapshot_free(lp_activity_snapshot *copy);

/* Return the number of the name of a sum's or an event's work. */
uint32_t lp_names_of(lp_names *names, const struct lp_gpu_backend *backend,
                     uint32_t kind, uint32_t name);

#endif
