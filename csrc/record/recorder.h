/* The recorder of the open lines of a thread: enter, line, leave, suspend,
 * resume.
 *
 * A recorder is a stack of the profiled frames that run on its thread, each
 * with the line it is on.  An event charges the time since the frame's last
 * event to the line that was open, and opens the next.  Only its own thread
 * calls the functions marked [OWNER]; another thread may call the rest under
 * the GIL.
 *
 * Frames are identified by the code they run (and by a key, if the hook has
 * one): both are opaque here. frames[0] is a sentinel that matches nothing, so
 * that "the top frame is this code" is the only test that an event makes.
 *
 * Other threads may read which lines are open, see current_path.h.  Therefore
 * arrays of frames that were reallocated are kept, and `changes` counts each
 * frame that is added or removed.
 */
#ifndef LP_RECORD_RECORDER_H
#define LP_RECORD_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/clock.h"
#include "record/line_counters.h"
#include "record/off_cpu.h"
#include "record/trace_buffer.h"

/* Kinds of transitions to a line. */
typedef enum lp_line_entry {
    LP_LINE_FORWARD = 0, /* it continued, or jumped forward */
    LP_LINE_LOOP_BACK, /* it jumped back: a new execution of a statement begins
                        */
    LP_LINE_COMPREHENSION /* it jumped back inside a comprehension: no new hit
                           */
} lp_line_entry;

enum {
    LP_FRAME_SHARED = 1, /* the frame below is the same Python frame, counted
                            for another tracer */
    /* the next line event is the target of a jump back */
    LP_FRAME_LOOP_BACK = 2,
    LP_FRAME_COMPREHENSION = 4, /* ... of a jump back inside a comprehension */
    LP_FRAME_LINES = 8,         /* its time on each line is an NVTX range */
    LP_FRAME_RANGES_STALE = 16, /* its thread has to update its ranges */
    LP_FRAME_PAUSED = 32,       /* collection was off: no line is open */
    LP_FRAME_GREENLET = 64,     /* greenlets may switch frames on its thread */
    /* has comprehensions that run in its frame */
    LP_FRAME_HAS_COMPREHENSION = 128,
    /* no other frame of this code is open on the thread */
    LP_FRAME_OUTERMOST = 256,
    /* its tracer is enabled for as long as it runs */
    LP_FRAME_ACTIVATES_TRACER = 512,
    LP_FRAME_RANGED = 1024,     /* it is an NVTX range, see nvtx_ranges.h */
    LP_FRAME_C_FUNCTION = 4096, /* a C function, see c_functions.h */
    LP_FRAME_CALLS_ONLY = 8192, /* no events tell of its lines */
    /* another tracer gets no line events of it, or no opcode events: see
     * trace_function.h */
    LP_FRAME_HIDE_LINES = 2048,
    LP_FRAME_HIDE_OPCODES = 16384,
    /* it was open when this process was forked, and has not come to another
     * line since: no line is open, and it is not counted in `depth` */
    LP_FRAME_INHERITED = 32768
};

/* Flags with which a line event leaves the fast path, all in one byte. */
enum {
    LP_FRAME_SLOW = LP_FRAME_SHARED | LP_FRAME_LOOP_BACK |
    LP_FRAME_COMPREHENSION | LP_FRAME_GREENLET | LP_FRAME_LINES |
    LP_FRAME_RANGES_STALE | LP_FRAME_PAUSED
};

/* A bit of lp_frame.cost, above any cost: the time on the open line was split,
 * so that its rest is no complete execution of the line; lp_frame.opened has
 * the time at which it was opened. */
#define LP_SPLIT ((uint64_t)1 << 63)

