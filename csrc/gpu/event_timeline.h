/* A timeline of a device's records, in columns, up to a limit.
 *
 * Columns are stored in the file as they are, and compress best.  Beyond the
 * limit records still count in the sums, and are counted here as left out.
 * One owner at a time.
 */
#ifndef LP_GPU_EVENT_TIMELINE_H
#define LP_GPU_EVENT_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "record/clock.h"
#include "record/hash_index.h"

/* The launch configuration of a kernel. */
typedef struct lp_launch {
    int32_t grid[3], block[3];
    uint32_t registers;                /* per thread */
    int32_t static_smem, dynamic_smem; /* bytes per block */
} lp_launch;

typedef struct lp_event {
    uint64_t start, ns; /* ns on CLOCK_MONOTONIC */
    uint64_t bytes;
    uint64_t thread;   /* of the thread that made an API call, its id in the
                          operating system */
    uint64_t launched; /* ticks: when the call that launched it began; 0 if
                          unknown */
    uint32_t name;     /* as in lp_sum_key */
    uint32_t path, origin;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint32_t launch; /* number of an lp_launch, 0 for none */
    uint8_t kind;    /* lp_activity_kind */
    uint8_t memory;  /* source kind of memory, and target kind << 4 */
} lp_event;

/* One column of all events. */
typedef struct lp_column {
    const char *name;
    char typecode;   /* of Python's array module */
    uint8_t size;    /* bytes of a value */
    uint16_t offset; /* in lp_event */
} lp_column;

enum { LP_COLUMNS = 15, LP_EVENTS_PER_CHUNK = 8192 };

extern const lp_column lp_columns[LP_COLUMNS];

typedef struct lp_event_timeline {
    unsigned char **chunks; /* owned: columns one after the other */
    size_t n_chunks;
    size_t n;
    size_t max; /* max number of events */
    uint64_t left_out;
    uint64_t cut; /* min start of a record that is left out; 0: there is none
                   */
    lp_launch *launches; /* owned; number 0 stands for none */
    uint32_t n_launches;
    size_t launch_capacity;
    lp_hash_index index; /* of the launches from number 1 on */
} lp_event_timeline;

void lp_event_timeline_init(lp_event_timeline *timeline, size_t max);

void lp_event_timeline_free(lp_event_timeline *timeline);

void lp_event_timeline_add(lp_event_timeline *timeline, const lp_event *event);

/* Return the number of a launch configuration; 0 if memory is out. */
uint32_t lp_event_timeline_launch(lp_event_timeline *timeline,
                                  const lp_launch *launch);

/* Copy a column of the first `n` events. */
void lp_event_timeline_column(const lp_event_timeline *timeline, int column,
                              size_t n, unsigned char *to);

#endif
