/* An index of the records of an array by their keys, which are the first bytes
 * of each record.
 *
 * Open addressing with linear probing: at least half of the slots are free, as
 * long as there is memory, and one is in any case.  A slot has the position of
 * a record + 1, and 0 if it is free.  The records may move with their array.
 *
 * A size of a key is a multiple of 4 bytes, without padding in between.  Sizes
 * are arguments, so that the compiler knows them in each use.
 *
 * Tables of their own have `call_paths`, which is read without a lock,
 * `call_tree` and `engine/c_functions`, whose keys are addresses and whose
 * look-ups are on the measuring path, and `gpu/string_table`, whose keys are
 * of any length.
 */
#ifndef LP_RECORD_HASH_INDEX_H
#define LP_RECORD_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LP_HASH_INDEX_MIN = 64 };

typedef struct lp_hash_index {
    uint32_t *slots; /* owned; NULL until the first lp_hash_index_reserve */
    uint32_t mask;   /* the number of slots, a power of two, less 1 */
} lp_hash_index;

/* The size of a record and of its key, in bytes. */
typedef struct lp_record_size {
    size_t record, key;
} lp_record_size;

static inline void
lp_hash_index_free(lp_hash_index *self)
{
    free(self->slots);
    *self = (lp_hash_index){0};
}

/* Forget all records; the slots remain. */
static inline void
lp_hash_index_clear(lp_hash_index *self)
{
    if (self->slots != NULL) {
        memset(self->slots, 0, ((size_t)self->mask + 1) * sizeof(uint32_t));
    }
}

static inline uint32_t
lp_hash_of_key(const void *key, size_t size)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < size; i += sizeof(uint32_t)) {
        uint32_t word;

        memcpy(&word, (const char *)key + i, sizeof(word));
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash ^ (hash >> 32));
}

/* Return the slot of the record with this key, or the free slot that is its.
 * The index has slots. */
static inline uint32_t *
lp_hash_index_slot(const lp_hash_index *self, const void *records,
                   lp_record_size size, const void *key)
{
    uint32_t at = lp_hash_of_key(key, size.key) & self->mask;

    while (self->slots[at] != 0) {
        size_t position = self->slots[at] - 1;

        if (memcmp((const char *)records + position * size.record, key,
                   size.key) == 0) {
            break;
        }
        at = (at + 1) & self->mask;
    }
    return &self->slots[at];
}

/* Make room for one more than the records from position `first` up to `n`.
 * False if memory is out and no slot is free but the last one. */
static inline bool
lp_hash_index_reserve(lp_hash_index *self, const void *records,
                      lp_record_size size, size_t first, size_t n)
{
    size_t used = self->slots == NULL ? 0 : (size_t)self->mask + 1;
    size_t wanted = used == 0 ? LP_HASH_INDEX_MIN : used;
    lp_hash_index larger;

    while (n >= wanted / 2) {
        wanted *= 2;
    }
    if (wanted == used) {
        return true;
    }
    larger.slots =
        wanted > UINT32_MAX ? NULL : calloc(wanted, sizeof(uint32_t));
    if (larger.slots == NULL) {
        return n + 1 < used;
    }
    larger.mask = (uint32_t)(wanted - 1);
    for (size_t i = first; i < n; i++) {
        const char *record = (const char *)records + i * size.record;

        *lp_hash_index_slot(&larger, records, size, record) = (uint32_t)i + 1;
    }
    free(self->slots);
    *self = larger;
    return true;
}

#endif
