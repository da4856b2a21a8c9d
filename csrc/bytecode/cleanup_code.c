#include "bytecode/cleanup_code.h"

#include <stdlib.h>

#include "bytecode/compiled_tables.h"

enum { MAX_CLEANUP = 12 /* instructions, with EXTENDED_ARG */ };

enum { JUMPS_ON = LP_OP_JUMP | LP_OP_BACK | LP_OP_ENDS };

enum {
    IS_ARRIVAL = 1, /* control may come to it from another line */
    IS_COPY = 2,    /* a handler whose lines have code elsewhere, too */
    IS_TARGET = 4   /* of a jump */
};

/* A code object that is read; all places are those of two bytes. */
typedef struct code_reader {
    lp_code_tables *tables;       /* borrowed */
    const lp_instructions *all;   /* borrowed */
    const lp_code_source *source; /* borrowed */
    const lp_opcodes *opcodes;    /* borrowed */
    uint32_t n;
    uint32_t *handlers;   /* owned, by place: 1 + where its handler begins */
    uint32_t *covers;     /* owned, by place of a handler: 1 + first place that
                             it handles */
    uint32_t *code;       /* owned, by line: 1 + last place of its own code, */
    uint32_t *nops;       /* and of a NOP; 0 if it had none so far */
    uint32_t *ends;       /* owned, the same: the place after the last one */
    uint32_t *last_lines; /* owned, by place of a handler: last line that it
                             handles */
    uint8_t *flags;       /* owned, by place: IS_... */
} code_reader;

static uint32_t
op_at(const code_reader *self, uint32_t place)
{
    return self->opcodes->of[self->source->code[2 * place]];
}

static uint32_t
line_at(const code_reader *self, uint32_t place)
{
    return self->tables->resumes[place];
}

/* Control may come from this line to the place. */
static void
note_arrival(code_reader *self, uint32_t line, uint32_t to)
{
    if (line_at(self, to) != line) {
        self->flags[to] |= IS_ARRIVAL;
    }
}

/* The instruction begins no execution of its line.  False if memory is out. */
static bool
mark(code_reader *self, uint32_t place)
{
    lp_code_tables *tables = self->tables;
    uint32_t offset = line_at(self, place) - tables->first_line;

    tables->marks[place] |= LP_MARK_NO_EXECUTION;
    if (line_at(self, place) == 0 || !(self->flags[place] & IS_ARRIVAL)) {
        return true;
    }
    if (tables->statements == NULL) {
        tables->statements = calloc(tables->n_lines, sizeof(uint32_t));
    }
    if (tables->statements == NULL) {
        return false;
    }
    if (tables->statements[offset] == 0) {
        tables->statements[offset] = 1 + offset;
    }
    return true;
}

/* -- the exception table ------------------------------------------------- */

/* Read which instructions have which handler; false if the table is not the
 * compiler's, in which each instruction has one at most. */
static bool
read_handlers(code_reader *self)
{
    const lp_code_source *source = self->source;
    lp_table_reader table = {source->handlers,
                             source->handlers + source->n_handlers};
    lp_handled handled;

    while (lp_next_handled(&table, &handled)) {
        uint32_t start = handled.start, handler = handled.target;

        if (handled.end > self->n || handler >= self->n) {
            return false;
        }
        for (uint32_t place = start; place < handled.end; place++) {
            if (self->handlers[place] != 0) {
                return false;
            }
            self->handlers[place] = 1 + handler;
            note_arrival(self, line_at(self, place), handler);
            if (line_at(self, place) > self->last_lines[handler]) {
                self->last_lines[handler] = line_at(self, place);
            }
        }
        if (handled.end > self->ends[handler]) {
            self->ends[handler] = (uint32_t)handled.end;
        }
        if (self->covers[handler] == 0 || start < self->covers[handler] - 1) {
            self->covers[handler] = 1 + start;
        }
    }
    return true;
}

/* -- cleanup code -------------------------------------------------------- */

/* Note where control may come to an instruction from another line, by a jump
 * or from the instruction before it. */
