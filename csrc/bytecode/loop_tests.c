#include "bytecode/loop_tests.h"

#include <stdlib.h>
#include <string.h>

/* Where an instruction stands in the source; the columns are 0 if unknown, or
 * 1 + the number of bytes before. */
typedef struct position {
    int64_t line, end_line;
    uint32_t column, end_column;
} position;

/* Code that is read. */
typedef struct test_reader {
    const lp_code_tables *tables;
    const lp_code_source *source;
    const lp_opcodes *opcodes;
    position *positions; /* owned, by place */
    uint32_t *places;    /* owned: those that are no cache entries */
    uint32_t n;          /* of them */
    uint32_t *indexes;   /* owned, by place: its index in `places` */
} test_reader;

static uint32_t
op_at(const test_reader *self, uint32_t index)
{
    return self->opcodes->of[self->source->code[2 * self->places[index]]];
}

/* -- positions: see CPython, InternalDocs/code_objects.md ---------------- */

typedef struct byte_reader {
    const uint8_t *at, *end;
} byte_reader;

static uint8_t
read_byte(byte_reader *self)
{
    return self->at < self->end ? *self->at++ : 0;
}

static uint32_t
read_number(byte_reader *self)
{
    uint8_t byte = read_byte(self);
    uint32_t value = byte & 63, shift = 6;

    while (byte & 64) {
        byte = read_byte(self);
        value |= shift < 32 ? (uint32_t)(byte & 63) << shift : 0;
        shift += 6;
    }
    return value;
}

