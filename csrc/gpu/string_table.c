#include "gpu/string_table.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 256 };

void
lp_string_table_init(lp_string_table *texts)
{
    *texts = (lp_string_table){0};
}

void
lp_string_table_free(lp_string_table *texts)
{
    for (uint32_t i = 1; i < texts->n; i++) {
        free(texts->texts[i]);
    }
    free(texts->texts);
    free(texts->slots);
    *texts = (lp_string_table){0};
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
find(const lp_string_table *texts, const char *text, uint32_t *slot)
{
    uint32_t at = hash_of(text);

    for (;; at++) {
        uint32_t number;

        at &= texts->mask;
        number = texts->slots[at];
        if (number == 0 || strcmp(texts->texts[number], text) == 0) {
            *slot = at;
            return number;
        }
    }
}

/* Twice as many slots as texts, and room for one text more. */
static bool
grow(lp_string_table *texts)
{
    uint32_t wanted = texts->slots == NULL ? FIRST_SLOTS : texts->mask + 1;
    uint32_t slot;

    if (texts->n == texts->capacity) {
        uint32_t capacity =
            texts->capacity == 0 ? FIRST_SLOTS : texts->capacity * 2;
        char **grown = realloc(texts->texts, capacity * sizeof(char *));

        if (grown == NULL) {
            return false;
        }
        texts->texts = grown;
        texts->capacity = capacity;
        if (texts->n == 0) {
            texts->texts[texts->n++] = (char *)"";
        }
    }
    if (texts->slots != NULL && texts->n <= texts->mask / 2) {
        return true;
    }
    if (texts->slots != NULL) {
        wanted *= 2;
    }
    uint32_t *slots = calloc(wanted, sizeof(uint32_t));

    if (slots == NULL) {
        return false;
    }
    free(texts->slots);
    texts->slots = slots;
    texts->mask = wanted - 1;
    for (uint32_t number = 1; number < texts->n; number++) {
        find(texts, texts->texts[number], &slot);
        texts->slots[slot] = number;
    }
    return true;
}

static uint32_t
number_of(lp_string_table *texts, const char *text)
{
    uint32_t slot, number;
    char *copy;

    if (!grow(texts)) {
        return 0;
    }
    number = find(texts, text, &slot);
    if (number != 0) {
        return number;
    }
    copy = strdup(text);
    if (copy == NULL) {
        return 0;
    }
    number = texts->n++;
    texts->texts[number] = copy;
    texts->slots[slot] = number;
    return number;
}

uint32_t
lp_string_table_intern(lp_string_table *texts, const char *text)
{
    lp_string_hint *hint;

    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    hint = &texts->hints[((uintptr_t)text >> 4) % LP_STRING_HINTS];
    if (hint->from != text || hint->number == 0 ||
        strcmp(texts->texts[hint->number], text) != 0) {
        hint->from = text;
        hint->number = number_of(texts, text);
    }
    return hint->number;
}