typedef struct lp_frame {
    const void *code;   /* code it runs; NULL only in the sentinel */
    lp_line *line;      /* the open line, NULL before the first */
    lp_ticks since;     /* when the open line was opened or last charged */
    uint64_t cost;      /* the recorder's cost that the lines have been charged
                           with; and LP_SPLIT */
    uint64_t self_cost; /* cost of this frame's own line events */
    lp_line *lines;     /* counters->lines */
    uint32_t first_line;
    uint32_t n_lines;
    uint32_t flags;
    uint32_t last_hit; /* in a long statement: the last line that was hit */
    int32_t offset;    /* byte offset of the last event, in code with
                          comprehensions */
    uint32_t ranges;   /* ranges of it that are pushed, if it is one: 0 to 2 */
    uint64_t hit_mask; /* in a multi-line statement: bit i is set if its line i
                          was hit */
    lp_line *statement; /* first line of the multi-line statement that it is
                           in; NULL if it was not there from the start */
    lp_ticks statement_ticks; /* ticks in that statement */
    lp_code_counters *counters;
    void *owner;    /* the tracer, opaque */
    lp_ticks first; /* when its first line was opened, or last charged up to */
    lp_ticks began; /* when its first line was opened */
    lp_ticks opened; /* when its open line was opened; valid with LP_SPLIT */
    uint64_t first_cost; /* cost of the recorder and self_cost at `first` */
    /* identity of the frame, if the hook has one; else NULL */
    const void *key;
    /* borrowed, by instruction: see lp_code.starts */
    const uint32_t *starts;
    uint32_t n_starts;
    uint32_t serial; /* of its code, see lp_layout */
    /* cached call path of the open lines up to here; 0 if not computed yet */
    uint32_t path;
    uint32_t inherited; /* with LP_FRAME_INHERITED: offset, plus 1, of the line
                           that was open at the fork; 0 for none */
    const lp_line *path_line; /* the line for which `path` is valid */
    struct lp_node *node;     /* see call_tree.h; NULL: not looked up yet */
    const struct lp_labels *labels; /* labels of its ranges, if it is one */
} lp_frame;

/* Reason for which the settrace hook traces a thread beyond its profiled
 * frames. */
typedef enum lp_trace_reason {
    LP_TRACE_PROFILED_ONLY = 0,
    LP_TRACE_RUNNING_FRAMES, /* registered code was running when its profiler
                                was enabled */
    LP_TRACE_ALL_CALLS /* the evaluator is out of the chain, so calls must be
                          traced */
} lp_trace_reason;

typedef struct lp_recorder {
    lp_frame *top;  /* innermost open frame, or the sentinel */
    uint64_t cost;  /* cost of all events but the open frames' self_cost */
    lp_clock clock; /* a copy: read at every event */
    lp_costs costs; /* a copy */
    lp_ticks min_line_ticks; /* ticks on a line from which on it is a slice;
                                LP_NO_LINE_SLICES for none */
    bool traced;             /* function calls are recorded as slices */
    lp_frame *frames;        /* see more_frames */
    lp_frame *last;          /* last frame of the array */
    /* owned array of borrowed entries, by code id */
    lp_code_counters **counters;
    uint32_t n_counters;
    uint32_t finished;      /* its thread has ended (atomic) */
    uint64_t native_id;     /* thread id of the operating system */
    char name[64];          /* name of the thread, UTF-8, truncated */
    uint64_t lost;          /* events that could not be recorded */
    uint64_t python_thread; /* Python thread id */
    /* of the settrace hook: the thread's other trace function */
    void (*other_tracer)(void);
    lp_trace_reason trace_reason;
    uint32_t number;  /* index in the list of recorders */
    uint32_t changes; /* odd while frames are added or removed (atomic) */
    /* owned list: arrays of frames, after the one that lies behind the
     * recorder itself; the first has the frames in use */
    lp_block *more_frames;
    uint32_t ranged;   /* number of frames, from the first on, whose ranges are
                          up to date */
    uint32_t unpopped; /* ranges above theirs that the thread has to pop */
    /* value of `cost` at which overhead_audit.h runs next */
    uint64_t audit_at;
    uint64_t unordered_leaves; /* frames left while others were above them: by
                                  greenlets */
    /* owned list: call trees, one per tracer; see call_tree.h */
    struct lp_tree *trees;
    /* owned: of greenlets that do not run, see greenlet_stacks.h; or NULL */
    struct lp_stacks *stacks;
    const void *stack_key;       /* of the greenlet whose frames these are */
    struct lp_call_room *room;   /* borrowed; of these trees; may be NULL */
    struct lp_heap_thread *heap; /* borrowed; see memory/heap.h; or NULL */
    lp_trace_buffer slices;      /* ended slices, if it is traced */
    lp_off_cpu wait;
    struct lp_recorder *next;
} lp_recorder;

/* This thread's recorder; NULL before its first event. */
extern _Thread_local lp_recorder *lp_current_recorder;

#define LP_OVERHEAD_AUDIT_NEVER UINT64_MAX

/* A callback for a slice of a frame with these counters. */
typedef void lp_slice_sink(void *to, lp_code_counters *counters,
                           const lp_slice *slice);