static int64_t
read_signed(byte_reader *self)
{
    uint32_t value = read_number(self);

    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Read an entry of the line table that begins with `first`; `line` is that of
 * the entry before, and after. */
static position
read_position(byte_reader *self, uint8_t first, int64_t *line)
{
    enum { TWO_COLUMNS = 10, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15 };
    unsigned kind = (first >> 3) & 15;
    position here = {0, 0, 0, 0};

    if (kind == NO_LINE) {
        return here;
    }
    if (kind < TWO_COLUMNS) {
        uint8_t columns = read_byte(self);

        here.column = 1 + kind * 8 + ((columns >> 4) & 7);
        here.end_column = here.column + (columns & 15);
    }
    else if (kind < NO_COLUMNS) {
        *line += kind - TWO_COLUMNS;
        here.column = 1 + (uint32_t)read_byte(self);
        here.end_column = 1 + (uint32_t)read_byte(self);
    }
    else {
        *line += read_signed(self);
    }
    here.line = here.end_line = *line;
    if (kind == LONG) {
        here.end_line += read_number(self);
        here.column = read_number(self);
        here.end_column = read_number(self);
    }
    return here;
}

static void
read_positions(test_reader *self)
{
    const lp_code_source *source = self->source;
    byte_reader at = {source->lines, source->lines + source->n_lines};
    uint32_t place = 0, n = self->tables->n_instructions;
    int64_t line = source->first_line;

    while (at.at < at.end && place < n) {
        uint8_t first = read_byte(&at);
        position here = read_position(&at, first, &line);

        for (unsigned i = 0; i <= (first & 7u) && place < n; i++) {
            self->positions[place++] = here;
        }
        while (at.at < at.end && !(*at.at & 128)) {
            at.at++;
        }
    }
}

static bool
is_same_place(const position *one, const position *other)
{
    return one->column != 0 && one->line == other->line &&
           one->end_line == other->end_line && one->column == other->column &&
           one->end_column == other->end_column;
}

/* -- loops --------------------------------------------------------------- */

/* Return the first line of the statement of an instruction; 0 if it has no
 * line. */
static uint32_t
statement_of(const test_reader *self, uint32_t index)
{
    const lp_code_tables *tables = self->tables;
    uint32_t line = tables->resumes[self->places[index]];
    uint32_t offset = line - tables->first_line;

    if (tables->statements != NULL && offset < tables->n_lines &&
        tables->statements[offset] != 0) {
        return tables->first_line + tables->statements[offset] - 1;
    }
    return line;
}

/* Return the index to which a jump back leads, or the jump's own. */
static uint32_t
target_of(const test_reader *self, uint32_t index)
{
    uint32_t place = self->places[index], back = 0;
    uint64_t next =
        (uint64_t)place + 1 + (op_at(self, index) >> LP_OP_CACHES_SHIFT);
    uint32_t begin = index;

    while (begin > 0 && (op_at(self, begin - 1) & LP_OP_EXTENDED)) {
        begin--;
    }
    for (uint32_t i = begin; i <= index; i++) {
        back = back << 8 | self->source->code[2 * self->places[i] + 1];
    }
    if (back > next || next - back >= self->tables->n_instructions ||
        next - back > place) {
        return index;
    }
    return self->indexes[next - back];
}

/* Return the index where a test that ends before another instruction may
 * begin, `least` or later: all is of the same statement, and it jumps back
 * to nothing but the block, as an `or` does. */
static uint32_t
begin_of_test(const test_reader *self, uint32_t end, uint32_t body,
              uint32_t least)
{
    const uint32_t mask = LP_OP_JUMP | LP_OP_BACK | LP_OP_ENDS;
    uint32_t first = end, statement = statement_of(self, end);

    while (first > least) {
        uint32_t op = op_at(self, first - 1);
        uint32_t line = statement_of(self, first - 1);

        if ((line != 0 && line != statement) || (op & mask) == LP_OP_ENDS ||
            ((op & LP_OP_BACK) && target_of(self, first - 1) != body)) {
            break;
        }
        first--;
    }
    return first;
}

/* Return the index behind the test before the block: a jump back to an outer
 * loop, over which the test jumps, may stand between them. */
static uint32_t
end_of_first_test(const test_reader *self, uint32_t body)
{
    const uint32_t mask = LP_OP_BACK | LP_OP_ENDS;

    return body > 0 && (op_at(self, body - 1) & mask) == mask ? body - 1
                                                              : body;
}

/* Return the index of the first instruction of the test before a jump back
 * that stands in the test before the block, too; that of the jump if there is
 * none. */
static uint32_t
find_test(const test_reader *self, uint32_t body, uint32_t jump)
{
    uint32_t end = end_of_first_test(self, body);
    uint32_t first = begin_of_test(self, end, body, 0);

    for (uint32_t i = begin_of_test(self, jump, body, body); i < jump; i++) {
        if (op_at(self, i) & LP_OP_NO_EVENTS) {
            continue;
        }
        for (uint32_t j = first; j < end; j++) {
            uint32_t here = self->places[i], before = self->places[j];

            if (self->source->code[2 * here] ==
                    self->source->code[2 * before] &&
                is_same_place(&self->positions[here],
                              &self->positions[before])) {
                return i;
            }
        }
    }
    return jump;
}

static bool
add_test(lp_loop_tests *self, const lp_loop_test *test)
{
    lp_loop_test *items =
        realloc(self->items, (self->n + 1) * sizeof(*self->items));

    if (items == NULL) {
        return false;
    }
    self->items = items;
    items[self->n++] = *test;
    return true;
}

static bool
find_tests(lp_loop_tests *self, test_reader *code)
{
    const uint32_t mask = LP_OP_LOOPS | LP_OP_ENDS;
    bool has_positions = false;

    for (uint32_t i = 0; i < code->n; i++) {
        uint32_t body, test;

        if ((op_at(code, i) & mask) != mask) {
            continue;
        }
        body = target_of(code, i);
        if (body == i || (op_at(code, body) & LP_OP_HEAD) ||
            statement_of(code, i) == 0 ||
            statement_of(code, body) != statement_of(code, i)) {
            continue;
        }
        if (!has_positions) {
            read_positions(code);
            has_positions = true;
        }
        test = find_test(code, body, i);
        if (test != i) {
            lp_loop_test found = {code->places[test], code->places[i],
                                  code->places[body]};

            if (!add_test(self, &found)) {
                return false;
            }
        }
    }
    return true;
}

bool
lp_loop_tests_find(lp_loop_tests *self, const lp_code_tables *tables,
                   const lp_code_source *source, const lp_opcodes *opcodes)
{
    size_t n = (size_t)tables->n_instructions + 1;
    test_reader code = {
        .tables = tables, .source = source, .opcodes = opcodes};
    bool done = false;

    code.positions = calloc(n, sizeof(*code.positions));
    code.places = calloc(n, sizeof(*code.places));
    code.indexes = calloc(n, sizeof(*code.indexes));
    if (code.positions != NULL && code.places != NULL &&
        code.indexes != NULL) {
        for (uint32_t place = 0; place < tables->n_instructions; place++) {
            code.indexes[place] = code.n;
            if (!(opcodes->of[source->code[2 * place]] & LP_OP_CACHE)) {
                code.places[code.n++] = place;
            }
        }
        done = find_tests(self, &code);
    }
    free(code.positions);
    free(code.places);
    free(code.indexes);
    return done;
}

void
lp_loop_tests_clear(lp_loop_tests *self)
{
    free(self->items);
    *self = (lp_loop_tests){NULL, 0};
}
