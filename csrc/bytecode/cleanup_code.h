/* Cleanup code: instructions of the compiler's own at the ends of blocks,
 * which Python 3.11 shows as lines.
 *
 * A handler ends in RERAISE, which no statement of the program compiles to,
 * and so does the code that the compiler adds for an exception in a handler.
 * Both have the line of whatever was compiled before: mostly the last
 * statement of the block, whether it ran or not.  Control that comes to them
 * from another line has a line event, but executes nothing there; the same
 * holds for the ends of `except*` and of `async with`.  From 3.12 on they have
 * no line.
 *
 * A `pass` may compile to no instruction but the RERAISE or NOP at the end of
 * its block, which then is its execution.  The bytecode does not show whether
 * it is a `pass`, a declaration, or a statement that is never reached: if
 * another copy of a `finally` block does not tell, it is taken for a `pass`.
 */
#ifndef LP_BYTECODE_CLEANUP_CODE_H
#define LP_BYTECODE_CLEANUP_CODE_H

#include <stdbool.h>

#include "bytecode/code_tables.h"
#include "bytecode/instructions.h"

/* Mark cleanup code that may have line events of its own, with
 * LP_MARK_NO_EXECUTION, and make its lines statements of one line, so that
 * their events are looked up.  The tables have `marks` and `resumes`; false if
 * memory is out. */
bool lp_cleanup_code_mark(lp_code_tables *tables, const lp_instructions *all,
                          const lp_code_source *source,
                          const lp_opcodes *opcodes);

#endif
