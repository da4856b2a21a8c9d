/* The recorder of the open lines of a thread: enter, line, leave, suspend,
 * resume.
 *
 * A recorder is a stack of the profiled frames that run on its thread, each
 * with the line it is on.  An event charges the time since the frame's last
 * event to the line that was open, and opens the next.  Only its own thread
 * calls the verbs marked [OWNER]; under the interpreter's lock another may
 * call the rest.
 *
 * Frames are told apart by the code they run (and, where a hook knows it,
 * the frame): both are opaque here.  frames[0] is a sentinel that matches
 * nothing, so that "the top frame is this code" is the only test that an
 * event makes.
 *
 * Which lines are open may be read from other threads, see current_path.h:
 * so frames that have moved are kept, and `changes` tells of each that comes
 * or goes.
 */
#ifndef LP_RECORD_RECORDER_H
#define LP_RECORD_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/clock.h"
#include "record/line_counters.h"
#include "record/off_cpu.h"
#include "record/trace_buffer.h"

/* The ways in which control comes to a line. */
typedef enum lp_line_entry {
    LP_LINE_FORWARD = 0,  /* it went on, or jumped forward */
    LP_LINE_LOOP_BACK,    /* it jumped back: a statement begins anew */
    LP_LINE_COMPREHENSION /* it jumped back inside a comprehension: no new hit
                           */
} lp_line_entry;

enum {
    LP_FRAME_SHARED = 1,        /* the frame below is the same one, counted for
                                 * another tracer */
    LP_FRAME_LOOP_BACK = 2,     /* the next line event comes by a jump back */
    LP_FRAME_COMPREHENSION = 4, /* ... by one inside a comprehension */
    LP_FRAME_LINES = 8,         /* its time on each line is a range */
    LP_FRAME_RANGES_STALE = 16, /* its thread has ranges to put right */
    LP_FRAME_PAUSED = 32,       /* collection was off: its line is not open */
    LP_FRAME_GREENLET = 64,     /* frames of one thread may take turns */
    LP_FRAME_HAS_COMPREHENSION = 128, /* has comprehensions that run in it */
    LP_FRAME_OUTERMOST = 256, /* no other frame of this code is open here */
    LP_FRAME_ACTIVATES_TRACER =
        512,                /* its tracer is enabled for as long as it runs */
    LP_FRAME_RANGED = 1024, /* it is a range, see nvtx_ranges.h */
    LP_FRAME_C_FUNCTION = 4096, /* a function of C, see c_functions.h */
    LP_FRAME_HIDE_LINES =
        2048 /* another tracer gets no lines of it, trace_function.h */
};

/* The flags that make a line event leave the fast path, all in one byte. */
enum {
    LP_FRAME_SLOW = LP_FRAME_SHARED | LP_FRAME_LOOP_BACK |
    LP_FRAME_COMPREHENSION | LP_FRAME_GREENLET | LP_FRAME_LINES |
    LP_FRAME_RANGES_STALE | LP_FRAME_PAUSED
};

/* In lp_frame.cost, beyond any cost: the open line was there before, so that
 * what comes is no whole execution of it; `opened` is then since when. */
#define LP_SPLIT ((uint64_t)1 << 63)

typedef struct lp_frame {
    const void *code; /* what it runs; NULL in the sentinel alone */
    lp_line *line;    /* the open line, NULL before the first */
    lp_ticks since;   /* when it was opened or last charged */
    uint64_t cost; /* the recorder's cost that the lines know of; LP_SPLIT */
    uint64_t self_cost; /* cost of this frame's own line events */
    lp_line *lines;     /* counts->lines */
    uint32_t first_line;
    uint32_t n_lines;
    uint32_t flags;
    uint32_t last_hit;  /* in a long statement: lines up to here were hit */
    int32_t offset;     /* where the last event was, if it gathers */
    uint32_t ranges;    /* of it that are pushed, if it is one: 0 to 2 */
    uint64_t hit_mask;  /* in a statement: bit i, its line i was hit */
    lp_line *statement; /* the first line of the statement that it is in, */
    lp_ticks
        statement_ticks; /* and the time there; NULL: not from its begin on */
    lp_code_counters *counters;
    void *owner;         /* the tracer, opaque */
    lp_ticks first;      /* when its first line was opened */
    lp_ticks began;      /* the same, whatever was charged meanwhile */
    lp_ticks opened;     /* when its line was, if LP_SPLIT says so */
    uint64_t first_cost; /* the recorder's cost and our own at that time */
    const void *key;     /* which frame, where a hook can tell; else NULL */
    uint32_t serial;     /* of its code, see lp_layout */
    uint32_t path;       /* of the open lines up to here, while it is on */
    const lp_line *path_line;       /* this line; 0: not asked for yet */
    struct lp_node *node;           /* see call_tree.h; NULL: not asked for */
    const struct lp_labels *labels; /* of its ranges, if it is one */
} lp_frame;

