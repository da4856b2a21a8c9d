#include "memory/small_blocks.h"

#include "memory/pages.h"

enum { MAX_LISTED = 1 << 20 };

static const size_t top_bytes =
    ((size_t)1 << (LP_ADDRESS_BITS - LP_CHUNK_SHIFT)) * sizeof(uint64_t *);
static const size_t chunk_bytes = LP_CHUNK_CELLS * sizeof(uint64_t) +
                                  LP_CHUNK_WIDE_CELLS * sizeof(lp_wide_cell);

uint64_t **lp_shadow;

/* The chunks that were made. */
static uint64_t **listed;
static uint32_t n_listed; /* (atomic) */

bool
lp_shadow_open(void)
{
    if (lp_shadow == NULL) {
        listed = lp_pages_map(MAX_LISTED * sizeof(*listed));
        lp_shadow = listed == NULL ? NULL : lp_pages_map(top_bytes);
    }
    return lp_shadow != NULL;
}

uint64_t *
lp_shadow_add(uint64_t chunk)
{
    uint64_t *cells = lp_pages_map(chunk_bytes), *before = NULL;
    uint32_t number;

    if (cells == NULL) {
        return NULL;
    }
    if (!__atomic_compare_exchange_n(&lp_shadow[chunk], &before, cells, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        lp_pages_unmap(cells, chunk_bytes);
        return before; /* another thread was faster */
    }
    number = __atomic_fetch_add(&n_listed, 1, __ATOMIC_RELAXED);
    if (number < MAX_LISTED) {
        __atomic_store_n(&listed[number], cells, __ATOMIC_RELEASE);
    }
    return cells;
}

/* Return the chunks in the list, of which some may still be NULL. */
static uint32_t
count(void)
{
    uint32_t n = __atomic_load_n(&n_listed, __ATOMIC_RELAXED);

    return n < MAX_LISTED ? n : MAX_LISTED;
}

void
lp_shadow_clear(void)
{
    for (uint32_t i = 0; i < count(); i++) {
        uint64_t *cells = __atomic_load_n(&listed[i], __ATOMIC_ACQUIRE);

        if (cells != NULL) {
            lp_pages_clear(cells, chunk_bytes);
        }
    }
}

size_t
lp_shadow_bytes(void)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < count(); i++) {
        uint64_t *cells = __atomic_load_n(&listed[i], __ATOMIC_ACQUIRE);

        bytes += cells == NULL ? 0 : lp_pages_used(cells, chunk_bytes);
    }
    return bytes;
}
