/* Tables of a code object, by which the hooks interpret its events.
 *
 * A line event carries only a line number.  Whether it starts a statement,
 * returns to a statement of several lines, or repeats in a comprehension, is
 * looked up in these tables.  They are built once, when the code object is
 * registered, from its bytecode, its line table and its exception table, and
 * from the spans of its file's statements.
 *
 * All of these may be nonsense that a program made: nothing is read beyond
 * their ends, and the tables then mean little.  What an opcode is comes from a
 * table, because a newer Python has others.
 */
#ifndef LP_BYTECODE_CODE_TABLES_H
#define LP_BYTECODE_CODE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytecode/statement_spans.h"

/* Properties of an opcode; lineprof/bytecode/opcodes.py has the same.  The
 * upper byte is the number of its cache entries. */
enum {
    LP_OP_KNOWN = 1,
    LP_OP_JUMP = 2,    /* has a target, */
    LP_OP_BACK = 4,    /* before it, */
    LP_OP_LOOPS = 8,   /* which may be the head of a loop */
    LP_OP_HEAD = 0x10, /* the head of a loop over an iterator */
    LP_OP_ITERATES = 0x20,
    LP_OP_CALLED = 0x40, /* may come before the loop of all(), for example */
    LP_OP_ENDS = 0x80,   /* the next instruction does not run after it */
    LP_OP_SWAP = 0x100,
    LP_OP_CACHE = 0x200,
    LP_OP_EXTENDED = 0x400,
    LP_OP_END_FOR = 0x800,
    LP_OP_POP_ITER = 0x1000,
    LP_OP_NO_EVENTS = 0x2000,
    LP_OP_COMPREHENSION = 0x4000, /* in any function with a comprehension */
    LP_OP_WITH = 0x8000,
    LP_OP_RESUME = 0x10000,
    LP_OP_YIELD = 0x20000,
    LP_OP_FOR = 0x40000,
    /* It is specialized if nothing is traced.  Where tracing slows each
     * instruction, this one is slowed more; elsewhere, if it has an event. */
    LP_OP_SPECIALIZED = 0x80000,
    LP_OP_SLICES = 0x100000,  /* the next one is not */
    LP_OP_HANDLES = 0x200000, /* the first of an exception handler */
    /* Where these may have the line of a statement that does not run; the
     * second is also the end of `except*`. */
    LP_OP_NOP = 0x400000,
    LP_OP_RERAISE = 0x800000,
    LP_OP_CACHES_SHIFT = 24
};

/* Properties of a version of Python. */
enum {
    LP_PYTHON_INLINES = 1, /* comprehensions run in their function */
    LP_PYTHON_COUNTS_INSTRUCTIONS = 2, /* tracing slows each of them */
    LP_PYTHON_FAR_IS_SLOW = 4,         /* LINE events far down */
    LP_PYTHON_UNKNOWN_LOOPS = 8,       /* LP_OP_COMPREHENSION is incomplete */
    LP_PYTHON_UNREADABLE = 16,         /* its jumps are unknown */
    /* The instruction behind an END_FOR is the target of a jump, so that it
     * has a LINE event. */
    LP_PYTHON_TELLS_OF_LOOP_ENDS = 32
};

typedef struct lp_opcodes {
    uint32_t python;
    uint32_t of[256];
} lp_opcodes;

/* Bits of an instruction's mark; the first two are an lp_line_entry. */
enum {
    LP_MARK_LOOP_BACK = 1,
    LP_MARK_COMPREHENSION = 2,
    LP_MARK_NO_LINE_EVENT = 4,
    LP_MARK_NO_EXECUTION = 8, /* a line event there tells of no execution */
    /* of a loop whose turns have their hits at its last test, which has an
     * event of its own: LP_START_REPEATS */
    LP_MARK_TESTED = 16
};

/* Bits of an instruction's start.  It is the first of a call, and runs once in
 * it, so that its event also tells of the call. */
#define LP_START_OF_CALL ((uint32_t)1 << 31)
/* The interpreter has no LINE event there, so that an INSTRUCTION event tells
 * of the line in any case: the code after a loop goes on with the line of the
 * last instruction before the loop's end, as in copies of one statement that
 * follow a `break` and the end of the loop. */
