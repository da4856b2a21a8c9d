/* Texts by content: each distinct one has a number, from 1 on; 0 is "".
 *
 * A tool's pointer to a name is good for as long as its record is: the text
 * is copied, and the pointer remembered only as a hint that saves hashing.
 * One owner at a time.
 */
#ifndef LP_GPU_STRING_TABLE_H
#define LP_GPU_STRING_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum { LP_TEXT_HINTS = 256 };

typedef struct lp_text_hint {
    const char *from; /* borrowed, maybe no longer good: never read */
    uint32_t number;
} lp_text_hint;

typedef struct lp_texts {
    char **texts; /* owned array, owned entries */
    uint32_t n;
    uint32_t room;
    uint32_t *slots; /* owned: numbers by hash, 0: free */
    uint32_t mask;
    lp_text_hint hints[LP_TEXT_HINTS];
} lp_texts;

void lp_texts_init(lp_texts *texts);

void lp_texts_free(lp_texts *texts);

/* The number of a text; 0 for NULL, "" and when memory is out. */
uint32_t lp_texts_number(lp_texts *texts, const char *text);

static inline const char *
lp_texts_at(const lp_texts *texts, uint32_t number)
{
    return number < texts->n ? texts->texts[number] : "";
}

#endif
