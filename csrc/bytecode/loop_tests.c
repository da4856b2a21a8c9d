#include "bytecode/loop_tests.h"

#include <stdlib.h>

#include "bytecode/compiled_tables.h"

/* Code that is read. */
typedef struct test_reader {
    const lp_code_tables *tables;
    const lp_code_source *source;
    const lp_instructions *all;
    lp_location *locations; /* owned, by place; NULL until they are read */
} test_reader;

static uint32_t
op_at(const test_reader *self, uint32_t index)
{
    return self->all->items[index].op;
}

static uint32_t
place_of(const test_reader *self, uint32_t index)
{
    return self->all->items[index].offset / 2;
}

/* Read the locations, if they are not; false if memory is out. */
static bool
read_locations(test_reader *self)
{
    const lp_code_source *source = self->source;
    lp_table_reader table = {source->lines, source->lines + source->n_lines};
    lp_location location;
    uint32_t place = 0, n = self->all->n_places;
    int64_t line = source->first_line;

    if (self->locations != NULL) {
        return true;
    }
    self->locations = calloc((size_t)n + 1, sizeof(*self->locations));
    if (self->locations == NULL) {
        return false;
    }
    while (place < n && lp_next_location(&table, &line, &location)) {
        for (uint32_t i = 0; i < location.n_places && place < n; i++) {
            self->locations[place++] = location;
        }
    }
    return true;
}

static bool
is_same_place(const lp_location *one, const lp_location *other)
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
    uint32_t line = tables->resumes[place_of(self, index)];
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
    const lp_instruction *jump = &self->all->items[index];

    return jump->target < 0 || jump->target > jump->offset
               ? index
               : self->all->places[jump->target / 2] - 1;
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
            uint32_t here = place_of(self, i), before = place_of(self, j);

            if (self->source->code[2 * here] ==
                    self->source->code[2 * before] &&
                is_same_place(&self->locations[here],
                              &self->locations[before])) {
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

    for (uint32_t i = 0; i < code->all->n; i++) {
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
        if (!read_locations(code)) {
            return false;
        }
        test = find_test(code, body, i);
        if (test != i) {
            lp_loop_test found = {place_of(code, test), place_of(code, i),
                                  place_of(code, body)};

            if (!add_test(self, &found)) {
                return false;
            }
        }
    }
    return true;
}

bool
lp_loop_tests_find(lp_loop_tests *self, const lp_code_tables *tables,
                   const lp_code_source *source, const lp_instructions *all)
{
    test_reader code = {.tables = tables, .source = source, .all = all};
    bool done = true;

    if (all->are_known && all->have_targets) {
        done = find_tests(self, &code);
        free(code.locations);
    }
    return done;
}

void
lp_loop_tests_clear(lp_loop_tests *self)
{
    free(self->items);
    *self = (lp_loop_tests){NULL, 0};
}