#define LP_START_HIDDEN ((uint32_t)1 << 30)

/* A new execution of the line begins there, even if it is open: it has
 * LP_START_HIDDEN, too. */
#define LP_START_REPEATS ((uint32_t)1 << 29)

/* Return 1 + index of the line of a start without its bits; 0 if none. */
static inline uint32_t
lp_start_line(uint32_t start)
{
    return start & ~(LP_START_OF_CALL | LP_START_HIDDEN | LP_START_REPEATS);
}

/* The events that are to tell of a code object's lines. */
typedef enum lp_line_event {
    LP_BY_LINE,
    LP_BY_LINE_UNLESS_SLOW, /* INSTRUCTION events if a line is far down */
    LP_BY_INSTRUCTION,      /* one where a line begins */
    LP_BY_CHEAPER_EVENT     /* those of the two that cost less in this code */
} lp_line_event;

/* The choice, and the costs on which it depends, in ticks * LP_COST_ONE.  An
 * event passes a number, of the line or the offset in bytes, and costs more if
 * the interpreter has to create it. */
typedef struct lp_line_events {
    lp_line_event wanted;
    uint32_t line, high_line;
    uint32_t instruction, high_instruction;
    uint32_t max_small_int; /* numbers up to this one exist already */
} lp_line_events;

/* Kinds of code objects by their statements. */
typedef enum {
    LP_STATEMENTS_OF_FILE, /* the spans of the file's */
    LP_STATEMENT_IS_ALL,   /* a lambda: all its lines are one */
} lp_statements_kind;

typedef struct lp_code_source {
    const uint8_t *code, *lines, *handlers; /* borrowed: co_code,
                                               co_linetable, */
    size_t n_code, n_lines, n_handlers;     /* co_exceptiontable, in bytes */
    int32_t first_line;                     /* co_firstlineno */
    bool in_steps;                          /* a generator or coroutine */
    lp_statements_kind kind;
    const lp_line_span *spans; /* borrowed; of the file */
    size_t n_spans;
} lp_code_source;

/* Owned arrays, by line (n_lines) or by instruction (n_instructions): those
 * that say nothing are NULL. */
typedef struct lp_code_tables {
    uint32_t first_line, n_lines, n_instructions;
    int32_t start; /* byte offset of the RESUME that begins a call */
    bool is_far;   /* some line is far down, and its LINE events are slow */
    bool by_instruction;    /* INSTRUCTION events tell of all lines */
    bool has_start_of_call; /* among `starts`, */
    bool has_hidden_starts; /* so that INSTRUCTION events tell of these */
    bool has_comprehension; /* that runs in its frame */
    bool is_unread;         /* its jumps are unknown, and matter */
    uint32_t
        *statements; /* by line: 1 + index of its statement's first line */
    uint16_t *instructions; /* by line: instructions of one event, */
    uint16_t *specialized;  /* and of those that are slowed more */
    uint8_t *marks;         /* by instruction */
    uint32_t *resumes;      /* by instruction: its line */
    /* by instruction, if INSTRUCTION events tell of all lines, or of hidden
     * starts alone: 1 + index of the line that may begin there, and the bits
     * LP_START_...; 0 if none */
    uint32_t *starts;
    uint8_t *high;     /* by line: a bit if its event has a large number */
    uint8_t *has_code; /* by line: a bit if it has instructions */
} lp_code_tables;

typedef enum {
    LP_TABLES_DONE,
    LP_TABLES_INVALID, /* the code has no lines, or some too far apart */
    LP_TABLES_NO_MEMORY
} lp_tables_result;

/* Fill in `self`, which is to be cleared in any case. */
lp_tables_result lp_code_tables_build(lp_code_tables *self,
                                      const lp_code_source *source,
                                      const lp_opcodes *opcodes,
                                      const lp_line_events *events);

void lp_code_tables_clear(lp_code_tables *self);

/* Keep those of `n` starts that are hidden. */
void lp_keep_hidden_starts(uint32_t *starts, uint32_t n);

#endif
