#include "bytecode/compiled_tables.h"

enum {
    IS_FIRST = 128, /* the byte begins an entry */
    GOES_ON = 64,   /* so does the number, in the next byte */
    DIGIT = 63,
    MAX_LINE = INT32_MAX
};

/* Kinds of entries of co_linetable.  Those before the first of these have the
 * line of the entry before, and their number is part of their columns; the
 * next three add 0 to 2 lines. */
enum { ADDS_LINES = 10, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15 };

static uint8_t
read_byte(lp_table_reader *self)
{
    return self->at < self->end ? *self->at++ : 0;
}

/* -- co_linetable -------------------------------------------------------- */

/* Read a number whose least significant digit comes first. */
static uint32_t
read_number(lp_table_reader *self)
{
    uint8_t byte = read_byte(self);
    uint32_t value = byte & DIGIT, shift = 6;

    while (byte & GOES_ON) {
        byte = read_byte(self);
        value |= shift < 32 ? (uint32_t)(byte & DIGIT) << shift : 0;
        shift += 6;
    }
    return value;
}

/* Read a number whose lowest bit is its sign. */
static int64_t
read_signed(lp_table_reader *self)
{
    uint32_t value = read_number(self);

    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t
limited(int64_t line)
{
    return line < -MAX_LINE ? -MAX_LINE : line > MAX_LINE ? MAX_LINE : line;
}

/* Read what follows the first byte of an entry. */
static void
read_location(lp_table_reader *self, unsigned kind, int64_t *line,
              lp_location *location)
{
    if (kind < ADDS_LINES) {
        uint8_t columns = read_byte(self);

        location->column = 1 + kind * 8 + ((columns >> 4) & 7);
        location->end_column = location->column + (columns & 15);
    }
    else if (kind < NO_COLUMNS) {
        *line = limited(*line + kind - ADDS_LINES);
        location->column = 1 + (uint32_t)read_byte(self);
        location->end_column = 1 + (uint32_t)read_byte(self);
    }
    else {
        *line = limited(*line + read_signed(self));
    }
    if (*line > 0) {
        location->line = location->end_line = (uint32_t)*line;
    }
    if (kind == LONG) {
        location->end_line += read_number(self);
        location->column = read_number(self);
        location->end_column = read_number(self);
    }
}

bool
lp_next_location(lp_table_reader *self, int64_t *line, lp_location *location)
{
    uint8_t first;
    unsigned kind;

    if (self->at >= self->end) {
        return false;
    }
    first = read_byte(self);
    kind = (first >> 3) & 15;
    *location = (lp_location){.n_places = (first & 7u) + 1};
    if (kind != NO_LINE) {
        read_location(self, kind, line, location);
    }
    while (self->at < self->end && !(*self->at & IS_FIRST)) {
        self->at++;
    }
    return true;
}

/* -- co_exceptiontable --------------------------------------------------- */

/* Read a number whose most significant digit comes first. */
static uint32_t
read_big_endian(lp_table_reader *self)
{
    uint8_t byte = read_byte(self);
    uint32_t value = byte & DIGIT;

    while (byte & GOES_ON) {
        byte = read_byte(self);
        value = value << 6 | (byte & DIGIT);
    }
    return value;
}

bool
lp_next_handled(lp_table_reader *self, lp_handled *handled)
{
    if (self->at >= self->end) {
        return false;
    }
    handled->start = read_big_endian(self);
    handled->end = (uint64_t)handled->start + read_big_endian(self);
    handled->target = read_big_endian(self);
    (void)read_big_endian(self); /* depth of the stack */
    return true;
}
