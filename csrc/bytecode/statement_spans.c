#include "bytecode/statement_spans.h"

#include <stdlib.h>
#include <string.h>

/* As many as Python allows: indented blocks, and brackets and strings that are
 * in each other. */
enum { MAX_BLOCKS = 100, MAX_LEVELS = 200, TAB = 8 };

/* What the scanner is in below a string with fields: the text of such a
 * string, or a field of one, with open brackets, or its format. */
typedef enum { TEXT, FIELD, FORMAT } level_kind;

typedef struct level {
    level_kind kind;
    unsigned char quote; /* of the string, */
    bool triple;         /* of which there are three */
    uint32_t depth;      /* of brackets, in a field */
} level;

typedef struct scanner {
    const unsigned char *at, *end;
    uint32_t line;
    lp_line_spans *spans; /* borrowed */
    bool no_memory;
    /* Columns of the `case` of open match statements, and where the next one
     * may be: deeper than its `match`. */
    uint32_t cases[MAX_BLOCKS];
    uint32_t n_cases, match_column;
    bool is_after_match;
    uint32_t decorated_from; /* line of the first decorator of what comes next;
                                0 if there is none */
    level levels[MAX_LEVELS];
    size_t n_levels;
} scanner;

/* One logical line, as far as it was read. */
typedef struct logical_line {
    uint32_t first, last;  /* lines of the current statement; first is 0 before
                              its first token */
    uint32_t depth;        /* of brackets */
    uint32_t lambdas;      /* in the head, whose colons are to come */
    uint32_t before_colon; /* line of the last token before the last colon */
    bool is_head;          /* of a compound statement, before its colon */
    bool is_decorator;
    bool begins_with_match;
    bool ends_with_colon;
} logical_line;

static bool
is_newline(unsigned char c)
{
    return c == '\n' || c == '\r';
}

static bool
is_space(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static bool
is_quote(unsigned char c)
{
    return c == '"' || c == '\'';
}

/* True for a byte of a name, a number or a keyword. */
static bool
is_word(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
}

/* The byte at a distance, 0 beyond the end. */
static unsigned char
peek(const scanner *self, size_t distance)
{
    return (size_t)(self->end - self->at) > distance ? self->at[distance] : 0;
}

static void
take_newline(scanner *self)
{
    self->at += *self->at == '\r' && peek(self, 1) == '\n' ? 2 : 1;
    self->line++;
}

/* Take one byte, or the end of a line. */
static void
take(scanner *self)
{
    if (is_newline(*self->at)) {
        take_newline(self);
    }
    else {
        self->at++;
    }
}

static void
skip_comment(scanner *self)
{
    while (self->at < self->end && !is_newline(*self->at)) {
        self->at++;
    }
}

/* Take a backslash and the end of its line. */
static bool
take_continuation(scanner *self)
{
    self->at++;
    if (self->at == self->end || !is_newline(*self->at)) {
        return false;
    }
    take_newline(self);
    return true;
}

static bool
is_three(const scanner *self, unsigned char quote)
{
    return peek(self, 0) == quote && peek(self, 1) == quote &&
           peek(self, 2) == quote;
}

/* Take the quotes that begin a string; true if there are three. */
static bool
take_quotes(scanner *self, unsigned char quote)
{
    bool triple = is_three(self, quote);

    self->at += triple ? 3 : 1;
    return triple;
}

/* Take a string without fields. */
static bool
skip_plain(scanner *self)
{
    unsigned char quote = *self->at;
    bool triple = take_quotes(self, quote);

    while (self->at < self->end) {
        unsigned char c = *self->at;

        if (c == quote && (!triple || is_three(self, quote))) {
            self->at += triple ? 3 : 1;
            return true;
        }
        if (c == '\\') { /* in a raw string a quote is escaped, too */
            self->at++;
            if (self->at == self->end) {
                return false;
            }
        }
        else if (is_newline(c) && !triple) {
            return false;
        }
        take(self);
    }
    return false;
}

static bool
push(scanner *self, level_kind kind, unsigned char quote, bool triple)
{
    if (self->n_levels == MAX_LEVELS) {
        return false;
    }
    self->levels[self->n_levels++] = (level){kind, quote, triple, 0};
    return true;
}

/* True if the word before a quote is the prefix of a string; then `fields`
 * tells whether the string has fields. */
static bool
is_prefix(const unsigned char *word, size_t size, bool *fields)
{
    *fields = false;
    if (size > 2) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        unsigned char letter = word[i] | 0x20;

        if (letter == 'f' || letter == 't') {
            *fields = true;
        }
        else if (letter != 'r' && letter != 'b' && letter != 'u') {
            return false;
        }
    }
    return true;
}

/* Take a word, a string, or both: a string with its prefix.  Of a string with
 * fields only the beginning, which is then the uppermost level. */
