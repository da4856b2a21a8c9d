#include "bytecode/code_tables.h"

#include <stdlib.h>
#include <string.h>

#include "bytecode/cleanup_code.h"
#include "bytecode/compiled_tables.h"
#include "bytecode/instructions.h"
#include "bytecode/loop_tests.h"

enum {
    MAX_LINES = 1 << 22, /* of one function */
    LONG_SEARCH = 64,    /* lines; see line_of() of trace_function.c */
    BYTES_PER_LINE = 64, /* of bytecode, by which the interpreter expects a
                            line */
};

/* Adjacent instructions of one line: byte offsets from `start` up to `end`. */
typedef struct line_range {
    uint32_t start, end, line;
} line_range;

typedef struct line_ranges {
    line_range *items; /* owned */
    size_t n;
} line_ranges;

static uint32_t
op_at(const lp_code_source *source, const lp_opcodes *opcodes, size_t place)
{
    return opcodes->of[source->code[2 * place]];
}

/* -- lines --------------------------------------------------------------- */

/* Read the line table; false if memory is out. */
static bool
read_lines(line_ranges *self, const lp_code_source *source)
{
    lp_table_reader table = {source->lines, source->lines + source->n_lines};
    lp_location location;
    int64_t line = source->first_line;
    size_t offset = 0;
    line_range *open = NULL;

    /* An entry has one byte or more. */
    self->items = malloc((source->n_lines + 1) * sizeof(*self->items));
    if (self->items == NULL) {
        return false;
    }
    while (offset < source->n_code &&
           lp_next_location(&table, &line, &location)) {
        size_t end = offset + 2 * (size_t)location.n_places;

        end = end < source->n_code ? end : source->n_code;
        if (location.line == 0) {
            open = NULL;
        }
        else if (open != NULL && open->line == location.line) {
            open->end = (uint32_t)end;
        }
        else {
            open = &self->items[self->n++];
            *open =
                (line_range){(uint32_t)offset, (uint32_t)end, location.line};
        }
        offset = end;
    }
    return true;
}

static void
measure_lines(lp_code_tables *self, const line_ranges *ranges, int32_t first)
{
    /* A lambda may start above its body. */
    uint32_t min = first > 1 ? (uint32_t)first : 1, max = min;

    for (size_t i = 0; i < ranges->n; i++) {
        uint32_t line = ranges->items[i].line;

        min = line < min ? line : min;
        max = line > max ? line : max;
    }
    self->first_line = min;
    self->n_lines = max - min + 1;
}

/* True if the interpreter searches its line table for a line of the code: it
 * keeps the distance from an expected line in one byte. */
static bool
is_far(const lp_code_source *source, const line_ranges *ranges)
{
    for (size_t i = 0; i < ranges->n; i++) {
        const line_range *range = &ranges->items[i];
        const uint32_t places[] = {range->start, range->end - 2};

        for (int j = 0; j < 2; j++) {
            int64_t distance = (int64_t)range->line - source->first_line -
                               places[j] / BYTES_PER_LINE;

            if (distance < -126 || distance > 127) {
                return true;
            }
        }
    }
    return false;
}

static bool
add_resumes(lp_code_tables *self, const line_ranges *ranges)
{
    self->resumes = calloc(self->n_instructions + 1, sizeof(uint32_t));
    if (self->resumes == NULL) {
        return false;
    }
    for (size_t i = 0; i < ranges->n; i++) {
        const line_range *range = &ranges->items[i];

        for (uint32_t at = range->start / 2; at < range->end / 2; at++) {
            self->resumes[at] = range->line;
        }
    }
    return true;
}

/* The lines that have code, if these are few. */
static bool
add_lines_with_code(lp_code_tables *self, const line_ranges *ranges)
{
    if (self->n_lines <= LONG_SEARCH) {
        return true;
    }
    self->has_code = calloc((size_t)self->n_lines / 8 + 1, 1);
    if (self->has_code == NULL) {
        return false;
    }
    for (size_t i = 0; i < ranges->n; i++) {
        uint32_t offset = ranges->items[i].line - self->first_line;

        self->has_code[offset / 8] |= (uint8_t)(1u << offset % 8);
    }
    return true;
}

