/* The last tests of `while` loops whose block shares the line of their head.
 *
 * Python 3.12 and 3.13 compile the test of a loop twice, before the block and
 * behind it.  If all is on one line, the second test has no event of its own:
 * a jump back tells that it was true, and nothing that it was false.  Both
 * tests have the same position in the source, with its columns, by which the
 * second one is found.
 */
#ifndef LP_BYTECODE_LOOP_TESTS_H
#define LP_BYTECODE_LOOP_TESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytecode/code_tables.h"
#include "bytecode/instructions.h"

/* Instructions of one loop, by offset / 2. */
typedef struct lp_loop_test {
    uint32_t test; /* the first of the test behind the block */
    uint32_t jump; /* the jump back, if that is true, */
    uint32_t body; /* to the block */
} lp_loop_test;

typedef struct lp_loop_tests {
    lp_loop_test *items; /* owned, by malloc */
    size_t n;
} lp_loop_tests;

/* Find the tests, and what looks like one at a jump back that repeats no loop;
 * `self` is empty before.  The tables have their lines and statements.  None
 * is found in code without columns (PYTHONNODEBUGRANGES), or with an unknown
 * opcode.  False if memory is out. */
bool lp_loop_tests_find(lp_loop_tests *self, const lp_code_tables *tables,
                        const lp_code_source *source,
                        const lp_instructions *all);

void lp_loop_tests_clear(lp_loop_tests *self);

#endif