static bool
take_word(scanner *self)
{
    const unsigned char *word = self->at;
    bool fields;

    while (self->at < self->end && is_word(*self->at)) {
        self->at++;
    }
    if (!is_quote(peek(self, 0)) ||
        !is_prefix(word, (size_t)(self->at - word), &fields)) {
        return true;
    }
    if (fields) {
        unsigned char quote = *self->at;

        return push(self, TEXT, quote, take_quotes(self, quote));
    }
    return skip_plain(self);
}

/* One step in the text of a string with fields, or in the format of a field.
 */
static bool
step_in_text(scanner *self)
{
    level *top = &self->levels[self->n_levels - 1];
    unsigned char c = *self->at;
    bool is_format = top->kind == FORMAT;

    if (c == top->quote && (!top->triple || is_three(self, c))) {
        self->at += top->triple ? 3 : 1;
        self->n_levels--;
        return !is_format;
    }
    if (c == '{') {
        bool doubled = !is_format && peek(self, 1) == '{';

        self->at += doubled ? 2 : 1;
        return doubled || push(self, FIELD, top->quote, top->triple);
    }
    if (c == '}' && is_format) {
        self->at++;
        self->n_levels--;
        return true;
    }
    if (is_newline(c) && !top->triple && !is_format) {
        return false;
    }
    if (c == '\\') {
        unsigned char next = peek(self, 1);

        self->at++;
        if (next == '{' || next == '}' || self->at == self->end) {
            return self->at < self->end;
        }
    }
    take(self);
    return true;
}

/* One step in the expression of a field. */
static bool
step_in_field(scanner *self)
{
    level *top = &self->levels[self->n_levels - 1];
    unsigned char c = *self->at;

    if (is_word(c) || is_quote(c)) {
        return take_word(self);
    }
    if (c == '#') {
        skip_comment(self);
        return true;
    }
    if (c == '\\') {
        return take_continuation(self);
    }
    take(self);
    if (c == '(' || c == '[' || c == '{') {
        top->depth++;
    }
    else if (top->depth > 0) {
        top->depth -= c == ')' || c == ']' || c == '}';
    }
    else if (c == '}') {
        self->n_levels--;
    }
    else if (c == ':') {
        top->kind = FORMAT;
    }
    return true;
}

/* Take a word or a string, with all strings in its fields. */
static bool
skip_word(scanner *self)
{
    if (!take_word(self)) {
        return false;
    }
    while (self->n_levels > 0) {
        bool in_field = self->levels[self->n_levels - 1].kind == FIELD;

        if (self->at == self->end ||
            !(in_field ? step_in_field(self) : step_in_text(self))) {
            return false;
        }
    }
    return true;
}

/* Skip empty lines and comments, and return the column of the next token. */
static uint32_t
skip_to_token(scanner *self)
{
    uint32_t column = 0, continued = 0;

    while (self->at < self->end) {
        unsigned char c = *self->at;

        if (c == ' ') {
            column++;
        }
        else if (c == '\t') {
            column = (column / TAB + 1) * TAB;
        }
        else if (c == '\f') {
            column = 0;
        }
        else if (is_newline(c)) {
            column = continued = 0;
        }
        else if (c == '#') {
            skip_comment(self);
            continue;
        }
        else if (c == '\\' && is_newline(peek(self, 1))) {
            continued = continued ? continued : column;
            self->at++;
        }
        else {
            break;
        }
        take(self);
    }
    return continued ? continued : column;
}

static bool
is_one_of(const unsigned char *word, size_t size, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strlen(*words) == size && memcmp(word, *words, size) == 0) {
            return true;
        }
    }
    return false;
}

/* True if the word is this one. */
static bool
is_the_word(const unsigned char *word, size_t size, const char *other)
{
    return is_one_of(word, size, (const char *const[]){other, NULL});
}

/* Begin a logical line, at its first token. */
static void
begin_line(scanner *self, logical_line *line, uint32_t column)
{
    static const char *const heads[] = {
        "async", "class", "def", "elif", "else",  "except", "finally",
        "for",   "if",    "try", "with", "while", NULL,
    };
    const unsigned char *word = self->at;
    size_t size = 0;

    while (is_word(peek(self, size))) {
        size++;
    }
    while (self->n_cases > 0 && column < self->cases[self->n_cases - 1]) {
        self->n_cases--;
    }
    if (self->is_after_match && column > self->match_column &&
        self->n_cases < MAX_BLOCKS) {
        self->cases[self->n_cases++] = column;
    }
    self->is_after_match = false;
    self->match_column = column;
    *line = (logical_line){
        .is_decorator = *word == '@',
        .begins_with_match = is_the_word(word, size, "match"),
        .is_head =
            is_one_of(word, size, heads) ||
            (self->n_cases > 0 && column == self->cases[self->n_cases - 1] &&
             is_the_word(word, size, "case")),
    };
}

