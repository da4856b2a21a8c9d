/* Tables of a code object: those of a loop, and no access beyond the ends of
 * nonsense. */
#include "bytecode/code_tables.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "random.h"

/* Opcodes of a Python of the tests. */
enum {
    RESUME = 1,
    PLAIN,
    FOR,
    BACK,
    RETURN,
    EXTENDED,
    CACHE,
    SWAP,
    WITH,
    HANDLE,
    RERAISE,
    PREPARE,
    NOP,
    TEST,
    JUMP
};

static const lp_opcodes opcodes = {
    .python = LP_PYTHON_INLINES | LP_PYTHON_FAR_IS_SLOW |
              LP_PYTHON_COUNTS_INSTRUCTIONS,
    .of =
        {
            [RESUME] = LP_OP_KNOWN | LP_OP_RESUME | LP_OP_NO_EVENTS,
            [PLAIN] = LP_OP_KNOWN | LP_OP_YIELD,
            [FOR] = LP_OP_KNOWN | LP_OP_JUMP | LP_OP_HEAD | LP_OP_FOR |
                    LP_OP_COMPREHENSION | 1u << LP_OP_CACHES_SHIFT,
            [BACK] = LP_OP_KNOWN | LP_OP_JUMP | LP_OP_BACK | LP_OP_LOOPS,
            [RETURN] = LP_OP_KNOWN | LP_OP_ENDS,
            [EXTENDED] = LP_OP_KNOWN | LP_OP_EXTENDED,
            [CACHE] = LP_OP_KNOWN | LP_OP_CACHE,
            [SWAP] = LP_OP_KNOWN | LP_OP_SWAP | LP_OP_POP_ITER | LP_OP_END_FOR,
            [WITH] = LP_OP_KNOWN | LP_OP_WITH | LP_OP_ITERATES,
            [HANDLE] = LP_OP_KNOWN | LP_OP_HANDLES,
            [RERAISE] = LP_OP_KNOWN | LP_OP_RERAISE | LP_OP_ENDS,
            [PREPARE] = LP_OP_KNOWN | LP_OP_RERAISE,
            [NOP] = LP_OP_KNOWN | LP_OP_NOP,
            [TEST] = LP_OP_KNOWN | LP_OP_JUMP,
            [JUMP] = LP_OP_KNOWN | LP_OP_JUMP | LP_OP_ENDS,
        },
};

static const lp_line_events events = {.wanted = LP_BY_LINE};

static const uint8_t loop[] = {
    RESUME, 0, SWAP, 0, FOR, 2, CACHE, 0, PLAIN, 0, BACK, 4, RETURN, 0,
};
/* Two instructions, three on the next line, one two lines on, and one back. */
static const uint8_t lines[] = {
    0x80 | 10 << 3 | 1, 0, 0, 0x80 | 11 << 3 | 2, 0, 0,
    0x80 | 12 << 3 | 0, 0, 0, 0x80 | 13 << 3 | 0, 5};

static lp_code_source
source_of_loop(void)
{
    return (lp_code_source){
        .code = loop,
        .lines = lines,
        .n_code = sizeof(loop),
        .n_lines = sizeof(lines),
        .first_line = 10,
    };
}

static void
a_loop_has_its_lines_and_its_marks(void)
{
    lp_code_source source = source_of_loop();
    lp_code_tables tables;
    const uint32_t resumes[] = {10, 10, 11, 11, 11, 13, 11};
    const uint8_t marks[] = {0, 0, 2, 0, 0, 2, 0};

    CHECK(lp_code_tables_build(&tables, &source, &opcodes, &events) ==
          LP_TABLES_DONE);
    CHECK(tables.first_line == 10 && tables.n_lines == 4);
    CHECK(tables.start == 0 && !tables.is_far && !tables.is_unread);
    CHECK(tables.has_comprehension);
    CHECK(tables.statements == NULL);
    CHECK(tables.marks != NULL && tables.n_instructions == sizeof(marks));
    CHECK(memcmp(tables.marks, marks, sizeof(marks)) == 0);
    CHECK(memcmp(tables.resumes, resumes, sizeof(resumes)) == 0);
    lp_code_tables_clear(&tables);
}

