/* The spans of several lines of simple statements, and of the heads of
 * compound ones, found in Python's source.
 *
 * A head reaches from its first word, or its first decorator, to the last
 * token before its colon.
 *
 * The scanner reads the text once and knows what Python's tokenizer knows:
 * brackets, strings, strings with fields, comments and continued lines.  Of
 * the grammar it needs the words with which compound statements begin, and
 * the colon that ends their heads.  It reads valid Python; of other text the
 * spans mean nothing, or there are none, but it never reads beyond the end.
 */
#ifndef LP_BYTECODE_STATEMENT_SPANS_H
#define LP_BYTECODE_STATEMENT_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First and last line, counted from 1.  Statements and heads that share a line
 * make one span. */
typedef struct lp_line_span {
    uint32_t first, last;
} lp_line_span;

/* In order of lines; none overlaps another. */
typedef struct lp_line_spans {
    lp_line_span *items; /* owned, by malloc */
    size_t n, capacity;
} lp_line_spans;

/* Find the spans of a text in ASCII or UTF-8; `self` is empty before.  False
 * if memory is out.  Empty for a text whose brackets or strings do not end. */
bool lp_spans_find(lp_line_spans *self, const char *text, size_t size);

void lp_spans_clear(lp_line_spans *self);

#endif