/* Why the settrace hook traces a thread beyond its profiled frames. */
typedef enum lp_trace_reason {
    LP_TRACE_PROFILED_ONLY = 0,
    LP_TRACE_RUNNING_FRAMES, /* registered code ran when its profiler was
                                enabled */
    LP_TRACE_ALL_CALLS       /* calls must be heard of without the evaluator */
} lp_trace_reason;

typedef struct lp_recorder {
    lp_frame *top;           /* innermost open frame, or the sentinel */
    uint64_t cost;           /* of all events but the open frames' own */
    lp_clock clock;          /* a copy: read at every event */
    lp_costs costs;          /* a copy */
    lp_ticks min_line_ticks; /* on a line, that makes a slice;
                                LP_NO_LINE_SLICES: none */
    bool traced;             /* calls of functions make slices */
    lp_frame *frames;        /* owned */
    lp_frame *last;          /* the last that fits */
    lp_code_counters *
        *counters; /* owned array, borrowed entries; by code id */
    uint32_t n_counters;
    uint32_t finished;      /* its thread has ended (atomic) */
    uint64_t native_id;     /* of the thread, as the system numbers it */
    char name[64];          /* of the thread, UTF-8, cut */
    uint64_t lost;          /* events that could not be recorded */
    uint64_t python_thread; /* the interpreter's name for the thread */
    void (*other_tracer)(
        void); /* the settrace hook's: who traced it before us */
    lp_trace_reason trace_reason;
    uint32_t number;   /* place in the list of recorders */
    uint32_t changes;  /* odd while frames come or go (atomic) */
    void *old_frames;  /* owned list: frames as they were before they moved */
    uint32_t ranged;   /* frames, from the first on, whose ranges are right */
    uint32_t unpopped; /* ranges beyond theirs that the thread has to pop */
    uint64_t audit_at; /* of `cost`: see overhead_audit.h */
    uint64_t
        unordered_leaves;  /* frames that left from below others: greenlets' */
    struct lp_tree *trees; /* owned list: calls, by tracer; see call_tree.h */
    lp_trace_buffer slices; /* what has ended, if it is traced */
    lp_off_cpu wait;
    struct lp_recorder *next;
} lp_recorder;

#define LP_OVERHEAD_AUDIT_NEVER UINT64_MAX

/* A callback that takes a slice of a frame with these counters. */
typedef void lp_slice_sink(void *to, lp_code_counters *counters,
                           const lp_slice *slice);

/* New recorder, or NULL when memory is out. */
lp_recorder *lp_recorder_new(const lp_clock *clock, const lp_costs *costs);

void lp_recorder_free(lp_recorder *rec);

/* The counters that this thread keeps for a code id, made when first asked
 * for; NULL when memory is out. */
lp_code_counters *lp_recorder_counters(lp_recorder *rec, lp_arena *arena,
                                       const lp_layout *layout);

/* [OWNER] Enter a frame; NULL (and counted as lost) when memory is out. */
lp_frame *lp_recorder_enter(lp_recorder *rec, const void *code,
                            lp_code_counters *counters, uint32_t first_line);

/* A frame that shares an open one, above all others that do, before its first
 * line; NULL (and counted as lost) when memory is out. */
lp_frame *lp_recorder_insert(lp_recorder *rec, const lp_frame *below,
                             lp_code_counters *counters);

/* [OWNER] A frame is left, or suspended, at `now`: close its line.  It is
 * the top one but where frames of one thread take turns. */
void lp_recorder_leave(lp_recorder *rec, lp_frame *frame, bool suspended,
                       lp_ticks now);

/* [OWNER] The slow half of lp_recorder_line, in recorder.c. */
void lp_recorder_multiline_statement(lp_frame *frame, const lp_line *from,
                                     lp_line *to, lp_line_entry step);

/* Slices, in trace_buffer.c.  Be traced, or not, as lp_the_trace_pool has it.
 */
void lp_recorder_trace(lp_recorder *rec);

/* [OWNER] The time on the frame's line ends now: a slice, if it is a long one,
 * which is true of none that is shorter than `wait.min`. */
void lp_recorder_add_line_slice(lp_recorder *rec, const lp_frame *frame,
                                lp_ticks now);

/* [OWNER] The slice of the function ends now. */
void lp_recorder_add_function_slice(lp_recorder *rec, const lp_frame *frame,
                                    lp_ticks now);

/* Give the slices of the open frames of `owner`, of that `code`, up to `now`
 * to `sink`, innermost first; NULL: of any. */
void lp_recorder_open_slices(lp_recorder *rec, const void *owner,
                             const void *code, lp_ticks now,
                             lp_slice_sink *sink, void *to);

/* They end now. */
void lp_recorder_end_slices(lp_recorder *rec, const void *owner,
                            const void *code, lp_ticks now);

/* When the frame came to its line, whatever was charged meanwhile. */
static inline lp_ticks
lp_recorder_opened(const lp_frame *frame)
{
    return frame->cost & LP_SPLIT ? frame->opened : frame->since;
}