/* Return a new recorder, or NULL if memory is out. */
lp_recorder *lp_recorder_new(const lp_clock *clock, const lp_costs *costs);

void lp_recorder_free(lp_recorder *rec);

/* Return the counters of this thread for a code id, created on first use; NULL
 * if memory is out. */
lp_code_counters *lp_recorder_counters(lp_recorder *rec, lp_arena *arena,
                                       const lp_layout *layout);

/* Make room for another frame on top; false (and counted as lost) if memory is
 * out. */
bool lp_recorder_grow(lp_recorder *rec);

/* Insert a frame that shares an open one, above all others that share it,
 * before its first line; NULL (and counted as lost) if memory is out. */
lp_frame *lp_recorder_insert(lp_recorder *rec, const lp_frame *below,
                             lp_code_counters *counters);

/* [OWNER] A frame is left: see lp_calls_leave. */
void lp_recorder_leave(lp_recorder *rec, lp_frame *frame, bool suspended,
                       lp_ticks now);

/* [OWNER] Remove a frame below others from the stack, but for the change of
 * `top`: the top frame is then there twice. */
void lp_recorder_close_gap(lp_recorder *rec, lp_frame *frame);

/* [OWNER] The slow path of lp_recorder_line, for multi-line statements and
 * comprehensions; in recorder.c. */
void lp_recorder_multiline_statement(lp_frame *frame, const lp_line *from,
                                     lp_line *to, lp_line_entry step);

/* Slices, in trace_buffer.c.  Start or stop recording them, as
 * lp_the_trace_pool is set. */
void lp_recorder_trace(lp_recorder *rec);

/* [OWNER] The time on the frame's line, open since `opened`, ends now: add a
 * slice if it is long enough.  Time shorter than `wait.min` is never long
 * enough.  `wait` is the thread's off-CPU time in it. */
void lp_recorder_add_line_slice(lp_recorder *rec, const lp_frame *frame,
                                lp_ticks opened, lp_ticks now,
                                lp_line_wait wait);

/* [OWNER] Add the slice of the function, which ends now. */
void lp_recorder_add_function_slice(lp_recorder *rec, const lp_frame *frame,
                                    lp_ticks now);

/* Pass the slices of the open frames of `owner` and `code`, up to `now`, to
 * `sink`, innermost first; NULL matches any owner or code. */
void lp_recorder_open_slices(lp_recorder *rec, const void *owner,
                             const void *code, lp_ticks now,
                             lp_slice_sink *sink, void *to);

/* End the slices of these frames now. */
void lp_recorder_end_slices(lp_recorder *rec, const void *owner,
                            const void *code, lp_ticks now);

/* Time at which the frame came to its open line, whatever was charged since.
 */
static inline lp_ticks
lp_recorder_opened(const lp_frame *frame)
{
    return frame->cost & LP_SPLIT ? frame->opened : frame->since;
}

/* [OWNER] End the multi-line statement that the frame is in, if any. */
static inline void
lp_recorder_end_statement(lp_frame *frame)
{
    if (frame->statement != NULL) {
        lp_line_executed(frame->statement, frame->statement_ticks);
        frame->statement = NULL;
    }
}

/* [OWNER] Mark the time on the frame's line as split: the rest of it, and of
 * its statement, is no complete execution.  A statement of several lines ends
 * if the line is not part of it. */
static inline void
lp_recorder_split(lp_frame *frame)
{
    if (LP_UNLIKELY(frame->statement != NULL)) {
        if (frame->line->statement != frame->statement->statement) {
            lp_recorder_end_statement(frame);
        }
        frame->statement = NULL;
    }
    frame->opened = lp_recorder_opened(frame);
    frame->cost |= LP_SPLIT;
}

/* Charge all open lines up to `now` and leave them open: for a report. */
void lp_recorder_settle(lp_recorder *rec, lp_ticks now);

/* Remove the frames of `owner` from the stack, charged up to `now`; returns
 * how many of them had enabled the tracer. */
uint32_t lp_recorder_drop(lp_recorder *rec, const void *owner, lp_ticks now);

/* The same for frames that run `code` only; NULL for all. */
uint32_t lp_recorder_drop_code(lp_recorder *rec, const void *owner,
                               const void *code, lp_ticks now);

/* [OWNER] Mark the frames as paused: the next line event of each handles it.
 */
void lp_recorder_mark(lp_recorder *rec);

