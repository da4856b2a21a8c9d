/* A table of strings by content: each distinct string has a number from 1 on;
 * 0 is "".
 *
 * CUPTI's pointer to a name is valid only as long as its record: the string is
 * copied, and the pointer is stored only as a hint that saves hashing.  One
 * owner at a time.
 */
#ifndef LP_GPU_STRING_TABLE_H
#define LP_GPU_STRING_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum { LP_STRING_HINTS = 256 };

typedef struct lp_string_hint {
    const char *from; /* borrowed, may be dangling: never dereferenced */
    uint32_t number;
} lp_string_hint;

typedef struct lp_string_table {
    char **strings; /* owned array, owned entries */
    uint32_t n;
    uint32_t capacity;
    uint32_t *slots; /* owned: numbers by hash, 0 if free */
    uint32_t mask;
    lp_string_hint hints[LP_STRING_HINTS];
} lp_string_table;

void lp_string_table_init(lp_string_table *table);

void lp_string_table_free(lp_string_table *table);

/* Return the number of a string; 0 for NULL, "" and if memory is out. */
uint32_t lp_string_table_intern(lp_string_table *table, const char *text);

static inline const char *
lp_string_table_at(const lp_string_table *table, uint32_t number)
{
    return number < table->n ? table->strings[number] : "";
}

#endif