/* -- statements ---------------------------------------------------------- */

/* Return the index of the first span that begins at the line, or after it. */
static size_t
first_span(const lp_code_source *source, uint32_t line)
{
    size_t low = 0, high = source->n_spans;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (source->spans[middle].first < line) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

/* Add a statement that begins within the code; false if memory is out. */
static bool
add_statement(lp_code_tables *self, uint32_t first, uint32_t last)
{
    uint32_t end = self->first_line + self->n_lines - 1;

    if (self->statements == NULL) {
        self->statements = calloc(self->n_lines, sizeof(uint32_t));
    }
    if (self->statements == NULL) {
        return false;
    }
    last = last < end ? last : end;
    for (uint32_t line = first; line <= last; line++) {
        self->statements[line - self->first_line] =
            1 + first - self->first_line;
    }
    return true;
}

/* True if the span is the head of this very function, or of its class, which
 * runs in another code object: all that this one has of it is where it
 * begins. */
static bool
is_own_head(const lp_code_source *source, const line_ranges *ranges,
            const lp_line_span *span)
{
    if (source->first_line < 0 || span->first > (uint32_t)source->first_line) {
        return false;
    }
    for (size_t i = 0; i < ranges->n; i++) {
        if (ranges->items[i].line > (uint32_t)source->first_line &&
            ranges->items[i].line <= span->last) {
            return false;
        }
    }
    return true;
}

static bool
add_statements(lp_code_tables *self, const lp_code_source *source,
               const line_ranges *ranges)
{
    uint32_t first = self->first_line, last = first + self->n_lines - 1;

    if (self->n_lines == 1) {
        return true;
    }
    if (source->kind == LP_STATEMENT_IS_ALL) {
        return add_statement(self, first, last);
    }
    for (size_t i = first_span(source, first);
         i < source->n_spans && source->spans[i].first <= last; i++) {
        const lp_line_span *span = &source->spans[i];

        if (!is_own_head(source, ranges, span) &&
            !add_statement(self, span->first, span->last)) {
            return false;
        }
    }
    return true;
}

/* -- jumps --------------------------------------------------------------- */

/* True if this is the head of a comprehension's loop.  It follows a SWAP,
 * which puts the result below the iterator; that of all() follows a call.  A
 * loop statement creates its iterator itself and has no result. */
static bool
is_comprehension(const lp_instructions *self, const lp_instruction *head)
{
    if (lp_op_before(self, head, 1) & LP_OP_ITERATES) { /* from 3.15 on */
        return (lp_op_before(self, head, 2) & LP_OP_SWAP) != 0;
    }
    return (lp_op_before(self, head, 1) & (LP_OP_SWAP | LP_OP_CALLED)) != 0;
}

/* The line of an instruction, 0 if it has none. */
static uint32_t
line_of(const line_ranges *ranges, uint32_t offset)
{
    for (size_t i = 0; i < ranges->n; i++) {
        if (offset >= ranges->items[i].start &&
            offset < ranges->items[i].end) {
            return ranges->items[i].line;
        }
    }
    return 0;
}

static bool
is_target(const lp_instructions *self, uint32_t offset)
{
    for (uint32_t i = 0; i < self->n; i++) {
        if (self->items[i].target == offset) {
            return true;
        }
    }
    return false;
}

/* True if Python has no line event for this jump back: an outer loop of a
 * comprehension continues after an inner one, and the interpreter regards the
 * jump as part of the line where the inner one began.  (From 3.14 on, END_FOR
 * and POP_ITER begin no line, nor does the next instruction.) */
static bool
has_no_line_event(const lp_instructions *self, const line_ranges *ranges,
                  const lp_instruction *jump)
{
    const lp_instruction *first = jump;

    while (lp_op_before(self, first, 1) & LP_OP_EXTENDED) {
        first--;
    }
    return (jump->op & LP_OP_LOOPS) &&
           (lp_op_before(self, first, 1) & LP_OP_POP_ITER) &&
           (lp_op_before(self, first, 2) & LP_OP_END_FOR) &&
           first - self->items >= 3 && !is_target(self, first->offset) &&
           line_of(ranges, (first - 3)->offset) ==
               line_of(ranges, jump->offset);
}

/* Mark the loops: an instruction to which a jump goes back, and from 3.12 on
 * the jump as well, because the event of one that stays on its line comes at
 * its start. */
static void
mark_loops(lp_code_tables *self, lp_instructions *all,
           const line_ranges *ranges, bool inlines)
{
    uint32_t *regions = all->stack; /* starts and ends */
    size_t n_regions = 0;

    lp_find_loops(all, inlines); /* before `stack` is used for the regions */
    for (uint32_t i = 0; i < all->n; i++) {
        const lp_instruction *jump = &all->items[i];
        const lp_instruction *head;

        if (!jump->repeats) {
            continue;
        }
        head = lp_instruction_at(all, jump->target);
        if (inlines && (head->op & LP_OP_HEAD) &&
            is_comprehension(all, head)) {
            regions[n_regions++] = head->offset;
            regions[n_regions++] = jump->offset;
        }
    }
    for (uint32_t i = 0; i < all->n; i++) {
        const lp_instruction *jump = &all->items[i];
        uint8_t mark = LP_MARK_LOOP_BACK;

        if (!jump->repeats) {
            continue;
        }
        /* The loops of a comprehension lie inside its outermost one. */
        for (size_t j = 0; j < n_regions; j += 2) {
            if (regions[j] <= jump->target && jump->target <= regions[j + 1]) {
                mark = LP_MARK_COMPREHENSION;
            }
        }
        self->marks[jump->target / 2] = mark;
        if (inlines) {
            self->marks[jump->offset / 2] = mark;
        }
    }
    for (uint32_t i = 0; i < all->n && n_regions > 0; i++) {
        if (has_no_line_event(all, ranges, &all->items[i])) {
            self->marks[all->items[i].offset / 2] |= LP_MARK_NO_LINE_EVENT;
        }
    }
}

/* True if the marks of the code's jumps may be needed. */
static bool
needs_marks(const lp_code_tables *self, const lp_code_source *source,
            const lp_opcodes *opcodes)
{
    size_t n_with = 0;

    if (self->statements != NULL ||
        (opcodes->python & LP_PYTHON_UNKNOWN_LOOPS)) {
        return true;
    }
    for (size_t i = 0; i < source->n_code / 2; i++) {
        uint32_t op = op_at(source, opcodes, i);

        /* Of two `with` on one line, the inner one jumps back after it has
         * suppressed an exception. */
        n_with += (op & LP_OP_WITH) != 0;
        if ((op & LP_OP_COMPREHENSION) || n_with > 1) {
            return true;
        }
    }
    return false;
}

/* Add the marks of jumps; false if memory is out. */
static bool
add_jump_marks(lp_code_tables *self, lp_instructions *all,
               const line_ranges *ranges, const lp_opcodes *opcodes)
{
    bool loops = all->kinds & LP_OP_LOOPS;

    if (!all->are_known || (loops && !all->have_targets)) {
        self->is_unread = true;
        return true;
    }
    self->marks = calloc(self->n_instructions + 1, 1);
    if (self->marks == NULL || !loops) {
        return self->marks != NULL;
    }
    mark_loops(self, all, ranges, opcodes->python & LP_PYTHON_INLINES);
    for (uint32_t i = 0; i < self->n_instructions; i++) {
        self->has_comprehension |= self->marks[i] == LP_MARK_COMPREHENSION;
    }
    return true;
}

/* -- starts of lines ----------------------------------------------------- */

/* Instructions where a line may begin, and what is known of each. */
typedef struct line_starts {
    lp_code_tables *tables;
    const lp_code_source *source;
    const lp_opcodes *opcodes;
    uint8_t *has_line_event; /* owned; by instruction, of the interpreter's */
    const lp_loop_tests *tests; /* borrowed */
} line_starts;

static bool
has_events(const line_starts *self, size_t place)
{
    return place < self->tables->n_instructions &&
           !(op_at(self->source, self->opcodes, place) & LP_OP_NO_EVENTS);
}

static void
mark_start(const line_starts *self, size_t place)
{
    lp_code_tables *tables = self->tables;

    if (has_events(self, place) && tables->resumes[place] != 0) {
        tables->starts[place] =
            1 + tables->resumes[place] - tables->first_line;
    }
}

/* Mark the instructions at which handlers begin; true if one is at `call`. */
static bool
mark_handlers(const line_starts *self, uint32_t call)
{
    const lp_code_source *source = self->source;
    lp_table_reader table = {source->handlers,
                             source->handlers + source->n_handlers};
    lp_handled handled;
    bool found = false;

    while (lp_next_handled(&table, &handled)) {
        mark_start(self, handled.target);
        if (handled.target < self->tables->n_instructions) {
            self->has_line_event[handled.target] = 1;
        }
        found |= handled.target == call;
    }
    return found;
}

/* True if the instruction ends an `await` or a `yield from`: all that leads to
 * it is of its line, also the jumps without a line that come from a throw().
 */
static bool
ends_await(const lp_instruction *at)
{
    return (at->op & (LP_OP_NO_EVENTS | LP_OP_END_FOR | LP_OP_POP_ITER |
                      LP_OP_RESUME)) == LP_OP_NO_EVENTS;
}

/* Mark the first instruction with events from `to` on, to which a jump of the
 * line `from` leads: instructions without events, as at the end of a loop, may
 * be of another line than both. */
static void
mark_target(const line_starts *self, const lp_instructions *all,
            const lp_instruction *to, uint32_t from)
{
    const uint32_t *lines = self->tables->resumes;
    bool changes = lines[to->offset / 2] != from, tells;

    self->has_line_event[to->offset / 2] = 1;
    tells = self->opcodes->python & LP_PYTHON_TELLS_OF_LOOP_ENDS;
    while (to + 1 < all->items + all->n && (to->op & LP_OP_NO_EVENTS)) {
        uint32_t line = lines[to->offset / 2];

        to++;
        changes |=
            lines[to->offset / 2] != line || lines[to->offset / 2] != from;
    }
    if (tells) {
        self->has_line_event[to->offset / 2] = 1;
    }
    if (changes) {
        mark_start(self, to->offset / 2);
    }
}

/* Mark the instructions where a line may begin: where control may come to its
 * instructions from another line.  Instructions without events of their own
 * begin no line, but end one: what follows a loop follows its head. */
static void
mark_starts(const line_starts *self, const lp_instructions *all)
{
    lp_code_tables *tables = self->tables;
    uint32_t call = (uint32_t)tables->start / 2 + 1; /* the first of a call */
    uint32_t line = 0;       /* of the last instruction, and */
    uint32_t event_line = 0; /* of the last one that has events */
    bool repeats = false;

    while (call < tables->n_instructions &&
           (op_at(self->source, self->opcodes, call) & LP_OP_CACHE)) {
        call++;
    }
    for (uint32_t i = 0; i < all->n; i++) {
        const lp_instruction *at = &all->items[i];
        uint32_t here = tables->resumes[at->offset / 2];

        if (at->offset / 2 >= call) {
            if (!(at->op & LP_OP_NO_EVENTS)) {
                if (here != line || here != event_line) {
                    mark_start(self, at->offset / 2);
                }
                if (here != event_line) {
                    self->has_line_event[at->offset / 2] = 1;
                }
                event_line = here;
            }
            line = here;
        }
        if (at->target >= 0) {
            const lp_instruction *to = lp_instruction_at(all, at->target);

            repeats |= at->target / 2 == call;
            if (!ends_await(to)) {
                mark_target(self, all, to, here);
            }
        }
    }
    repeats |= mark_handlers(self, call);
    if (call < tables->n_instructions && tables->starts[call] != 0 &&
        !repeats) {
        tables->starts[call] |= LP_START_OF_CALL;
        tables->has_start_of_call = true;
    }
}

/* Mark the starts that have no LINE event. */
static void
mark_hidden(const line_starts *self)
{
    lp_code_tables *tables = self->tables;

    for (uint32_t i = 0; i < tables->n_instructions; i++) {
        if (tables->starts[i] != 0 && !self->has_line_event[i]) {
            tables->starts[i] |= LP_START_HIDDEN;
            tables->has_hidden_starts = true;
        }
    }
    for (size_t i = 0; i < self->tests->n; i++) {
        uint32_t place = self->tests->items[i].test;

        tables->starts[place] =
            (1 + tables->resumes[place] - tables->first_line) |
            LP_START_HIDDEN | LP_START_REPEATS;
        tables->has_hidden_starts = true;
    }
}

/* Compare the cost of one LINE event with that of one INSTRUCTION event at
 * each start. */
static bool
are_instructions_cheaper(const lp_code_tables *self,
                         const lp_line_events *events)
{
    uint64_t by_line = 0, by_instruction = 0;

    for (uint32_t i = 0; i < self->n_instructions; i++) {
        if (self->starts[i] != 0) {
            by_line += self->resumes[i] > events->max_small_int
                           ? events->high_line
                           : events->line;
            by_instruction += 2 * i > events->max_small_int
                                  ? events->high_instruction
                                  : events->instruction;
        }
    }
    return by_instruction <= by_line;
}

/* Mark the lines whose events come at a large offset, if there are any; false
 * if memory is out. */
static bool
add_high(lp_code_tables *self, const lp_line_events *events)
{
    uint32_t first = events->max_small_int / 2 + 1;

    if (first >= self->n_instructions) {
        return true;
    }
    self->high = calloc((size_t)self->n_lines / 8 + 1, 1);
    for (uint32_t i = first; self->high != NULL && i < self->n_instructions;
         i++) {
        if (self->starts[i] != 0) {
            uint32_t offset = lp_start_line(self->starts[i]) - 1;

            self->high[offset / 8] |= (uint8_t)(1u << offset % 8);
        }
    }
    return self->high != NULL;
}

void
lp_keep_hidden_starts(uint32_t *starts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!(starts[i] & LP_START_HIDDEN)) {
            starts[i] = 0;
        }
    }
}

