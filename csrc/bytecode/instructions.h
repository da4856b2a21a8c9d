/* The instructions of a code object, and where control goes from each. */
#ifndef LP_BYTECODE_INSTRUCTIONS_H
#define LP_BYTECODE_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytecode/code_tables.h"

/* An instruction without its cache entries. */
typedef struct lp_instruction {
    uint32_t offset; /* in bytes */
    uint32_t op;     /* its LP_OP_... */
    int64_t target;  /* byte offset; -1 if it is no jump */
    bool repeats;    /* it is the jump back of a loop */
} lp_instruction;

/* The instructions of a code object, and scratch memory for each. */
typedef struct lp_instructions {
    lp_instruction *items; /* owned */
    uint32_t n, n_places;  /* of the latter, with cache entries */
    uint32_t *places;  /* owned; by offset / 2: 1 + index in `items`, or 0 */
    uint32_t *stack;   /* owned; for searches, with `seen` */
    uint8_t *seen;     /* owned */
    uint32_t *ends;    /* owned; by index, if there is any: 1 + index of the
                          END_ASYNC_FOR to which an exception there leads */
    uint32_t kinds;    /* the LP_OP_... of all of them */
    bool are_known;    /* all opcodes are, */
    bool have_targets; /* and all jumps go to an instruction */
} lp_instructions;

/* Read the bytecode into `self`, which is to be freed in any case; false if
 * memory is out. */
bool lp_instructions_read(lp_instructions *self, const lp_code_source *source,
                          const lp_opcodes *opcodes);

void lp_instructions_free(lp_instructions *self);

/* Note which jumps repeat a loop.  Where jumps back need not be loops, that is
 * from Python 3.12 on (`searches`), those inside an `await`, and those from
 * an exception handler at the end back to where it was raised, do not. */
void lp_find_loops(lp_instructions *self, bool searches);

/* Return the instruction at a byte offset, or NULL. */
const lp_instruction *lp_instruction_at(const lp_instructions *self,
                                        int64_t offset);

/* The LP_OP_... of the instruction so many before this one; 0 if none. */
static inline uint32_t
lp_op_before(const lp_instructions *self, const lp_instruction *at,
             ptrdiff_t distance)
{
    return at - self->items >= distance ? (at - distance)->op : 0;
}

#endif