/* Add a span; false if memory is out. */
static bool
add_span(lp_line_spans *self, uint32_t first, uint32_t last)
{
    if (self->n > 0 && first <= self->items[self->n - 1].last) {
        self->items[self->n - 1].last = last;
        return true;
    }
    if (self->n == self->capacity) {
        size_t capacity = self->capacity ? 2 * self->capacity : 64;
        lp_line_span *items = realloc(self->items, capacity * sizeof(*items));

        if (items == NULL) {
            return false;
        }
        self->items = items;
        self->capacity = capacity;
    }
    self->items[self->n++] = (lp_line_span){first, last};
    return true;
}

/* The statement ends, or its head, in the line `last`. */
static bool
end_part(scanner *self, logical_line *line, uint32_t last)
{
    uint32_t first = line->first;

    line->first = 0;
    if (line->is_decorator) {
        if (self->decorated_from == 0) {
            self->decorated_from = first;
        }
        return true;
    }
    if (line->is_head && self->decorated_from != 0) {
        first = self->decorated_from;
    }
    self->decorated_from = 0;
    if (last > first && first > 0 && !add_span(self->spans, first, last)) {
        self->no_memory = true;
        return false;
    }
    return true;
}

static bool
end_statement(scanner *self, logical_line *line)
{
    return end_part(self, line, line->last);
}

static bool
end_line(scanner *self, logical_line *line)
{
    if (line->begins_with_match && line->ends_with_colon) {
        self->is_after_match = true; /* its column is known */
        return end_part(self, line, line->before_colon);
    }
    return end_statement(self, line);
}

/* Take a colon, outside of brackets. */
static bool
take_colon(scanner *self, logical_line *line)
{
    bool is_assignment = peek(self, 1) == '=';

    self->at += is_assignment ? 2 : 1;
    line->ends_with_colon = !is_assignment;
    line->before_colon = line->last;
    line->last = self->line;
    if (is_assignment || !line->is_head) {
        return true;
    }
    if (line->lambdas > 0) {
        line->lambdas--;
        return true;
    }
    if (!end_part(self, line, line->before_colon)) {
        return false;
    }
    line->is_head = false; /* what follows on the line is a statement */
    return true;
}

/* Take a token. */
static bool
take_token(scanner *self, logical_line *line)
{
    const unsigned char *start = self->at;
    unsigned char c = *start;

    if (line->depth == 0 && c == ';') {
        self->at++;
        return end_statement(self, line);
    }
    line->first = line->first ? line->first : self->line;
    if (line->depth == 0 && c == ':') {
        return take_colon(self, line);
    }
    line->ends_with_colon = false;
    if (is_word(c) || is_quote(c)) {
        if (!skip_word(self)) {
            return false;
        }
        line->lambdas +=
            line->is_head && line->depth == 0 &&
            is_the_word(start, (size_t)(self->at - start), "lambda");
    }
    else {
        self->at++;
        line->depth += c == '(' || c == '[' || c == '{';
        if (c == ')' || c == ']' || c == '}') {
            if (line->depth == 0) {
                return false;
            }
            line->depth--;
        }
    }
    line->last = self->line;
    return true;
}

/* Read a logical line from its first token; false if it does not end. */
static bool
read_line(scanner *self, uint32_t column)
{
    logical_line line;

    begin_line(self, &line, column);
    while (self->at < self->end) {
        unsigned char c = *self->at;

        if (is_space(c)) {
            self->at++;
        }
        else if (is_newline(c)) {
            if (line.depth == 0) {
                break; /* to be counted by skip_to_token() */
            }
            take_newline(self);
        }
        else if (c == '#') {
            skip_comment(self);
        }
        else if (!(c == '\\' ? take_continuation(self)
                             : take_token(self, &line))) {
            return false;
        }
    }
    return line.depth == 0 && end_line(self, &line);
}

bool
lp_spans_find(lp_line_spans *self, const char *text, size_t size)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    scanner scan;

    scan.at = (const unsigned char *)text;
    scan.end = scan.at + size;
    scan.line = 1;
    scan.spans = self;
    scan.no_memory = scan.is_after_match = false;
    scan.decorated_from = 0;
    scan.n_cases = scan.match_column = 0;
    scan.n_levels = 0;
    if (size == 0 || memchr(text, 0, size) != NULL) {
        return true; /* Python compiles no text with such a byte */
    }
    if (size >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
        scan.at += 3;
    }
    for (;;) {
        uint32_t column = skip_to_token(&scan);

        if (scan.at == scan.end) {
            return true;
        }
        if (!read_line(&scan, column)) {
            self->n = 0;
            return !scan.no_memory;
        }
    }
}

void
lp_spans_clear(lp_line_spans *self)
{
    free(self->items);
    *self = (lp_line_spans){NULL, 0, 0};
}