/* Charge all open lines up to `now` and close them; the frames remain, marked
 * as paused. */
void lp_recorder_pause(lp_recorder *rec, lp_ticks now);

/* Charge all open lines up to `now`; frames of `owner` and `code` are on their
 * first line from then on, without a hit. */
void lp_recorder_drop_lines(lp_recorder *rec, const void *owner,
                            const void *code, lp_ticks now);

/* Collection is on again: frames without line events continue. */
void lp_recorder_resume_calls(lp_recorder *rec, lp_ticks now);

/* Restart the open frames of `owner`: their time so far is not counted. */
void lp_recorder_restart(lp_recorder *rec, const void *owner, lp_ticks now);

/* [OWNER] The open lines continue as if these ticks, up to now, had not
 * passed. */
void lp_recorder_hide(lp_recorder *rec, lp_ticks ticks);

/* In a forked child: the open frames were entered in another process.  Their
 * lines are charged up to `now`, and closed; a frame that comes to another
 * line in the child counts from then on. */
void lp_recorder_inherit(lp_recorder *rec, lp_ticks now);

/* [OWNER] An inherited frame is about to come to another line: reopen the one
 * that was open, without time. */
void lp_recorder_return_to(lp_recorder *rec, lp_frame *frame, lp_ticks now);

/* Enclose each addition or removal of frames, so that other threads, which may
 * read frames at any time, know when to read again. */
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

/* Initialise a frame that has not come to a line. */
LP_INLINE void
lp_recorder_begin_frame(lp_frame *frame, const void *code,
                        lp_code_counters *counters, uint32_t first_line)
{
    __atomic_store_n(&frame->line, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&frame->lines, counters->lines, __ATOMIC_RELAXED);
    __atomic_store_n(&frame->first_line, first_line, __ATOMIC_RELAXED);
    __atomic_store_n(&frame->n_lines, counters->n_lines, __ATOMIC_RELAXED);
    __atomic_store_n(&frame->serial, counters->serial, __ATOMIC_RELAXED);
    __atomic_store_n(&frame->path, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&frame->flags,
                     counters->depth == 0 ? LP_FRAME_OUTERMOST : 0,
                     __ATOMIC_RELAXED);
    frame->code = code;
    frame->self_cost = 0;
    frame->counters = counters;
    frame->key = NULL;
    frame->node = NULL;
    frame->hit_mask = 0;
    frame->last_hit = 0;
    frame->statement = NULL;
    frame->offset = -1;
    frame->starts = NULL;
    frame->n_starts = 0;
    if (counters->depth++ != 0) {
        counters->recursed = true;
    }
}

/* [OWNER] Enter a frame; NULL (and counted as lost) if memory is out. */
LP_INLINE lp_frame *
lp_recorder_enter(lp_recorder *rec, const void *code,
                  lp_code_counters *counters, uint32_t first_line)
{
    lp_frame *frame;

    if (LP_UNLIKELY(counters == NULL)) {
        rec->lost++;
        return NULL;
    }
    if (LP_UNLIKELY(rec->top == rec->last) && !lp_recorder_grow(rec)) {
        return NULL;
    }
    lp_recorder_change(rec);
    frame = rec->top + 1;
    lp_recorder_begin_frame(frame, code, counters, first_line);
    __atomic_store_n(&rec->top, frame, __ATOMIC_RELAXED);
    lp_recorder_changed(rec);
    return frame;
}

/* [OWNER] Charge the line with the cost of events of other frames while it was
 * open.  Returns `ticks` without that cost. */
static inline lp_ticks
lp_recorder_charge_cost(lp_recorder *rec, lp_frame *frame, lp_ticks ticks)
{
    uint64_t cost = rec->cost - (frame->cost & ~LP_SPLIT);
    lp_ticks overhead = cost / LP_COST_ONE;

    frame->line->cost += cost;
    frame->cost = rec->cost;
    return ticks > overhead ? ticks - overhead : 0;
}

/* [OWNER] The slow path of lp_recorder_charge, for a long time on the line, or
 * one that was split if slices are recorded; in recorder.c. */
lp_ticks lp_recorder_charge_slow(lp_recorder *rec, lp_frame *frame,
                                 lp_ticks now);

/* [OWNER] The open line was executed once more, in so many ticks. */
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

/* [OWNER] Charge the open line of a frame, which ends at `now`; returns when
 * it ended: later, if the thread was preempted while its wait was measured. */
