#include "bytecode/instructions.h"

#include <stdlib.h>
#include <string.h>

#include "bytecode/compiled_tables.h"

/* Read which instructions lead to the end of an asynchronous loop by an
 * exception, as the last turn of each does; false if memory is out. */
static bool
read_ends(lp_instructions *self, const lp_code_source *source)
{
    lp_table_reader table = {source->handlers,
                             source->handlers + source->n_handlers};
    lp_handled handled;

    while (lp_next_handled(&table, &handled)) {
        const lp_instruction *to =
            lp_instruction_at(self, 2 * (int64_t)handled.target);

        if (to == NULL || !(to->op & LP_OP_END_FOR)) {
            continue;
        }
        if (self->ends == NULL) {
            self->ends = calloc((size_t)self->n + 1, sizeof(*self->ends));
        }
        if (self->ends == NULL) {
            return false;
        }
        for (uint32_t i = 0; i < self->n; i++) {
            uint32_t place = self->items[i].offset / 2;

            if (place >= handled.start && place < handled.end) {
                self->ends[i] = 1 + (uint32_t)(to - self->items);
            }
        }
    }
    return true;
}

/* Return the byte offset to which an instruction jumps, -1 if it does not. */
static int64_t
target_of(int64_t offset, uint32_t op, uint32_t argument)
{
    int64_t by = 2 * (int64_t)argument, target;

    if (!(op & LP_OP_JUMP)) {
        return -1;
    }
    target = offset + 2 + 2 * (int64_t)(op >> LP_OP_CACHES_SHIFT) +
             (op & LP_OP_BACK ? -by : by);
    return target < 0 ? INT64_MAX : target; /* invalid */
}

static void
read_items(lp_instructions *self, const lp_code_source *source,
           const lp_opcodes *opcodes)
{
    uint32_t extended = 0, common = LP_OP_KNOWN;

    for (uint32_t place = 0; place < self->n_places; place++) {
        uint32_t op = opcodes->of[source->code[2 * (size_t)place]];
        uint32_t argument = source->code[2 * (size_t)place + 1] | extended;

        common &= op;
        self->kinds |= op;
        if (op & LP_OP_CACHE) {
            continue;
        }
        extended = op & LP_OP_EXTENDED ? argument << 8 : 0;
        self->items[self->n++] = (lp_instruction){
            .offset = 2 * place,
            .op = op,
            .target = target_of(2 * (int64_t)place, op, argument),
        };
        self->places[place] = self->n;
    }
    self->are_known = common && !(opcodes->python & LP_PYTHON_UNREADABLE);
    self->have_targets = true;
    for (uint32_t i = 0; i < self->n; i++) {
        int64_t target = self->items[i].target;

        self->have_targets &=
            target == -1 || lp_instruction_at(self, target) != NULL;
    }
}

bool
lp_instructions_read(lp_instructions *self, const lp_code_source *source,
                     const lp_opcodes *opcodes)
{
    size_t n = source->n_code / 2;

    *self = (lp_instructions){.n_places = (uint32_t)n};
    self->items = malloc((n + 1) * sizeof(*self->items));
    self->places = calloc(n + 1, sizeof(*self->places));
    self->stack = malloc((4 * n + 2) * sizeof(*self->stack));
    self->seen = malloc(n + 1);
    if (self->items == NULL || self->places == NULL || self->stack == NULL ||
        self->seen == NULL) {
        return false;
    }
    read_items(self, source, opcodes);
    return read_ends(self, source);
}

void
lp_instructions_free(lp_instructions *self)
{
    free(self->items);
    free(self->places);
    free(self->stack);
    free(self->seen);
    free(self->ends);
}

const lp_instruction *
lp_instruction_at(const lp_instructions *self, int64_t offset)
{
    uint32_t place;

    if (offset < 0 || offset / 2 >= self->n_places) {
        return NULL;
    }
    place = self->places[offset / 2];
    return place == 0 ? NULL : &self->items[place - 1];
}

