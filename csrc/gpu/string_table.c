#include "gpu/string_table.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_SLOTS = 256 };

void
lp_string_table_init(lp_string_table *table)
{
    *table = (lp_string_table){0};
}

void
lp_string_table_free(lp_string_table *table)
{
    for (uint32_t i = 1; i < table->n; i++) {
        free(table->strings[i]);
    }
    free(table->strings);
    free(table->slots);
    *table = (lp_string_table){0};
}

/* FNV-1a. */
static uint32_t
hash_of(const char *text)
{
    uint64_t hash = 0xCBF29CE484222325u;

    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
    }
    return (uint32_t)(hash ^ (hash >> 32));
}

static uint32_t
find(const lp_string_table *table, const char *text, uint32_t *slot)
{
    uint32_t at = hash_of(text);

    for (;; at++) {
        uint32_t number;

        at &= table->mask;
        number = table->slots[at];
        if (number == 0 || strcmp(table->strings[number], text) == 0) {
            *slot = at;
            return number;
        }
    }
}

/* Make room for one more string, with twice as many slots as strings. */
static bool
grow(lp_string_table *table)
{
    uint32_t wanted = table->slots == NULL ? MIN_SLOTS : table->mask + 1;
    uint32_t slot;

    if (table->n == table->capacity) {
        uint32_t capacity =
            table->capacity == 0 ? MIN_SLOTS : table->capacity * 2;
        char **grown = realloc(table->strings, capacity * sizeof(char *));

        if (grown == NULL) {
            return false;
        }
        table->strings = grown;
        table->capacity = capacity;
        if (table->n == 0) {
            table->strings[table->n++] = (char *)"";
        }
    }
    if (table->slots != NULL && table->n <= table->mask / 2) {
        return true;
    }
    if (table->slots != NULL) {
        wanted *= 2;
    }
    uint32_t *slots = calloc(wanted, sizeof(uint32_t));

    if (slots == NULL) {
        return false;
    }
    free(table->slots);
    table->slots = slots;
    table->mask = wanted - 1;
    for (uint32_t number = 1; number < table->n; number++) {
        find(table, table->strings[number], &slot);
        table->slots[slot] = number;
    }
    return true;
}

static uint32_t
number_of(lp_string_table *table, const char *text)
{
    uint32_t slot, number;
    char *copy;

    if (!grow(table)) {
        return 0;
    }
    number = find(table, text, &slot);
    if (number != 0) {
        return number;
    }
    copy = strdup(text);
    if (copy == NULL) {
        return 0;
    }
    number = table->n++;
    table->strings[number] = copy;
    table->slots[slot] = number;
    return number;
}

uint32_t
lp_string_table_intern(lp_string_table *table, const char *text)
{
    lp_string_hint *hint;

    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    hint = &table->hints[((uintptr_t)text >> 4) % LP_STRING_HINTS];
    if (hint->from != text || hint->number == 0 ||
        strcmp(table->strings[hint->number], text) != 0) {
        hint->from = text;
        hint->number = number_of(table, text);
    }
    return hint->number;
}