/* Choose the events that tell of the lines, and keep the starts that matter
 * to them; false if memory is out. */
static bool
choose_events(lp_code_tables *self, const lp_line_events *events)
{
    self->by_instruction = self->is_far
                               ? events->wanted != LP_BY_LINE
                               : events->wanted == LP_BY_INSTRUCTION ||
                                     (events->wanted == LP_BY_CHEAPER_EVENT &&
                                      are_instructions_cheaper(self, events));
    if (self->by_instruction) {
        return add_high(self, events);
    }
    self->has_start_of_call = false;
    if (self->has_hidden_starts) {
        lp_keep_hidden_starts(self->starts, self->n_instructions);
    }
    else {
        free(self->starts);
        self->starts = NULL;
    }
    return true;
}

/* Add the starts, if INSTRUCTION events may have to tell of lines; false if
 * memory is out. */
static bool
add_starts(lp_code_tables *self, const lp_instructions *all,
           const lp_code_source *source, const lp_opcodes *opcodes,
           const lp_line_events *events, const lp_loop_tests *tests)
{
    line_starts starts = {self, source, opcodes, NULL, tests};
    bool wants = events->wanted > LP_BY_LINE_UNLESS_SLOW ||
                 (events->wanted != LP_BY_LINE && self->is_far);
    bool done;

    if (self->start < 0 || !all->are_known || !all->have_targets ||
        !(wants || (all->kinds & LP_OP_END_FOR) || tests->n != 0)) {
        return true;
    }
    self->starts = calloc(self->n_instructions + 1, sizeof(uint32_t));
    starts.has_line_event = calloc(self->n_instructions + 1, 1);
    done = self->starts != NULL && starts.has_line_event != NULL;
    if (done) {
        mark_starts(&starts, all);
        mark_hidden(&starts);
        done = choose_events(self, events);
    }
    free(starts.has_line_event);
    return done;
}

