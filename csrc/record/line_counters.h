/* The counters of one code object in one thread: a flat array by line.
 *
 * Layout in a set of blocks: a header, then the lines (first_line ..
 * first_line + n_lines - 1), each some whole records, then, for code that can
 * await, the awaited ticks, a number a line.  Only the owning thread writes; a
 * reader that holds the interpreter's lock sees whole numbers.
 *
 * A cost is what an event itself takes, in ticks * LP_COST_ONE; it is added
 * up beside the ticks and taken off in the report.
 */
#ifndef LP_RECORD_LINE_COUNTERS_H
#define LP_RECORD_LINE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/arena.h"
#include "record/clock.h"

enum { LP_COST_ONE = 256 };

typedef struct lp_line {
    uint64_t hits;
    uint64_t ticks;     /* as the clock saw them, our own cost included */
    uint64_t cost;      /* our own cost within `ticks`, but for its hits' */
    uint32_t weight;    /* cost of one event that ends the time on this line */
    uint32_t statement; /* 1 + offset of the first line of the statement of
                         * several lines that this line is of; 0: of none */
    uint64_t min; /* ticks of the shortest and of the longest execution, */
    uint64_t max; /* without others' cost; see lp_line_executed */
} lp_line;

/* Of a line that no whole execution was seen of. */
#define LP_NO_MIN UINT64_MAX

struct lp_node;

typedef struct lp_code_counters {
    uint64_t calls;      /* frames entered; a resumed one does not count */
    uint64_t total;      /* ticks from first line to leaving, of outermost */
    uint64_t total_cost; /* frames of this code alone: wall time once */
    uint32_t depth;      /* frames of this code open in this thread */
    uint32_t recursed;   /* whether depth was ever more than one */
    uint32_t code_id;
    uint32_t n_lines;
    uint32_t awaits;         /* 1: a number a line stands behind the records */
    uint32_t serial;         /* of the code object, see lp_layout */
    uint64_t dropped_slices; /* slices that there was no room for, see
                                trace_buffer.h */
    uint64_t resumes; /* steps of generators and coroutines but the first */
    struct lp_off_cpu_lines *waits; /* owned: see off_cpu.h; NULL: none */
    struct lp_node *node; /* the first that calls it, see call_tree.h */
    lp_line lines[];
} lp_code_counters;

/* What an event costs, by kind, in ticks * LP_COST_ONE.  All 0 until the
 * tracer was calibrated. */
typedef struct lp_costs {
    uint32_t line;        /* a line event, */
    uint32_t high_line;   /* one whose line number is over 256, */
    uint32_t instruction; /* and each bytecode instruction of the line */
    uint32_t call;        /* entering and leaving a frame, beside its lines */
    uint32_t resume;      /* the same of a generator's or coroutine's step */
    uint32_t plain_call;  /* a call of an unprofiled function by a profiled
                           * one, */
    uint32_t plain_inner; /* and each call below that */
} lp_costs;

/* The properties of a code object that its counters need; no Python. */
typedef struct lp_layout {
    uint32_t code_id;
    uint32_t serial; /* from 1 on, in order of registration; unlike the id it
                      * is never given to another */
    uint32_t first_line;
    uint32_t n_lines;
    bool awaits;            /* a coroutine or an asynchronous generator */
    bool by_instruction;    /* its events are not of lines, see LP_CODE_FAR */
    uint32_t *statements;   /* owned, by line; NULL: no statement of several
                             * lines; see lp_line.statement */
    uint16_t *instructions; /* owned, by line; NULL where they cost nothing */
} lp_layout;

void lp_layout_clear(lp_layout *layout);

/* New zeroed counters in `arena`, or NULL when memory is out. */
lp_code_counters *lp_code_counters_new(lp_arena *arena,
                                       const lp_layout *layout,
                                       const lp_costs *costs);

/* Forget all that was counted; the open frames' depth is kept. */
void lp_code_counters_reset(lp_code_counters *counters);

/* All of our own cost within the line's ticks.  Each hit ends by one event;
 * times that were no hit, and other frames' events, are in `cost`. */
static inline uint64_t
lp_line_cost(const lp_line *line)
{
    return line->cost + line->hits * line->weight;
}

/* It was executed once, in so many ticks.  An execution with a suspension in
 * it has no length that could be compared, and does not count here. */
static inline void
lp_line_executed(lp_line *line, lp_ticks ticks)
{
    if (LP_UNLIKELY(ticks < line->min)) {
        line->min = ticks;
    }
    if (LP_UNLIKELY(ticks > line->max)) {
        line->max = ticks;
    }
}

/* Awaited ticks by line, or NULL. */
static inline uint64_t *
lp_code_counters_awaits(lp_code_counters *counters)
{
    return counters->awaits ? (uint64_t *)(counters->lines + counters->n_lines)
                            : NULL;
}

#endif
