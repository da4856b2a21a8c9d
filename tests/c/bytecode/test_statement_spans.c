/* Spans of statements in source text: those of valid text, and no read beyond
 * the end of any other. */
#include "bytecode/statement_spans.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "random.h"

/* Valid text with all that the scanner knows. */
static const char *const texts[] = {
    "x = (1,\n 2); y = [3,\n 4]\nif a: z = {5,\n 6}\n",
    "match x:\n  case [1,\n   2]: y = f(\n 3)\ncase: int = (1,\n 2)\n",
    "f(f\"{a[\"b\"]!r:>{w}}\", rb'\\'', '''\n''',\n t\"{{{x}}}\")\n",
    "f'''{ (lambda x: {1: 2}) # c\n :{\n w}} \\{n} '''\n",
    "@d(1,\n 2)\nasync def f(a=lambda: 1) -> lambda: 2: await (\n a)\n",
    "x = 1 + \\\r\n 2 # (\r\n\\\n\fclass A: y = '\\\n'\r",
};

enum { N_TEXTS = sizeof(texts) / sizeof(*texts) };

/* Return the spans of a copy that ends where its memory ends. */
static lp_line_spans
spans_of(const char *text, size_t size)
{
    lp_line_spans spans = {NULL, 0, 0};
    char *copy = malloc(size ? size : 1);

    memcpy(copy, text, size);
    CHECK(lp_spans_find(&spans, copy, size));
    free(copy);
    for (size_t i = 0; i < spans.n; i++) {
        CHECK(spans.items[i].first < spans.items[i].last);
        CHECK(i == 0 || spans.items[i - 1].last < spans.items[i].first);
    }
    return spans;
}

static void
statements_that_share_a_line_make_one_span(void)
{
    lp_line_spans spans = spans_of(texts[0], strlen(texts[0]));

    CHECK(spans.n == 2);
    CHECK(spans.items[0].first == 1 && spans.items[0].last == 3);
    CHECK(spans.items[1].first == 4 && spans.items[1].last == 5);
    lp_spans_clear(&spans);
}

static void
the_soft_keywords_begin_statements_only_where_they_can(void)
{
    lp_line_spans spans = spans_of(texts[1], strlen(texts[1]));

    CHECK(spans.n == 2);
    CHECK(spans.items[0].first == 2 && spans.items[0].last == 4);
    CHECK(spans.items[1].first == 5 && spans.items[1].last == 6);
    lp_spans_clear(&spans);
}

static void
strings_with_fields_have_strings_of_the_same_quotes(void)
{
    lp_line_spans spans = spans_of(texts[2], strlen(texts[2]));

    CHECK(spans.n == 1);
    CHECK(spans.items[0].first == 1 && spans.items[0].last == 3);
    lp_spans_clear(&spans);
}

static void
text_that_does_not_end_has_no_spans(void)
{
    static const char *const broken[] = {"x = (1,\n2\n", "x = '''\n", ")\n",
                                         "y = (1,\n2)\nx = '\n", "x = \\"};

    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        lp_line_spans spans = spans_of(broken[i], strlen(broken[i]));

        CHECK(spans.n == 0);
        lp_spans_clear(&spans);
    }
}

static void
deep_nesting_ends_without_a_crash(void)
{
    enum { SIZE = 100000 };
    static char text[SIZE];
    static const char *const parts[] = {"(", "f'{", "f'{x:{", "{", " "};

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        size_t length = strlen(parts[i]);
        lp_line_spans spans;

        for (size_t at = 0; at + length < SIZE; at += length) {
            memcpy(text + at, parts[i], length);
        }
        spans = spans_of(text, SIZE);
        CHECK(spans.n == 0);
        lp_spans_clear(&spans);
    }
}

static void
no_part_of_a_text_is_read_beyond_its_end(void)
{
    for (size_t i = 0; i < N_TEXTS; i++) {
        size_t size = strlen(texts[i]);

        for (size_t start = 0; start <= size; start++) {
            for (size_t end = start; end <= size; end++) {
                lp_line_spans spans = spans_of(texts[i] + start, end - start);

                lp_spans_clear(&spans);
            }
        }
    }
}

static void
random_text_is_not_read_beyond_its_end(void)
{
    static const char bytes[] = "\n\n\r\t  \\\"\"''{}[]():;#=@ftrbx1\f\x80"
                                "matchcasedeflambda";
    uint64_t state = 2026;
    char text[64];

    for (int round = 0; round < 200000; round++) {
        uint32_t size = random_below(&state, sizeof(text));
        lp_line_spans spans;

        for (uint32_t i = 0; i < size; i++) {
            text[i] = bytes[random_below(&state, sizeof(bytes))];
        }
        spans = spans_of(text, size);
        lp_spans_clear(&spans);
    }
}

int
main(void)
{
    statements_that_share_a_line_make_one_span();
    the_soft_keywords_begin_statements_only_where_they_can();
    strings_with_fields_have_strings_of_the_same_quotes();
    text_that_does_not_end_has_no_spans();
    deep_nesting_ends_without_a_crash();
    no_part_of_a_text_is_read_beyond_its_end();
    random_text_is_not_read_beyond_its_end();
    return check_failures;
}