static void
statements_are_those_that_begin_in_the_code(void)
{
    const lp_line_span spans[] = {{1, 2}, {9, 10}, {11, 12}, {13, 20}};
    const uint32_t statements[] = {0, 2, 2, 4};
    lp_code_source source = source_of_loop();
    lp_code_tables tables;

    source.spans = spans;
    source.n_spans = 4;
    CHECK(lp_code_tables_build(&tables, &source, &opcodes, &events) ==
          LP_TABLES_DONE);
    CHECK(memcmp(tables.statements, statements, sizeof(statements)) == 0);
    lp_code_tables_clear(&tables);
}

static void
instructions_where_a_line_begins_are_its_starts(void)
{
    const uint32_t starts[] = {0, 1 | LP_START_OF_CALL, 2, 0, 0, 4, 2};
    /* An event at each costs the same, or less if no number is over 4. */
    const struct {
        lp_line_events events;
        bool by_instruction;
    } cases[] = {
        {{.wanted = LP_BY_LINE}, false},
        {{.wanted = LP_BY_LINE_UNLESS_SLOW}, false},
        {{.wanted = LP_BY_INSTRUCTION}, true},
        {{.wanted = LP_BY_CHEAPER_EVENT}, true},
        {{LP_BY_CHEAPER_EVENT, 2, 9, 1, 9, 256}, true},
        {{LP_BY_CHEAPER_EVENT, 1, 9, 2, 9, 256}, false},
        {{LP_BY_CHEAPER_EVENT, 1, 9, 2, 9, 4}, true},
        {{LP_BY_CHEAPER_EVENT, 1, 3, 2, 9, 4}, false},
    };
    lp_code_source source = source_of_loop();
    lp_code_tables tables;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK(lp_code_tables_build(&tables, &source, &opcodes,
                                   &cases[i].events) == LP_TABLES_DONE);
        CHECK((tables.starts != NULL) == cases[i].by_instruction);
        if (tables.starts != NULL) {
            CHECK(memcmp(tables.starts, starts, sizeof(starts)) == 0);
        }
        lp_code_tables_clear(&tables);
    }
}

/* A `finally` of an if and its else, to which an exception on line 11 leads,
 * and the handler of exceptions in it. */
static const uint8_t handler[] = {
    RESUME, 0, PLAIN, 0, RETURN,  0, HANDLE, 0, TEST,  2, PLAIN,   0,
    JUMP,   1, PLAIN, 0, RERAISE, 0, PLAIN,  0, PLAIN, 0, RERAISE, 0,
};
/* The first one, up to the third; and from the fourth up to the ninth. */
static const uint8_t handlers_of_it[] = {1, 2, 3, 0, 3, 6, 9, 0};

static lp_code_source
source_of_handler(const uint8_t *its_lines, size_t n_lines)
{
    return (lp_code_source){
        .code = handler,
        .lines = its_lines,
        .handlers = handlers_of_it,
        .n_code = sizeof(handler),
        .n_lines = n_lines,
        .n_handlers = sizeof(handlers_of_it),
        .first_line = 10,
    };
}

/* Check the marks of an `if` on line 12, with line 13, and the RERAISE on line
 * 14, whose line is that of other code at the place given. */
static void
check_handler(const uint8_t *its_lines, size_t n_lines, uint8_t at_the_end)
{
    const uint8_t executions[] = {0, 0, 0, 0, 0, 0, 0, 0, at_the_end, 8, 8, 8};
    const uint32_t statements[] = {0, 0, 0, 0, 5};
    lp_code_source source = source_of_handler(its_lines, n_lines);
    lp_opcodes traced = opcodes;
    lp_code_tables tables;

    traced.python = LP_PYTHON_COUNTS_INSTRUCTIONS;
    CHECK(lp_code_tables_build(&tables, &source, &traced, &events) ==
          LP_TABLES_DONE);
    CHECK(tables.n_lines == 5 && tables.resumes == NULL);
    CHECK(memcmp(tables.marks, executions, sizeof(executions)) == 0);
    CHECK(memcmp(tables.statements, statements, sizeof(statements)) == 0);
    lp_code_tables_clear(&tables);
}