LP_INLINE lp_ticks
lp_recorder_charge(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    lp_line *line = frame->line;
    lp_ticks elapsed = now - frame->since;
    bool whole = !(frame->cost & LP_SPLIT);

    line->ticks += elapsed;
    frame->self_cost += line->weight;
    if (LP_UNLIKELY(elapsed >=
                        __atomic_load_n(&rec->wait.min, __ATOMIC_RELAXED) ||
                    (!whole && rec->traced))) {
        return lp_recorder_charge_slow(rec, frame, now);
    }
    if (frame->cost != rec->cost) {
        elapsed = lp_recorder_charge_cost(rec, frame, elapsed);
    }
    if (LP_LIKELY(whole)) {
        lp_recorder_executed(frame, elapsed);
    }
    return now;
}

/* [OWNER] The frame's time begins at `now`. */
static inline void
lp_recorder_begin(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    frame->first = frame->began = now;
    frame->cost = rec->cost;
    frame->first_cost = rec->cost + frame->self_cost;
}

/* [OWNER] The same; the time since the last event, if long, is charged as
 * off-CPU time to the frames below. Returns when the frame's time began:
 * later, if the thread was preempted meanwhile. */
static inline lp_ticks
lp_recorder_begin_now(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    lp_ticks below = frame[-1].since, left = rec->wait.last_leave;

    lp_recorder_begin(rec, frame, now);
    if (LP_UNLIKELY(now - (below > left ? below : left) >=
                    __atomic_load_n(&rec->wait.min, __ATOMIC_RELAXED))) {
        now = lp_off_cpu_before(rec, frame, now);
    }
    return now;
}

/* [OWNER] Open a line without a hit, as in a resumed frame. */
static inline void
lp_recorder_open(lp_recorder *rec, lp_frame *frame, lp_line *line,
                 lp_ticks now)
{
    __atomic_store_n(&frame->line, line, __ATOMIC_RELAXED);
    line->cost += line->weight;
    frame->since = frame->opened = lp_recorder_begin_now(rec, frame, now);
    frame->cost |= LP_SPLIT;
}

/* [OWNER] The frame comes to the line at `offset` from its first line in the
 * way of most lines: from another one, soon after the last event, and outside
 * of statements of several lines.  False, with nothing done, if it is not so.
 */
LP_INLINE bool
lp_recorder_plain_line(lp_recorder *rec, lp_frame *frame, uint32_t offset,
                       lp_ticks now)
{
    lp_line *from = frame->line;
    lp_line *to = frame->lines + offset;
    lp_ticks elapsed = now - frame->since, ticks;
    bool whole = true;

    if (LP_UNLIKELY(from == NULL || from == to || offset >= frame->n_lines ||
                    elapsed >=
                        __atomic_load_n(&rec->wait.min, __ATOMIC_RELAXED) ||
                    (from->statement | to->statement) != 0)) {
        return false;
    }
    ticks = elapsed;
    if (LP_UNLIKELY(frame->cost != rec->cost)) {
        whole = !(frame->cost & LP_SPLIT);
        if (LP_UNLIKELY(!whole && rec->traced)) {
            return false;
        }
        ticks = lp_recorder_charge_cost(rec, frame, elapsed);
    }
    from->ticks += elapsed;
    frame->self_cost += from->weight;
    if (LP_LIKELY(whole)) {
        lp_line_executed(from, ticks);
    }
    to->hits++;
    __atomic_store_n(&frame->line, to, __ATOMIC_RELAXED);
    frame->since = now;
    return true;
}

/* [OWNER] The frame, which was just entered, comes to its first line. */
LP_INLINE void
lp_recorder_first_line(lp_recorder *rec, lp_frame *frame, uint32_t offset,
                       lp_ticks now)
{
    lp_line *to = frame->lines + offset;

    if (LP_UNLIKELY(offset >= frame->n_lines)) {
        return;
    }
    now = lp_recorder_begin_now(rec, frame, now);
    if (LP_LIKELY(to->statement == 0)) {
        to->hits++;
    }
    else {
        lp_recorder_multiline_statement(frame, NULL, to, LP_LINE_FORWARD);
    }
    __atomic_store_n(&frame->line, to, __ATOMIC_RELAXED);
    frame->since = now;
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
        now = lp_recorder_charge(rec, frame, now);
    }
    else {
        now = lp_recorder_begin_now(rec, frame, now);
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