/* -- instructions of a line ---------------------------------------------- */

/* Return the part of a range that runs in each turn of a loop, and whether its
 * line is the loop's head: from the last FOR_ITER to which a jump goes, or up
 * to the last test that jumps back to the body, and from the body on if that
 * is in the range, too.  What is before and after, such as the return at the
 * end of a function, runs once.
 *
 * `loops` has a byte for each place, which is set if it is such a FOR_ITER. */
static line_range
turn_of(const lp_instructions *all, const uint8_t *loops, line_range range,
        bool *is_head)
{
    const uint32_t test = LP_OP_JUMP | LP_OP_BACK;
    uint32_t body = range.end, end = range.start;

    *is_head = false;
    for (uint32_t at = range.start / 2; at < range.end / 2; at++) {
        if (loops[at]) {
            range.start = 2 * at;
            *is_head = true;
        }
    }
    for (uint32_t at = range.start / 2; at < range.end / 2; at++) {
        const lp_instruction *item;

        if (all->places[at] == 0) {
            continue; /* a cache entry */
        }
        item = &all->items[all->places[at] - 1];
        if ((item->op & (test | LP_OP_ENDS)) == test) {
            if (item->target > range.start && item->target < body) {
                body = (uint32_t)item->target;
            }
            end = item->offset + 2;
            *is_head = true;
        }
    }
    range.start = body < range.end ? body : range.start;
    range.end = end > range.start ? end : range.end;
    return range;
}