static void
the_end_of_a_handler_is_no_execution_of_its_line(void)
{
    static const uint8_t its_lines[] = {0x80 | 10 << 3 | 0,
                                        0,
                                        0,
                                        0x80 | 11 << 3 | 1,
                                        0,
                                        0,
                                        0x80 | 15 << 3 | 0,
                                        0x80 | 11 << 3 | 0,
                                        0,
                                        0,
                                        0x80 | 11 << 3 | 1,
                                        0,
                                        0,
                                        0x80 | 11 << 3 | 4,
                                        0,
                                        0};

    check_handler(its_lines, sizeof(its_lines), LP_MARK_NO_EXECUTION);
}

static void
the_end_of_a_handler_executes_a_pass_that_has_no_other_code_there(void)
{
    /* Line 14 has code in the copy for the end without an exception. */
    static const uint8_t its_lines[] = {0x80 | 10 << 3 | 0,
                                        0,
                                        0,
                                        0x80 | 11 << 3 | 0,
                                        0,
                                        0,
                                        0x80 | 13 << 3 | 0,
                                        6,
                                        0x80 | 15 << 3 | 0,
                                        0x80 | 13 << 3 | 0,
                                        5,
                                        0x80 | 11 << 3 | 2,
                                        0,
                                        0,
                                        0x80 | 11 << 3 | 3,
                                        0,
                                        0};

    check_handler(its_lines, sizeof(its_lines), 0);
}

static void
code_without_lines_is_invalid(void)
{
    lp_code_source source = source_of_loop();
    lp_code_tables tables;

    source.n_lines = 0;
    CHECK(lp_code_tables_build(&tables, &source, &opcodes, &events) ==
          LP_TABLES_INVALID);
    lp_code_tables_clear(&tables);
}

/* Return random bytes that end where their memory ends. */
static uint8_t *
random_bytes(uint64_t *state, size_t size, uint32_t below)
{
    uint8_t *bytes = malloc(size ? size : 1);

    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)random_below(state, below);
    }
    return bytes;
}

static void
nonsense_is_not_read_beyond_its_end(void)
{
    uint64_t state = 2026;

    for (int round = 0; round < 20000; round++) {
        size_t n_code = 2 * (size_t)random_below(&state, 40);
        size_t n_lines = random_below(&state, 40);
        size_t n_handlers = random_below(&state, 20);
        uint8_t *code = random_bytes(&state, n_code, JUMP + 2);
        uint8_t *table = random_bytes(&state, n_lines, 256);
        uint8_t *handlers = random_bytes(&state, n_handlers, 256);
        const lp_line_span spans[] = {{5, 30}, {40, 45}};
        const lp_code_source source = {
            .code = code,
            .lines = table,
            .handlers = handlers,
            .n_code = n_code,
            .n_lines = n_lines,
            .n_handlers = n_handlers,
            .first_line = (int32_t)random_below(&state, 50),
            .in_steps = random_below(&state, 2),
            .kind = random_below(&state, 4) ? LP_STATEMENTS_OF_FILE
                                            : LP_STATEMENT_IS_ALL,
            .spans = spans,
            .n_spans = 2,
        };
        const lp_line_events any = {
            .wanted = (lp_line_event)random_below(&state, 4),
            .max_small_int = random_below(&state, 40),
        };
        lp_code_tables tables;
        lp_tables_result result =
            lp_code_tables_build(&tables, &source, &opcodes, &any);

        CHECK(result != LP_TABLES_NO_MEMORY);
        lp_code_tables_clear(&tables);
        free(code);
        free(table);
        free(handlers);
    }
}

int
main(void)
{
    a_loop_has_its_lines_and_its_marks();
    statements_are_those_that_begin_in_the_code();
    instructions_where_a_line_begins_are_its_starts();
    the_end_of_a_handler_is_no_execution_of_its_line();
    the_end_of_a_handler_executes_a_pass_that_has_no_other_code_there();
    code_without_lines_is_invalid();
    nonsense_is_not_read_beyond_its_end();
    return check_failures;
}
