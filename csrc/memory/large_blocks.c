#include "memory/large_blocks.h"

#include "memory/pages.h"
#include "record/clock.h"

enum {
    SLOTS = 8,
    FIRST_BUCKETS = 512, /* of the first segment: 4096 slots */
    MAX_SEGMENTS = 24
};

typedef struct bucket {
    uint64_t addresses[SLOTS]; /* 0: free (atomic) */
    lp_heap_block blocks[SLOTS];
} bucket;

/* By age; those that are not there yet are NULL (atomic).  The second has as
 * many buckets as the first, and each after that twice as many. */
static bucket *segments[MAX_SEGMENTS];
static uint32_t n_segments; /* (atomic) */

static uint32_t
buckets_of(uint32_t segment)
{
    return (uint32_t)FIRST_BUCKETS << (segment == 0 ? 0 : segment - 1);
}

static size_t
bytes_of(uint32_t segment)
{
    return buckets_of(segment) * sizeof(bucket);
}

/* Add the segment of this number, if no other thread has done it. */
static bool
add_segment(uint32_t number)
{
    bucket *made, *before = NULL;

    if (number >= MAX_SEGMENTS) {
        return false;
    }
    made = lp_pages_map(bytes_of(number));
    if (made == NULL) {
        return false;
    }
    if (!__atomic_compare_exchange_n(&segments[number], &before, made, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        lp_pages_unmap(made, bytes_of(number));
    }
    /* It may have been counted in already, and more with it. */
    before = NULL;
    __atomic_compare_exchange_n(&n_segments, &number, number + 1, false,
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return true;
}

bool
lp_large_open(void)
{
    return n_segments != 0 || add_segment(0);
}

void
lp_large_clear(void)
{
    for (uint32_t i = 0; i < n_segments; i++) {
        lp_pages_clear(segments[i], bytes_of(i));
    }
}

size_t
lp_large_bytes(void)
{
    size_t bytes = 0;
    uint32_t n = __atomic_load_n(&n_segments, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < n; i++) {
        bytes += lp_pages_used(segments[i], bytes_of(i));
    }
    return bytes;
}

/* The two places of an address, of which a segment uses the low bits. */
typedef struct places {
    uint32_t first, second;
} places;

static inline places
places_of(uint64_t address)
{
    uint64_t hash = (address >> 4 ^ address << 60) * 0x9E3779B97F4A7C15u;

    return (places){
        (uint32_t)(hash >> 32),
        (uint32_t)((hash ^ hash >> 32) * 0xBF58476D1CE4E5B9u >> 32)};
}

/* Return the slot of the bucket that has this address; SLOTS if none has. */
static inline int
find(const bucket *in, uint64_t address)
{
    for (int i = 0; i < SLOTS; i++) {
        if (__atomic_load_n(&in->addresses[i], __ATOMIC_RELAXED) == address) {
            return i;
        }
    }
    return SLOTS;
}

/* Find the bucket of a block, and its slot; NULL if it is not there. */
static inline bucket *
bucket_of(const void *block, int *found)
{
    uint64_t address = (uintptr_t)block;
    places at = places_of(address);

    if (address == 0) {
        return NULL;
    }
    for (uint32_t i = __atomic_load_n(&n_segments, __ATOMIC_ACQUIRE);
         i-- > 0;) {
        bucket *segment = segments[i];
        uint32_t mask = buckets_of(i) - 1;
        bucket *in = segment + (at.first & mask);
        int slot = find(in, address);

        if (slot == SLOTS) {
            in = segment + (at.second & mask);
            slot = find(in, address);
        }
        if (slot != SLOTS) {
            *found = slot;
            return in;
        }
    }
    return NULL;
}

lp_heap_block
lp_large_find(const void *block)
{
    int slot;
    const bucket *in = bucket_of(block, &slot);

    return in == NULL ? (lp_heap_block){0, 0, 0} : in->blocks[slot];
}

lp_heap_block
lp_large_take(const void *block)
{
    int slot;
    bucket *in = bucket_of(block, &slot);
    lp_heap_block taken;

    if (in == NULL) {
        return (lp_heap_block){0, 0, 0};
    }
    taken = in->blocks[slot];
    __atomic_store_n(&in->addresses[slot], 0, __ATOMIC_RELEASE);
    return taken;
}

/* Claim a free slot of a bucket, and fill it. */
static inline bool
fill(bucket *in, uint64_t address, lp_heap_block block)
{
    for (int i = 0; i < SLOTS; i++) {
        uint64_t free = 0;

        if (__atomic_load_n(&in->addresses[i], __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&in->addresses[i], &free, address,
                                        false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            in->blocks[i] = block;
            return true;
        }
    }
    return false;
}

bool
lp_large_add(const void *block, lp_heap_block added, lp_heap_block *stale)
{
    uint64_t address = (uintptr_t)block;
    places at = places_of(address);

    *stale = lp_large_take(block);
    for (;;) {
        uint32_t n = __atomic_load_n(&n_segments, __ATOMIC_ACQUIRE);

        for (uint32_t i = n; i-- > 0;) {
            uint32_t mask = buckets_of(i) - 1;

            if (fill(segments[i] + (at.first & mask), address, added) ||
                fill(segments[i] + (at.second & mask), address, added)) {
                return true;
            }
        }
        if (!add_segment(n)) {
            return false;
        }
    }
}
