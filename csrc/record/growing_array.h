/* Arrays that grow: twice as long each time, so that an item costs the same
 * on average however many there are. */
#ifndef LP_RECORD_GROWING_ARRAY_H
#define LP_RECORD_GROWING_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

enum { LP_ARRAY_MIN = 64 };

/* Return `items` with room for one more than `n`, each of `size` bytes; NULL
 * if memory is out, and then `items` are as before. */
static inline void *
lp_array_reserve(void *items, size_t n, size_t *capacity, size_t size)
{
    size_t larger = *capacity == 0 ? LP_ARRAY_MIN : *capacity * 2;
    void *grown;

    if (n < *capacity) {
        return items;
    }
    grown = realloc(items, larger * size);
    if (grown != NULL) {
        *capacity = larger;
    }
    return grown;
}

#endif