/* [OWNER] The statement that the frame is in, if any, is over. */
static inline void
lp_recorder_end_statement(lp_frame *frame)
{
    if (frame->statement != NULL) {
        lp_line_executed(frame->statement, frame->statement_ticks);
        frame->statement = NULL;
    }
}

/* Charge all open lines up to `now` and leave them open: for a report. */
void lp_recorder_settle(lp_recorder *rec, lp_ticks now);

/* Take the frames of `owner` off the stack, charged up to `now`; returns how
 * many of them enabled it. */
uint32_t lp_recorder_drop(lp_recorder *rec, const void *owner, lp_ticks now);

/* The same of those that run `code` alone; NULL: all. */
uint32_t lp_recorder_drop_code(lp_recorder *rec, const void *owner,
                               const void *code, lp_ticks now);

/* [OWNER] Mark the frames as paused: the next line event of each will see. */
void lp_recorder_mark(lp_recorder *rec);

/* Charge all open lines up to `now` and close them; the frames remain, marked
 * as paused. */
void lp_recorder_pause(lp_recorder *rec, lp_ticks now);

/* Restart the open frames of `owner`: what they did so far is forgotten. */
void lp_recorder_restart(lp_recorder *rec, const void *owner, lp_ticks now);

/* Frames come and go between these two, so that other threads, which may read
 * them at any time, know when to read again. */
static inline void
lp_recorder_change(lp_recorder *rec)
{
    __atomic_store_n(&rec->changes, rec->changes + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void
lp_recorder_changed(lp_recorder *rec)
{
    __atomic_store_n(&rec->changes, rec->changes + 1, __ATOMIC_RELEASE);
}

/* [OWNER] The rest of lp_recorder_charge: a long time on the line, or one in
 * which others had costs; in recorder.c. */
void lp_recorder_charge_slow(lp_recorder *rec, lp_frame *frame, lp_ticks now);

/* [OWNER] Its open line was executed once more, in so many ticks. */
LP_INLINE void
lp_recorder_executed(lp_frame *frame, lp_ticks ticks)
{
    lp_line *line = frame->line;

    if (LP_LIKELY(line->statement == 0)) {
        lp_line_executed(line, ticks);
    }
    else if (line == frame->statement) {
        frame->statement_ticks += ticks;
    }
}

/* [OWNER] Charge the open line of a frame up to `now`: it ends. */
LP_INLINE void
lp_recorder_charge(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    lp_line *line = frame->line;
    lp_ticks elapsed = now - frame->since;

    line->ticks += elapsed;
    frame->self_cost += line->weight;
    if (LP_LIKELY(elapsed <
                      __atomic_load_n(&rec->wait.min, __ATOMIC_RELAXED) &&
                  rec->cost == frame->cost)) {
        lp_recorder_executed(frame, elapsed);
    }
    else {
        lp_recorder_charge_slow(rec, frame, now);
    }
}

/* [OWNER] The frame's time begins at `now`. */
static inline void
lp_recorder_begin(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    frame->first = frame->began = now;
    frame->cost = rec->cost;
    frame->first_cost = rec->cost + frame->self_cost;
}

/* [OWNER] The same, and what came before it, if that was long, goes to the
 * frames below. */
static inline void
lp_recorder_begin_now(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    lp_ticks below = frame[-1].since, left = rec->wait.last_leave;

    lp_recorder_begin(rec, frame, now);
    if (LP_UNLIKELY(now - (below > left ? below : left) >=
                    __atomic_load_n(&rec->wait.min, __ATOMIC_RELAXED))) {
        lp_off_cpu_before(rec, frame, now);
    }
}

/* [OWNER] Open a line without a hit, as a resumed frame does. */
static inline void
lp_recorder_open(lp_recorder *rec, lp_frame *frame, lp_line *line,
                 lp_ticks now)
{
    __atomic_store_n(&frame->line, line, __ATOMIC_RELAXED);
    frame->since = now;
    line->cost += line->weight;
    lp_recorder_begin_now(rec, frame, now);
    frame->cost |= LP_SPLIT;
    frame->opened = now;
}

/* [OWNER] The frame comes to the line at `offset` from its first line. */
LP_INLINE void
lp_recorder_line(lp_recorder *rec, lp_frame *frame, uint32_t offset,
                 lp_ticks now, lp_line_entry step)
{
    lp_line *from = frame->line;
    lp_line *to = frame->lines + offset;

    if (LP_UNLIKELY(offset >= frame->n_lines)) {
        return;
    }
    if (LP_LIKELY(from != NULL)) {
        lp_recorder_charge(rec, frame, now);
    }
    else {
        lp_recorder_begin_now(rec, frame, now);
    }
    if (LP_LIKELY(to->statement == 0 && step != LP_LINE_COMPREHENSION)) {
        to->hits++;
    }
    else {
        lp_recorder_multiline_statement(frame, from, to, step);
    }
    __atomic_store_n(&frame->line, to, __ATOMIC_RELAXED);
    frame->since = now;
}

#endif
