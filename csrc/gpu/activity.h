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
#include "gpu/device_memory.h"
#include "gpu/event_timeline.h"
#include "gpu/free_calls.h"
#include "gpu/load_times.h"
#include "gpu/string_table.h"
#include "gpu/wait_log.h"
#include "record/call_paths.h"
#include "record/clock.h"
struct lp_gpu_backend;

enum { LP_DEVICES = 128 };

/* One record of a device; fields that a kind does not have are 0. */
typedef struct lp_record {
    lp_activity_kind kind;
    bool blocking;   /* a copy that blocked its thread: memory is pageable */
    bool realigned;  /* its times were of another clock, and put right */
    bool unfinished; /* it was not complete when the program ended */
    uint8_t undated; /* so many of its times are of an unknown clock */
    uint16_t device;
    uint8_t memory; /* as in lp_event */
    bool pooled;    /* an allocation is from a pool of the driver */
    uint64_t correlation;
    lp_ns start, end; /* on CLOCK_MONOTONIC */
    uint64_t bytes;
    uint64_t node;        /* graph node, */
    uint64_t source_node; /* and that which it was made from, if known */
    uint32_t launcher;    /* graph that launched this graph */
    bool by_device;       /* no call launched it, but the device */
    uint64_t address;     /* of an allocation, or of what is freed */
    const char *name;     /* borrowed; of a kernel, or a library */
    uint32_t name_number; /* without a name: a direction or the number of an
                             API call */
    uint32_t context, stream;
    uint64_t thread;
    lp_launch launch; /* of a kernel */
} lp_record;

/* Whether the ids of a device's records are ids of calls. */
typedef enum lp_join {
    LP_JOIN_UNPROVED = 0,
    LP_JOIN_WORKS,
    LP_JOIN_FAILS
} lp_join;

typedef struct lp_activity {
    lp_call_paths *paths; /* borrowed */
    lp_correlation correlations;
    lp_graph_nodes graph_nodes;
    lp_graph_nodes graphs; /* that calls launched, by their ids; of several
                              paths: of none */
    lp_wait_log waits;     /* calls that can block their thread */
    lp_free_calls frees;   /* those that free, until their waits are known */
    lp_load_times loads;   /* calls that load modules or create a context */
    bool paused;           /* collection is off (atomic) */
    pthread_mutex_t lock;  /* of all fields below */
    lp_sums sums;
    lp_string_table strings;
    lp_event_timeline timeline;
    lp_busy_time busy[LP_DEVICES];
    lp_device_memory memory;
    uint64_t invalid; /* records whose times were not collected, or that could
                         not be read */
    uint64_t realigned, undated, unfinished; /* records, see lp_record */
    uint64_t unknown; /* records of work, or buffers, that could not be charged
                         to a call since the last that could */
    lp_join join;
    uint64_t unjoined; /* records of work that no call of the driver has the
                          ids of; not counted once the join works */
    uint64_t lineless; /* those that no call of the runtime has, either */
    uint64_t joined;   /* the others, since it has failed */
} lp_activity;

/* Initialise; `paths` is borrowed, and `events` is the max number of records
 * in the timeline.  False if memory is out. */
bool lp_activity_init(lp_activity *activity, lp_call_paths *paths,
                      size_t events);

void lp_activity_free(lp_activity *activity);

/* [ANY] A call that launches work begins at `now`, charged to `path`; `flags`
 * as in correlation.h. */
static inline void
lp_activity_begin_launch(lp_activity *activity, uint64_t correlation,
                         uint32_t path, uint32_t flags, lp_ticks now)
{
    if (LP_UNLIKELY(__atomic_load_n(&activity->paused, __ATOMIC_RELAXED))) {
        flags |= LP_CORRELATION_IGNORED;
    }
    lp_correlation_insert_launch(&activity->correlations, correlation, path,
                                 flags, now);
}

/* [ANY] A call on this path launches a graph, which may launch others. */
void lp_activity_launch_graph(lp_activity *activity, uint32_t graph,
                              uint32_t path);

/* [ANY] The same for any other call. */
static inline void
lp_activity_begin_call(lp_activity *activity, uint64_t correlation,
                       uint32_t path, uint32_t flags)
{
    lp_activity_begin_launch(activity, correlation, path, flags, 0);
}

/* [ANY] A call on this path, which can block its thread, began at `start` and
 * returned after so many ticks. */
static inline void
lp_activity_log_wait(lp_activity *activity, uint32_t path, lp_ticks start,
                     lp_ticks ticks)
{
    if (!__atomic_load_n(&activity->paused, __ATOMIC_RELAXED)) {
        lp_wait_log_add(&activity->waits, path, start, ticks);
    }
}

/* [ANY] A call on this path blocked its thread. */
static inline void
lp_activity_add_wait(lp_activity *activity, uint32_t path, lp_ticks ticks)
{
    if (!__atomic_load_n(&activity->paused, __ATOMIC_RELAXED)) {
        lp_call_paths_add_wait(activity->paths, path, ticks);
    }
}

/* [ANY] A call that frees ends at `now`. */
static inline void
lp_activity_end_free(lp_activity *activity, uint64_t number, lp_ticks now,
                     bool loaded)
{
    lp_free_calls_end(&activity->frees, number, now, lp_clock_monotonic(),
                      !__atomic_load_n(&activity->paused, __ATOMIC_RELAXED),
                      loaded);
}

/* [ANY] A call on this path, which waits for nothing, loaded something and
 * took so many ticks. */
static inline void
lp_activity_add_load(lp_activity *activity, uint32_t path, lp_ticks ticks)
{
    if (ticks != 0 && !__atomic_load_n(&activity->paused, __ATOMIC_RELAXED)) {
        lp_load_times_add(&activity->loads, path, 1, ticks);
    }
}

/* [ANY] An asynchronous copy has returned after so many ticks, which are a
 * wait if its record says that it blocked its thread. */
void lp_activity_add_copy_wait(lp_activity *activity, uint64_t correlation,
                               lp_ticks ticks);

/* Conclude from the records so far whether the join fails; under the lock. */
bool lp_activity_join_fails(lp_activity *activity);

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
    uint64_t left_out, invalid, outstanding, realigned, undated, unfinished;
    lp_ns cut; /* min start of a record left out of the timeline; 0: none */
    uint64_t n_waits; /* entries of the log of waits */
    lp_ns busy[LP_DEVICES];
    bool inexact[LP_DEVICES];
    bool active[LP_DEVICES]; /* devices with any activity */
    lp_device_memory memory; /* owned; all its records are counted */
} lp_activity_snapshot;

/* Copy; false if memory is out. */
bool lp_activity_snapshot_take(lp_activity_snapshot *copy,
                               lp_activity *activity);

void lp_activity_snapshot_free(lp_activity_snapshot *copy);

/* Return the number of the name of a sum's or an event's work. */
uint32_t lp_names_of(lp_names *names, const struct lp_gpu_backend *backend,
                     uint32_t kind, uint32_t name);

#endif