/* -- loops --------------------------------------------------------------- */

/* A search through the bytecode, from so many instructions in `stack`. */
typedef struct search {
    const lp_instruction *to;
    const lp_instruction *around; /* which it does not pass, or NULL */
    size_t n_pending;
    bool with_ends; /* to the ends of asynchronous loops, too */
} search;

/* True if control can go there. */
static bool
is_found(lp_instructions *self, search want)
{
    memset(self->seen, 0, self->n);
    while (want.n_pending > 0) {
        uint32_t place = self->stack[--want.n_pending];
        const lp_instruction *at = &self->items[place];

        if (place >= self->n || self->seen[place] || at == want.around) {
            continue;
        }
        self->seen[place] = 1;
        if (at == want.to) {
            return true;
        }
        if (at->target >= 0) {
            const lp_instruction *to = lp_instruction_at(self, at->target);

            self->stack[want.n_pending++] = (uint32_t)(to - self->items);
        }
        if (want.with_ends && self->ends[place] != 0) {
            self->stack[want.n_pending++] = self->ends[place] - 1;
        }
        if (!(at->op & LP_OP_ENDS)) {
            self->stack[want.n_pending++] = place + 1;
        }
    }
    return false;
}

/* True if control can go from the instruction `start` to `end`. */
static bool
is_reachable(lp_instructions *self, const lp_instruction *start,
             const lp_instruction *end, bool with_ends)
{
    self->stack[0] = (uint32_t)(start - self->items);
    return is_found(
        self, (search){.to = end, .n_pending = 1, .with_ends = with_ends});
}

/* The first RESUME, which is behind RETURN_GENERATOR, if there is one. */
static const lp_instruction *
begin_of_code(const lp_instructions *self)
{
    uint32_t i = 0;

    while (i + 1 < self->n && !(self->items[i].op & LP_OP_RESUME)) {
        i++;
    }
    return &self->items[i];
}

/* True if control comes to the jump through its target alone, from the start
 * of the code, or of its handlers if it is in one. */
static bool
is_below(lp_instructions *self, const lp_instruction *head,
         const lp_instruction *jump)
{
    search want = {.to = jump, .around = head, .with_ends = true};
    const lp_instruction *begin = begin_of_code(self);

    if (is_reachable(self, begin, jump, true)) {
        self->stack[want.n_pending++] = (uint32_t)(begin - self->items);
    }
    else {
        for (uint32_t i = 0; i < self->n; i++) {
            if (self->items[i].op & LP_OP_HANDLES) {
                self->stack[want.n_pending++] = i;
            }
        }
    }
    return !is_found(self, want);
}

/* True if a jump that may go to the head of a loop goes back.  Before 3.12 it
 * is one then: handlers are not at the end. */
static bool
goes_back(const lp_instruction *jump)
{
    return (jump->op & LP_OP_LOOPS) && jump->target <= jump->offset;
}

/* True if the jump goes back to the head of a loop.  Jumps inside an `await`,
 * and those from an exception handler at the end back to where it was raised,
 * are no loops. */
static bool
repeats(lp_instructions *self, const lp_instruction *jump)
{
    const lp_instruction *head;

    if (!goes_back(jump)) {
        return false;
    }
    head = lp_instruction_at(self, jump->target);
    if ((head->op & LP_OP_HEAD) || is_reachable(self, head, jump, false)) {
        return true;
    }
    /* What follows an asynchronous loop in an expression may be at the end,
     * too, and jump back to where it goes on, which is no loop. */
    return self->ends != NULL && is_reachable(self, head, jump, true) &&
           is_below(self, head, jump);
}

void
lp_find_loops(lp_instructions *self, bool searches)
{
    for (uint32_t i = 0; i < self->n; i++) {
        lp_instruction *jump = &self->items[i];

        jump->repeats = jump->target >= 0 &&
                        (searches ? repeats(self, jump) : goes_back(jump));
    }
}