static void
find_arrivals(code_reader *self)
{
    uint32_t line = 0;
    bool continues = false;

    for (uint32_t i = 0; i < self->all->n; i++) {
        const lp_instruction *at = &self->all->items[i];

        if (continues) {
            note_arrival(self, line, at->offset / 2);
        }
        line = line_at(self, at->offset / 2);
        continues = !(at->op & LP_OP_ENDS);
        if (at->target >= 0 && at->target / 2 < self->n &&
            !(at->op & LP_OP_BACK)) {
            uint32_t to = (uint32_t)at->target / 2;

            self->flags[to] |= IS_TARGET;
            note_arrival(self, line, to);
        }
    }
}

/* Mark the handlers of exceptions in handlers, up to their end, a jump, or the
 * target of one: that of `except*` may go on with the next clause.  A handler
 * of the program's begins with PUSH_EXC_INFO, and the end of an asynchronous
 * loop, which runs, is no cleanup.  False if memory is out. */
static bool
mark_inner_handlers(code_reader *self)
{
    for (uint32_t handler = 0; handler < self->n; handler++) {
        uint32_t op = 0;

        if (self->covers[handler] == 0) {
            continue;
        }
        for (uint32_t i = 0; i < MAX_CLEANUP && handler + i < self->n &&
                             !(op & (LP_OP_JUMP | LP_OP_ENDS));
             i++) {
            op = op_at(self, handler + i);
            if ((op & (LP_OP_HANDLES | LP_OP_NO_EVENTS)) ||
                (i > 0 && (self->flags[handler + i] & IS_TARGET))) {
                break;
            }
            if (!mark(self, handler + i)) {
                return false;
            }
        }
    }
    return true;
}

/* True if one of the line's places is in a block that begins at `first`. */
static bool
is_since(uint32_t place, uint32_t first)
{
    return place != 0 && place > first;
}

/* True if the RERAISE is not that of a `pass` or a constant at the end of the
 * handler, for which it may stand.  The line then has other code in the
 * handler, or it has none at all, although the block was compiled elsewhere,
 * too: it is of a declaration. */
static bool
is_end_of_handler(const code_reader *self, uint32_t place)
{
    uint32_t offset = line_at(self, place) - self->tables->first_line;
    uint32_t code = self->code[offset], nop = self->nops[offset];
    uint32_t handler = self->handlers[place];
    uint32_t first = handler == 0 ? 0 : self->covers[handler - 1] - 1;

    if (code == 0 && nop == 0) {
        return handler != 0 && (self->flags[first] & IS_COPY);
    }
    return is_since(code, first) || is_since(nop, first);
}

/* True if the NOP is the end of an `async with`, and has the line of the head
 * of the last statement in it: other code there, or another line below. */
static bool
is_end_of_with(const code_reader *self, uint32_t place)
{
    uint32_t handler = place == 0 ? 0 : self->handlers[place - 1];
    uint32_t line = line_at(self, place), first;

    if (handler == 0 || place + 1 >= self->n ||
        self->ends[handler - 1] != place) {
        return false;
    }
    first = self->covers[handler - 1] - 1;
    return line_at(self, place + 1) == line_at(self, first) &&
           (line < self->last_lines[handler - 1] ||
            is_since(self->code[line - self->tables->first_line], first));
}

/* True if the NOP or jump, which may begin with EXTENDED_ARG, ends a block and
 * has the line of the last statement in it, whose code stands before. */
static bool
is_behind_statement(const code_reader *self, uint32_t place)
{
    uint32_t at = place, op = op_at(self, at);

    while (at + 1 < self->n && (op & LP_OP_EXTENDED)) {
        op = op_at(self, ++at);
    }
    return ((op & LP_OP_NOP) ||
            (op & JUMPS_ON) == (LP_OP_JUMP | LP_OP_ENDS)) &&
           place > 0 && line_at(self, place - 1) == line_at(self, place);
}

/* True if the instruction, to which control may come from another line, ends a
 * block and executes nothing of its line. */