/* Return whether an instruction is slowed more, because it is specialized
 * where nothing is traced. */
static bool
is_specialized(const lp_code_source *source, const lp_opcodes *opcodes,
               size_t at)
{
    return (op_at(source, opcodes, at) & LP_OP_SPECIALIZED) &&
           (at == 0 || !(op_at(source, opcodes, at - 1) & LP_OP_SLICES));
}

/* Parts of the bytecode of one line, of which one event tells of one: copies
 * of a `finally` block, the end of a `with` statement, the call whose
 * arguments are on other lines.  Only the most usual kind of them counts. */
typedef struct line_parts {
    uint32_t n, instructions, specialized;
    enum { NO_PART, IN_HANDLER, USUAL, LOOP_HEAD } kind;
} line_parts;

static void
add_part(line_parts *parts, int kind, const lp_code_source *source,
         const lp_opcodes *opcodes, const line_range *range)
{
    uint32_t count = 0, some = 0, seen = 0;

    for (uint32_t at = range->start / 2; at < range->end / 2; at++) {
        uint32_t op = op_at(source, opcodes, at);

        seen |= op;
        count += !(op & (LP_OP_EXTENDED | LP_OP_CACHE));
        some += is_specialized(source, opcodes, at);
    }
    if (seen & LP_OP_YIELD) { /* half of them run before it */
        count = (count + 1) / 2;
        some = (some + 1) / 2;
    }
    if (kind > (int)parts->kind || kind == LOOP_HEAD) {
        *parts = (line_parts){.kind = kind};
    }
    if (kind == (int)parts->kind) {
        parts->n++;
        parts->instructions += count;
        parts->specialized += some;
    }
}

