/* Memory of devices by call path: how much of it is live, and was at the peak.
 *
 * A block belongs to the call path that allocated it, whoever frees it.
 * Blocks of one pool of one device are a space: it has a number of live bytes,
 * and its peak is the first moment at which that was highest.  A sum is the
 * part of one path in one space.
 *
 * Each profiler has a start: it sees the blocks that were allocated since, and
 * the peak of these.  A sum has the blocks between one start and the next.
 * The first start and the last ones have a view, with peaks of its own.
 *
 * Only the order of times says which block a free releases and when the peak
 * is, but buffers of several threads come in any order: records wait in a
 * heap, and are counted from the earliest on once LP_MEMORY_WINDOW of them
 * wait.  A record that comes later than that is counted at once, and as late:
 * peaks may be inexact then.  A reader counts the waiting ones in a copy.
 *
 * To find the part of each path at the peak, a space numbers its peaks.  A sum
 * that changes first notes its live bytes, if they are those of the last peak;
 * a sum that has not changed since has them still.  One owner at a time.
 */
#ifndef LP_GPU_DEVICE_MEMORY_H
#define LP_GPU_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/clock.h"
#include "record/hash_index.h"

enum {
    LP_MEMORY_WINDOW = 1 << 18, /* records that wait; 40 bytes each */
    LP_MEMORY_BLOCKS = 1 << 20, /* live ones, of 64 bytes each */
    LP_MEMORY_VIEWS = 8,        /* starts that have peaks */
    LP_MEMORY_OF_POOL = 15      /* a memory kind: from a pool of the driver */
};

typedef struct lp_memory_event {
    lp_ns time; /* on CLOCK_MONOTONIC; 0: that of the record before */
    /* of those of one time: the call's correlation id, then, set by
     * lp_device_memory_add, the order of arrival in the lower half */
    uint64_t number;
    uint64_t address;
    uint64_t bytes;
    uint32_t path;
    uint16_t device;
    uint8_t memory; /* CUpti_ActivityMemoryKind, or LP_MEMORY_OF_POOL */
    bool frees;
} lp_memory_event;

typedef struct lp_memory_start {
    uint32_t number; /* from 0 on */
    lp_ns since;
    uint64_t arrived; /* records until then */
} lp_memory_start;

typedef struct lp_memory_space {
    struct {
        uint64_t live, peak; /* bytes */
        uint64_t peaks;      /* number of the last one */
        lp_ns peak_time;
    } views[LP_MEMORY_VIEWS];
    uint16_t device;
    uint8_t memory;
} lp_memory_space;

typedef struct lp_memory_sum {
    uint32_t path;  /* LP_NO_PATH if unattributed */
    uint32_t space; /* index */
    uint32_t start; /* number of the last one before its blocks; these three
                       are the key */
    uint32_t pad;
    uint64_t allocs, frees;
    uint64_t alloc_bytes, freed_bytes;
    struct {
        uint64_t bytes; /* at the space's peak of number `peak` */
        uint64_t peak;
    } views[LP_MEMORY_VIEWS];
} lp_memory_sum;

typedef struct lp_memory_block {
    uint64_t address; /* 0: there is no block */
    uint64_t bytes;
    lp_ns since;  /* time of its allocation */
    uint32_t sum; /* index */
} lp_memory_block;

typedef struct lp_device_memory {
    bool recorded; /* false: not asked for, or there are no records of it */
    lp_memory_event *heap; /* owned; the earliest first */
    size_t waiting, heap_capacity;
    uint64_t arrived;
    lp_ns newest;  /* time of the last record that came */
    lp_ns counted; /* and of the last one that was counted */
    lp_ns since;
    lp_memory_block *blocks; /* owned: a hash table by address */
    size_t n_blocks, max_blocks;
    uint32_t mask;           /* number of its slots - 1 */
    lp_memory_space *spaces; /* owned */
    size_t n_spaces, spaces_capacity;
    lp_memory_sum *sums; /* owned */
    size_t n_sums, sums_capacity;
    lp_hash_index index;    /* of the sums, by their keys */
    uint64_t unknown_frees; /* of blocks that were there before, */
    uint64_t unknown_bytes; /* and their bytes, as far as records say */
    uint64_t late;          /* records that came too late for their order */
    uint64_t lost;          /* blocks that there was no room for */
    lp_memory_start starts[LP_MEMORY_VIEWS]; /* of the views */
    uint32_t n_starts;                       /* in all */
} lp_device_memory;

void lp_device_memory_init(lp_device_memory *self);

void lp_device_memory_free(lp_device_memory *self);

/* Add a record; counts it, or another one, if enough of them wait. */
void lp_device_memory_add(lp_device_memory *self,
                          const lp_memory_event *event);

/* Begin a new start at `now`, unless nothing came since the last one; its
 * number. */
uint32_t lp_device_memory_start(lp_device_memory *self, lp_ns now);

/* Return the view of a start by its number, LP_MEMORY_VIEWS if it has none. */
size_t lp_device_memory_view(const lp_device_memory *self, uint32_t start);

/* Copy; false if memory is out, and then the copy is empty. */
bool lp_device_memory_copy(lp_device_memory *to, const lp_device_memory *from);

/* Count all records that wait. */
void lp_device_memory_settle(lp_device_memory *self);

/* Return the bytes of a sum that were live at the peak of its space, in a view
 * of a start that is not later than that of the sum. */
uint64_t lp_device_memory_at_peak(const lp_device_memory *self,
                                  const lp_memory_sum *sum, size_t view);

/* Return the bytes of all tables. */
size_t lp_device_memory_bytes(const lp_device_memory *self);

#endif