static bool
is_end(const code_reader *self, uint32_t place)
{
    uint32_t op = op_at(self, place);

    if (line_at(self, place) == 0 || !(self->flags[place] & IS_ARRIVAL)) {
        return false;
    }
    if (op & LP_OP_RERAISE) {
        return is_end_of_handler(self, place);
    }
    return is_behind_statement(self, place) ||
           ((op & LP_OP_NOP) && is_end_of_with(self, place));
}

/* Mark so many instructions, from this one on; false if memory is out. */
static bool
mark_all(code_reader *self, uint32_t place, uint32_t n)
{
    for (uint32_t end = place + n; place < end && place < self->n; place++) {
        if (!mark(self, place)) {
            return false;
        }
    }
    return true;
}

/* Mark the end of `except*`, which has the line of its last handler:
 * LIST_APPEND, PREP_RERAISE_STAR, COPY, POP_JUMP, POP_TOP, POP_EXCEPT; and,
 * where that jump goes, SWAP, POP_EXCEPT, RERAISE. */
static bool
mark_end_of_star(code_reader *self, uint32_t prepare)
{
    uint32_t jump = prepare + 2;

    if (prepare == 0 || jump >= self->n) {
        return true;
    }
    return mark_all(self, prepare - 1, 6) &&
           mark_all(self, jump + 1 + self->source->code[2 * jump + 1], 3);
}

/* Note that the line of the place has code there. */
static void
note_code(code_reader *self, uint32_t place)
{
    uint32_t line = line_at(self, place), op = op_at(self, place);
    uint32_t offset = line - self->tables->first_line;

    if (line == 0 || (op & LP_OP_RERAISE)) {
        return;
    }
    *(op & LP_OP_NOP ? &self->nops[offset] : &self->code[offset]) = 1 + place;
}

/* True if the first line of a handler has code before. */
static bool
is_copy(const code_reader *self, uint32_t handler)
{
    uint32_t line = handler + 1 < self->n ? line_at(self, handler + 1) : 0;
    uint32_t offset = line - self->tables->first_line;

    return line != 0 && (self->code[offset] != 0 || self->nops[offset] != 0);
}

/* Mark the ends of blocks; false if memory is out. */
static bool
mark_ends(code_reader *self)
{
    for (uint32_t place = 0; place < self->n; place++) {
        uint32_t op = op_at(self, place);

        if (self->tables->marks[place] & LP_MARK_NO_EXECUTION) {
            continue;
        }
        if ((op & LP_OP_HANDLES) && is_copy(self, place)) {
            self->flags[place] |= IS_COPY;
        }
        if ((op & LP_OP_RERAISE) && !(op & LP_OP_ENDS)) {
            if (!mark_end_of_star(self, place)) {
                return false;
            }
        }
        else if (is_end(self, place)) {
            if (!mark(self, place)) {
                return false;
            }
        }
        else {
            note_code(self, place);
        }
    }
    return true;
}

bool
lp_cleanup_code_mark(lp_code_tables *tables, const lp_instructions *all,
                     const lp_code_source *source, const lp_opcodes *opcodes)
{
    size_t n = tables->n_instructions + 1;
    code_reader self = {
        .tables = tables,
        .all = all,
        .source = source,
        .opcodes = opcodes,
        .n = tables->n_instructions,
    };
    bool done = true;

    self.handlers = calloc(n, sizeof(uint32_t));
    self.covers = calloc(n, sizeof(uint32_t));
    self.code = calloc(tables->n_lines, sizeof(uint32_t));
    self.nops = calloc(tables->n_lines, sizeof(uint32_t));
    self.ends = calloc(n, sizeof(uint32_t));
    self.last_lines = calloc(n, sizeof(uint32_t));
    self.flags = calloc(n, 1);
    if (self.handlers == NULL || self.covers == NULL || self.code == NULL ||
        self.nops == NULL || self.ends == NULL || self.last_lines == NULL ||
        self.flags == NULL) {
        done = false;
    }
    else if (read_handlers(&self)) {
        find_arrivals(&self);
        done = mark_inner_handlers(&self) && mark_ends(&self);
    }
    free(self.handlers);
    free(self.covers);
    free(self.code);
    free(self.nops);
    free(self.ends);
    free(self.last_lines);
    free(self.flags);
    return done;
}