/* Return the mean of so many numbers with this sum, rounded up. */
static uint16_t
mean_of(uint32_t sum, uint32_t n)
{
    uint32_t mean = n == 0 ? 0 : sum / n + (sum % n != 0);

    return mean < UINT16_MAX ? (uint16_t)mean : UINT16_MAX;
}

static bool
add_instructions(lp_code_tables *self, const lp_instructions *all,
                 const lp_code_source *source, const line_ranges *ranges,
                 const lp_opcodes *opcodes)
{
    line_parts *parts = calloc(self->n_lines, sizeof(*parts));
    uint8_t *loops = calloc(self->n_instructions + 1, 1);
    bool done = parts != NULL && loops != NULL;
    uint32_t handlers = UINT32_MAX; /* byte offset of the first */

    self->instructions = calloc(self->n_lines, sizeof(uint16_t));
    self->specialized = calloc(self->n_lines, sizeof(uint16_t));
    done = done && self->instructions != NULL && self->specialized != NULL;
    for (uint32_t i = 0; done && i < all->n; i++) {
        const lp_instruction *to =
            lp_instruction_at(all, all->items[i].target);

        if (to != NULL && (to->op & LP_OP_FOR)) {
            loops[to->offset / 2] = 1;
        }
        if ((all->items[i].op & LP_OP_HANDLES) && handlers == UINT32_MAX) {
            handlers = all->items[i].offset;
        }
    }
    for (size_t i = 0; done && i < ranges->n; i++) {
        line_range whole = ranges->items[i];
        int kind = whole.start >= handlers ? IN_HANDLER : USUAL;
        bool is_head;
        line_range range;

        if (kind == USUAL && whole.end > handlers) {
            whole.end = handlers;
        }
        range = turn_of(all, loops, whole, &is_head);
        add_part(&parts[range.line - self->first_line],
                 is_head ? LOOP_HEAD : kind, source, opcodes, &range);
    }
    for (uint32_t i = 0; done && i < self->n_lines; i++) {
        const line_parts *one = &parts[i];

        self->instructions[i] = mean_of(one->instructions, one->n);
        self->specialized[i] = mean_of(one->specialized, one->n);
    }
    free(loops);
    free(parts);
    return done;
}

