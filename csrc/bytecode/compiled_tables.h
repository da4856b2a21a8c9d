/* Reading of the tables that the compiler adds to bytecode: where instructions
 * stand in the source, and which exception handler they have.
 *
 * Formats: CPython, InternalDocs/code_objects.md (co_linetable) and
 * InternalDocs/exception_handling.md (co_exceptiontable).  A place is an
 * offset in the bytecode / 2.  Tables that are cut off or damaged are read
 * like others; nothing behind their end is.
 */
#ifndef LP_BYTECODE_COMPILED_TABLES_H
#define LP_BYTECODE_COMPILED_TABLES_H

#include <stdbool.h>
#include <stdint.h>

/* What is left of a table. */
typedef struct lp_table_reader {
    const uint8_t *at, *end;
} lp_table_reader;

/* Where adjacent instructions stand in the source. */
typedef struct lp_location {
    uint32_t n_places;
    uint32_t line, end_line;     /* 0 if they have none */
    uint32_t column, end_column; /* 1 + number of bytes before; 0 if unknown */
} lp_location;

/* A part of the bytecode, from the place `start` up to `end`, in which an
 * exception leads to `target`. */
typedef struct lp_handled {
    uint64_t end;
    uint32_t start, target;
} lp_handled;

/* Read the next entry of co_linetable; false at its end.  Lines are relative
 * to `line`: co_firstlineno at first, and left to this function afterwards. */
bool lp_next_location(lp_table_reader *self, int64_t *line,
                      lp_location *location);

/* Read the next entry of co_exceptiontable; false at its end. */
bool lp_next_handled(lp_table_reader *self, lp_handled *handled);

#endif
