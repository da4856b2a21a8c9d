/* The counters of one code object in one thread: a flat array by line.
 *
 * Layout in an arena: a header, then the lines (first_line .. first_line +
 * n_lines - 1), each some whole records, then, for code that can await, the
 * awaited ticks, one number per line.  Only the owning thread writes; a reader
 * that holds the GIL sees complete numbers.
 *
 * A cost is the time that an event itself takes, in ticks * LP_COST_ONE; it is
 * summed beside the ticks and subtracted in the report.
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
    uint64_t ticks;     /* as measured, the cost of events included */
    uint64_t cost;      /* cost of events within `ticks`, except its hits' */
    uint32_t weight;    /* cost of one event that ends the time on this line */
    uint32_t statement; /* 1 + offset of the first line of the multi-line
                           statement that this line is part of; 0 for none */
    uint64_t min;       /* min and max ticks of an execution, */
    uint64_t max;       /* without the cost of other frames' events; see
                           lp_line_executed */
} lp_line;

/* From now on the line's time has no cost of line events in it. */
static inline void
lp_line_has_no_events(lp_line *line)
{
    line->cost += line->hits * line->weight;
    line->weight = 0;
}

/* Value of `min` before the first complete execution. */
#define LP_NO_MIN UINT64_MAX

struct lp_node;

/* Ways in which the frames of a code object may wait without their thread. */
enum {
    LP_AWAITS = 1,  /* it is a coroutine or an asynchronous generator */
    LP_SWITCHES = 2 /* they may run in greenlets, which are switched out */
};

typedef struct lp_code_counters {
    uint64_t calls; /* frames entered; a resumed one does not count */
    /* ticks of outermost frames of this code, from their first line to the
     * end: wall time counts once */
    uint64_t total;
    uint64_t total_cost; /* cost in these ticks */
    uint32_t depth;      /* frames of this code open in this thread */
    uint32_t thread;     /* number of its recorder */
    uint32_t code_id;
    uint32_t n_lines;
    uint32_t serial;  /* of the code object, see lp_layout */
    uint8_t recursed; /* true if depth was ever more than one */
    uint8_t awaits;   /* LP_AWAITS and LP_SWITCHES; if not 0, there are awaited
                         ticks after the lines */
    uint8_t is_live;  /* in an arena that is in the live file */
    uint8_t padding;
    uint64_t dropped_slices; /* slices that there was no room for, see
                                trace_buffer.h */
    uint64_t resumes; /* steps of generators and coroutines except the first */
    struct lp_off_cpu_lines
        *waits;             /* see off_cpu.h; NULL if it has no waits; owned
                               unless they are in the live file, too */
    struct lp_node *caller; /* the node below which its calls are merged, see
                               call_tree.h; NULL if there are none */
    lp_line lines[];
} lp_code_counters;

/* The costs of an event, by kind, in ticks * LP_COST_ONE.  All 0 until the
 * tracer is calibrated. */
typedef struct lp_costs {
    uint32_t line;           /* a line event, */
    uint32_t high_line;      /* one whose line number is over max_small_int, */
    uint32_t instruction;    /* and each bytecode instruction of the line, */
    uint32_t specialized;    /* and what a specialized one adds; where others
                                cost nothing, if the line begins with it */
    uint32_t by_instruction; /* an INSTRUCTION event where a line begins, */
    uint32_t high_by_instruction; /* and one whose offset is over that */
    uint32_t call; /* entering and leaving a frame, without its lines */
    uint32_t call_by_instruction; /* the same if the event of its first line
                                     tells of the call */
    uint32_t start; /* the same for the first step of a generator or
                       coroutine, */
    uint32_t start_by_instruction; /* if the event of its first line tells of
                                      it, */
    uint32_t resume;               /* and for a step after that */
    uint32_t consumed; /* what a step of a generator adds in a loop of a
                          function that is profiled by LINE events, whose
                          head the events make slower, */
    uint32_t consumed_by_instruction; /* or by INSTRUCTION events */
    uint32_t jump; /* a JUMP event, which tells of a loop within its line, */
    uint32_t jump_by_instruction; /* in code with INSTRUCTION events */
    uint32_t
        awaited; /* what a call of a coroutine adds, if another awaits it */
    uint32_t plain_call;    /* a call of an unprofiled function by a profiled
                             * one, */
    uint32_t plain_inner;   /* and each call below it */
    uint32_t max_small_int; /* the interpreter has no int objects above this
                               one that it need not create for an event */
} lp_costs;

/* The properties of a code object that its counters need; no Python. */
typedef struct lp_layout {
    uint32_t code_id;
    uint32_t serial; /* from 1 on, in order of registration; unlike the id,
                        never reused */
    uint32_t first_line;
    uint32_t n_lines;
    bool awaits;            /* a coroutine or an asynchronous generator */
    bool switches;          /* its frames may run in greenlets */
    bool by_instruction;    /* its lines are told of by INSTRUCTION events */
    bool calls_only;        /* no events tell of its lines */
    uint32_t *statements;   /* owned, by line; NULL without multi-line
                               statements; see lp_line.statement */
    uint16_t *instructions; /* owned, by line; NULL if they cost nothing */
    uint16_t *specialized;  /* the same, of those that add to it */
    uint8_t *high; /* owned, a bit for each line whose INSTRUCTION event has a
                      large number; NULL if none has */
    uint8_t *has_code; /* owned, a bit for each line that events come
                          from; NULL if all may */
} lp_layout;

void lp_layout_clear(lp_layout *layout);

/* True if frames of the code have state to keep while they are suspended. */
static inline bool
lp_layout_keeps_state(const lp_layout *layout)
{
    return layout->awaits || layout->statements != NULL;
}

/* Return new zeroed counters in `arena`, or NULL if memory is out.  Lines
 * without code are not written to: most pages of a class body's counters are
 * never in memory. */
lp_code_counters *lp_code_counters_new(lp_arena *arena,
                                       const lp_layout *layout,
                                       const lp_costs *costs);

/* Reset all counts; the depth of open frames is kept. */
void lp_code_counters_reset(lp_code_counters *counters);

/* Total cost of events within the line's ticks.  Each hit ends with one event;
 * the cost of other events, of this line without a hit or of other frames, is
 * in `cost`. */
static inline uint64_t
lp_line_cost(const lp_line *line)
{
    return line->cost + line->hits * line->weight;
}

/* The line was executed once, in so many ticks.  An execution with a
 * suspension in it has no comparable length, and does not count here. */
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

/* Return the awaited ticks by line, or NULL. */
static inline uint64_t *
lp_code_counters_awaits(lp_code_counters *counters)
{
    return counters->awaits ? (uint64_t *)(counters->lines + counters->n_lines)
                            : NULL;
}

#endif