/* Add what Python needs before 3.12: it traces each instruction, and has line
 * events that tell of no execution, in cleanup code.  The loops are marked,
 * too, because another event of the open line counts only if it is the turn of
 * one.  False if memory is out. */
static bool
add_traced_code(lp_code_tables *self, lp_instructions *all,
                const lp_code_source *source, const line_ranges *ranges,
                const lp_opcodes *opcodes)
{
    if (!add_instructions(self, all, source, ranges, opcodes)) {
        return false;
    }
    if (self->marks == NULL && all->are_known && all->have_targets) {
        self->marks = calloc(self->n_instructions + 1, 1);
        if (self->marks == NULL) {
            return false;
        }
        if (all->kinds & LP_OP_LOOPS) {
            mark_loops(self, all, ranges, false);
        }
    }
    return self->marks == NULL ||
           lp_cleanup_code_mark(self, all, source, opcodes);
}

/* Mark the lines that begin with an instruction that is slower with an event,
 * but for the head of a loop, whose event comes from another.  (The turns of a
 * loop within the line have JUMP events, with a cost of their own.) */
static bool
add_slow_starts(lp_code_tables *self, const lp_code_source *source,
                const line_ranges *ranges, const lp_opcodes *opcodes)
{
    for (size_t i = 0; i < ranges->n; i++) {
        const line_range *range = &ranges->items[i];
        uint32_t at = range->start / 2, end = range->end / 2, seen = 0;

        while (at < end && (op_at(source, opcodes, at) &
                            (LP_OP_NO_EVENTS | LP_OP_CACHE))) {
            at++;
        }
        if (at >= end || !(op_at(source, opcodes, at) & LP_OP_SPECIALIZED)) {
            continue;
        }
        while (at < end) {
            seen |= op_at(source, opcodes, at++);
        }
        if ((seen & LP_OP_FOR) && !(seen & LP_OP_LOOPS)) {
            continue;
        }
        if (self->specialized == NULL) {
            self->specialized = calloc(self->n_lines, sizeof(uint16_t));
        }
        if (self->specialized == NULL) {
            return false;
        }
        self->specialized[range->line - self->first_line] = 1;
    }
    return true;
}

/* True if a line has a jump back to itself: JUMP events ask for the lines of
 * its jumps. */
static bool
has_loop_in_line(const lp_code_tables *self, const lp_instructions *all)
{
    for (uint32_t i = 0; i < all->n; i++) {
        const lp_instruction *jump = &all->items[i];

        if ((jump->op & LP_OP_LOOPS) && jump->target <= jump->offset &&
            self->resumes[jump->target / 2] ==
                self->resumes[jump->offset / 2]) {
            return true;
        }
    }
    return false;
}

/* -- all tables ---------------------------------------------------------- */

