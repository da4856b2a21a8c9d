/* A table of strings by content: each distinct string has a number from 1 on;
 * 0 is "".
 *
 * A tool's pointer to a name is valid for as long as its record: the string is
 * copied, and the pointer is remembered only as a hint that saves hashing.
 * One owner at a time.
 */
#ifndef LP_GPU_STRING_TABLE_H
#define LP_GPU_STRING_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum { LP_STRING_HINTS = 256 };

typedef struct lp_string_hint {
    const char *from; /* borrowed, maybe no longer good: never read */
    uint32_t number;
} lp_string_hint;

typedef struct lp_string_table {
    char **strings; /* owned array, owned entries */
    uint32_t n;
    uint32_t capacity;
    uint32_t *slots; /* owned: numbers by hash, 0: free */
    uint32_t mask;
    lp_string_hint hints[LP_STRING_HINTS];
} lp_string_table;

void lp_string_table_init(lp_string_table *table);

void lp_string_table_free(lp_string_table *table);

/* The number of a text; 0 for NULL, "" and when memory is out. */
uint32_t lp_string_table_intern(lp_string_table *table, const char *text);

static inline const char *
lp_string_table_at(const lp_string_table *table, uint32_t number)
{
    return number < table->n ? table->strings[number] : "";
}

#endif