/* Return the byte offset of the RESUME that begins a call, or -1. */
static int32_t
find_start(const lp_code_source *source, const lp_opcodes *opcodes)
{
    for (size_t i = 0; i < source->n_code / 2; i++) {
        if ((op_at(source, opcodes, i) & LP_OP_RESUME) &&
            (source->code[2 * i + 1] & 3) == 0) {
            return (int32_t)(2 * i);
        }
    }
    return -1;
}

/* Keep the tests of jumps that repeat a loop, no comprehension's: the turns of
 * these loops have their hits at their tests. */
static void
mark_tested(lp_code_tables *self, lp_loop_tests *tests)
{
    size_t kept = 0;

    for (size_t i = 0; self->marks != NULL && i < tests->n; i++) {
        const lp_loop_test *test = &tests->items[i];

        if (self->marks[test->jump] == LP_MARK_LOOP_BACK) {
            tests->items[kept++] = *test;
        }
    }
    tests->n = kept;
    for (size_t i = 0; i < kept; i++) {
        self->marks[tests->items[i].jump] |= LP_MARK_TESTED;
        self->marks[tests->items[i].body] |= LP_MARK_TESTED;
    }
}

static bool
add_tables(lp_code_tables *self, const lp_code_source *source,
           const line_ranges *ranges, const lp_opcodes *opcodes,
           const lp_line_events *events, lp_instructions *all,
           lp_loop_tests *tests)
{
    uint32_t python = opcodes->python;
    bool inlines = python & LP_PYTHON_INLINES;

    self->start = find_start(source, opcodes);
    self->is_far = (python & LP_PYTHON_FAR_IS_SLOW) && is_far(source, ranges);
    if (!add_lines_with_code(self, ranges) ||
        !add_statements(self, source, ranges) || !add_resumes(self, ranges) ||
        !lp_instructions_read(all, source, opcodes)) {
        return false;
    }
    if (inlines && !lp_loop_tests_find(tests, self, source, all)) {
        return false;
    }
    if ((tests->n != 0 || needs_marks(self, source, opcodes)) &&
        !add_jump_marks(self, all, ranges, opcodes)) {
        return false;
    }
    mark_tested(self, tests);
    if ((python & LP_PYTHON_COUNTS_INSTRUCTIONS) &&
        !add_traced_code(self, all, source, ranges, opcodes)) {
        return false;
    }
    if (inlines && (!add_slow_starts(self, source, ranges, opcodes) ||
                    !add_starts(self, all, source, opcodes, events, tests))) {
        return false;
    }
    if (!inlines ||
        (self->starts == NULL && self->marks == NULL && !source->in_steps &&
         self->n_lines <= LONG_SEARCH && !has_loop_in_line(self, all))) {
        free(self->resumes);
        self->resumes = NULL;
    }
    return true;
}

lp_tables_result
lp_code_tables_build(lp_code_tables *self, const lp_code_source *source,
                     const lp_opcodes *opcodes, const lp_line_events *events)
{
    line_ranges ranges = {NULL, 0};
    lp_instructions all = {.n = 0};
    lp_loop_tests tests = {NULL, 0};
    lp_tables_result result = LP_TABLES_NO_MEMORY;

    memset(self, 0, sizeof(*self));
    self->n_instructions = (uint32_t)(source->n_code / 2);
    if (read_lines(&ranges, source)) {
        measure_lines(self, &ranges, source->first_line);
        if (ranges.n == 0 || self->n_lines > MAX_LINES) {
            result = LP_TABLES_INVALID;
        }
        else if (add_tables(self, source, &ranges, opcodes, events, &all,
                            &tests)) {
            result = LP_TABLES_DONE;
        }
    }
    lp_loop_tests_clear(&tests);
    lp_instructions_free(&all);
    free(ranges.items);
    return result;
}

void
lp_code_tables_clear(lp_code_tables *self)
{
    free(self->statements);
    free(self->instructions);
    free(self->specialized);
    free(self->marks);
    free(self->resumes);
    free(self->starts);
    free(self->high);
    free(self->has_code);
    memset(self, 0, sizeof(*self));
}
