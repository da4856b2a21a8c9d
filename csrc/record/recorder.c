#include "record/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "record/calls.h"
#include "record/greenlet_stacks.h"
#include "record/live_file.h"
#include "record/off_cpu_sampler.h"

enum { MIN_FRAMES = 64 };

_Thread_local lp_recorder *lp_current_recorder;

/* Write a field that other threads may read at any time, see current_path.c.
 */
#define WRITE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

/* Copy a frame that other threads may be reading. */
static void
move_frame(lp_frame *to, const lp_frame *from)
{
    typedef uint64_t __attribute__((may_alias)) word;
    const word *source = (const word *)from;
    word *target = (word *)to;

    for (size_t i = 0; i < sizeof(*to) / sizeof(word); i++) {
        WRITE(target[i], __atomic_load_n(&source[i], __ATOMIC_RELAXED));
    }
}

_Static_assert(sizeof(lp_frame) % sizeof(uint64_t) == 0, "whole words");
_Static_assert(sizeof(lp_recorder) % sizeof(uint64_t) == 0,
               "frames after it are aligned");

/* The block of a recorder and its first frames. */
static lp_block *
block_of(lp_recorder *rec)
{
    return (lp_block *)(void *)rec - 1;
}

lp_recorder *
lp_recorder_new(const lp_clock *clock, const lp_costs *costs)
{
    size_t bytes =
        sizeof(lp_block) + sizeof(lp_recorder) + MIN_FRAMES * sizeof(lp_frame);
    lp_block *block =
        lp_block_new(LP_BLOCK_RECORDER, bytes, lp_live_is_open());
    lp_recorder *rec;

    if (block == NULL) {
        return NULL;
    }
    block->used = bytes;
    rec = lp_block_data(block);
    rec->frames = (lp_frame *)(rec + 1);
    rec->top = rec->frames;
    rec->last = rec->frames + MIN_FRAMES - 1;
    rec->clock = *clock;
    rec->costs = *costs;
    rec->audit_at = LP_OVERHEAD_AUDIT_NEVER;
    lp_recorder_trace(rec);
    rec->wait.is_live = block->is_live;
    lp_off_cpu_clock(rec, clock);
    return rec;
}

void
lp_recorder_free(lp_recorder *rec)
{
    if (rec == NULL) {
        return;
    }
    lp_stacks_free(rec);
    while (rec->more_frames != NULL) {
        lp_block *next = rec->more_frames->next;

        lp_block_free(rec->more_frames);
        rec->more_frames = next;
    }
    while (rec->trees != NULL) {
        lp_calls_drop(rec, rec->trees->owner);
    }
    lp_trace_buffer_free(&rec->slices);
    lp_off_cpu_free(&rec->wait);
    free(rec->counters);
    lp_block_free(block_of(rec));
}

lp_code_counters *
lp_recorder_counters(lp_recorder *rec, lp_arena *arena,
                     const lp_layout *layout)
{
    uint32_t id = layout->code_id;

    if (id >= rec->n_counters) {
        uint32_t wanted = id < 32 ? 64 : id * 2;
        lp_code_counters **counters =
            realloc(rec->counters, wanted * sizeof(lp_code_counters *));

        if (counters == NULL) {
            return NULL;
        }
        memset(counters + rec->n_counters, 0,
               (wanted - rec->n_counters) * sizeof(lp_code_counters *));
        rec->counters = counters;
        rec->n_counters = wanted;
    }
    if (rec->counters[id] == NULL) {
        rec->counters[id] = lp_code_counters_new(arena, layout, &rec->costs);
        if (rec->counters[id] != NULL) {
            rec->counters[id]->thread = rec->number;
        }
    }
    return rec->counters[id];
}

/* By reallocation: no code keeps a pointer to a frame from one event to the
 * next.  The old array is kept, because another thread may be reading it. */
bool
lp_recorder_grow(lp_recorder *rec)
{
    size_t used = (size_t)(rec->top - rec->frames) + 1;
    size_t wanted = used * 2;
    size_t bytes = sizeof(lp_block) + wanted * sizeof(lp_frame);
    lp_block *block =
        lp_block_new(LP_BLOCK_FRAMES, bytes, block_of(rec)->is_live);
    lp_frame *frames;

    if (block == NULL) {
        rec->lost++;
        return false;
    }
    block->used = bytes;
    block->next = rec->more_frames;
    rec->more_frames = block;
    frames = lp_block_data(block);
    memcpy(frames, rec->frames, used * sizeof(lp_frame));
    lp_recorder_change(rec);
    __atomic_store_n(&rec->frames, frames, __ATOMIC_RELAXED);
    __atomic_store_n(&rec->top, frames + used - 1, __ATOMIC_RELAXED);
    rec->last = frames + wanted - 1;
    lp_recorder_changed(rec);
    return true;
}

/* Drop the cached paths of this frame and those above, because the frames
 * below them change. */
static void
forget_paths(lp_recorder *rec, lp_frame *frame)
{
    for (; frame <= rec->top; frame++) {
        WRITE(frame->path, 0);
    }
}

/* Mark the time on the line, open since `opened`, as split: the rest of it,
 * and of its statement, is no complete execution. */
static void
split(lp_frame *frame, lp_ticks opened)
{
    frame->opened = opened;
    frame->cost |= LP_SPLIT;
    frame->statement = NULL;
}

lp_frame *
lp_recorder_insert(lp_recorder *rec, const lp_frame *below,
                   lp_code_counters *counters)
{
    size_t place = (size_t)(below - rec->frames) + 1;
    lp_frame *frame;

    if (counters == NULL) {
        rec->lost++;
        return NULL;
    }
    if (rec->top == rec->last && !lp_recorder_grow(rec)) {
        return NULL;
    }
    lp_off_cpu_spread(rec);
    frame = rec->frames + place;
    lp_recorder_change(rec);
    for (lp_frame *at = rec->top; at >= frame; at--) {
        move_frame(at + 1, at);
    }
    lp_recorder_begin_frame(frame, frame[-1].code, counters,
                            frame[-1].first_line);
    frame->key = frame[-1].key;
    WRITE(frame->flags,
          frame->flags | LP_FRAME_SHARED |
              (frame[-1].flags & (LP_FRAME_GREENLET | LP_FRAME_PAUSED |
                                  LP_FRAME_HAS_COMPREHENSION)));
    WRITE(rec->top, rec->top + 1);
    forget_paths(rec, frame);
    if (rec->ranged >= place) {
        rec->ranged++; /* it has no range, so its ranges are up to date */
    }
    lp_recorder_changed(rec);
    return frame;
}

void
lp_recorder_close_gap(lp_recorder *rec, lp_frame *frame)
{
    rec->unordered_leaves += !(frame[1].flags & LP_FRAME_SHARED);
    for (lp_frame *at = frame; at < rec->top; at++) {
        move_frame(at, at + 1);
    }
    forget_paths(rec, frame);
}

void
lp_recorder_leave(lp_recorder *rec, lp_frame *frame, bool suspended,
                  lp_ticks now)
{
    lp_calls_leave(rec, frame, suspended, now);
}

void
lp_recorder_settle(lp_recorder *rec, lp_ticks now)
{
    lp_off_cpu_settle(rec, now);
    /* From the innermost frame on, because its cost so far is also in those
     * below. */
    for (lp_frame *frame = rec->top; frame > rec->frames; frame--) {
        lp_ticks opened;

        if (frame->line == NULL) {
            continue;
        }
        opened = lp_recorder_opened(frame);
        frame->line->ticks += now - frame->since;
        frame->line->cost += rec->cost - (frame->cost & ~LP_SPLIT);
        frame->since = now;
        frame->opened = opened;
        lp_calls_charge(rec, frame, now);
        rec->cost += frame->self_cost;
        frame->self_cost = 0;
    }
    for (lp_frame *frame = rec->frames + 1; frame <= rec->top; frame++) {
        lp_ticks began = frame->began;

        if (frame->line != NULL) {
            lp_recorder_begin(rec, frame, now);
            frame->began = began;
            split(frame, frame->opened);
        }
    }
}

/* Give up the open line, whose final event never comes and has no cost. */
static void
abandon_line(lp_frame *frame)
{
    if (frame->line != NULL) {
        frame->line->cost -= frame->line->weight;
    }
}

/* Make other threads' copies of the current path invalid.  Adds two in one
 * step, so that an even number still means that no thread is changing frames.
 */
static void
invalidate_paths(lp_recorder *rec)
{
    __atomic_fetch_add(&rec->changes, 2, __ATOMIC_SEQ_CST);
}

void
lp_recorder_mark(lp_recorder *rec)
{
    for (lp_frame *frame = rec->frames + 1; frame <= rec->top; frame++) {
        __atomic_fetch_or(&frame->flags, LP_FRAME_PAUSED, __ATOMIC_RELAXED);
    }
}

void
lp_recorder_pause(lp_recorder *rec, lp_ticks now)
{
    lp_recorder_end_slices(rec, NULL, NULL, now);
    lp_recorder_settle(rec, now);
    invalidate_paths(rec);
    for (lp_frame *frame = rec->frames + 1; frame <= rec->top; frame++) {
        abandon_line(frame);
        WRITE(frame->line, NULL);
        WRITE(frame->flags, frame->flags | LP_FRAME_PAUSED);
        frame->node = NULL; /* its caller may resume counting later */
    }
    forget_paths(rec, rec->frames + 1);
    invalidate_paths(rec);
}

/* Open the first line of a frame, of which no line is open. */
static void
open_first_line(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    lp_recorder_begin(rec, frame, now);
    frame->since = frame->opened = now;
    frame->cost |= LP_SPLIT;
    WRITE(frame->line, frame->lines);
}

void
lp_recorder_drop_lines(lp_recorder *rec, const void *owner, const void *code,
                       lp_ticks now)
{
    lp_recorder_settle(rec, now);
    invalidate_paths(rec);
    for (lp_frame *frame = rec->frames + 1; frame <= rec->top; frame++) {
        if (frame->owner != owner || frame->code != code) {
            continue;
        }
        WRITE(frame->flags, frame->flags | LP_FRAME_CALLS_ONLY);
        if (frame->line != NULL) {
            abandon_line(frame);
            frame->opened = now;
            WRITE(frame->line, frame->lines);
        }
        else if (!(frame->flags & LP_FRAME_PAUSED)) {
            open_first_line(rec, frame, now);
        }
    }
    forget_paths(rec, rec->frames + 1);
    invalidate_paths(rec);
}

void
lp_recorder_resume_calls(lp_recorder *rec, lp_ticks now)
{
    invalidate_paths(rec);
    for (lp_frame *frame = rec->frames + 1; frame <= rec->top; frame++) {
        if ((frame->flags & LP_FRAME_CALLS_ONLY) &&
            (frame->flags & LP_FRAME_PAUSED) && frame->line == NULL &&
            !(frame->flags & LP_FRAME_INHERITED)) {
            WRITE(frame->flags, frame->flags & ~(uint32_t)LP_FRAME_PAUSED);
            open_first_line(rec, frame, now);
        }
    }
    forget_paths(rec, rec->frames + 1);
    invalidate_paths(rec);
}

void
lp_recorder_hide(lp_recorder *rec, lp_ticks ticks)
{
    for (lp_frame *frame = rec->frames + 1; frame <= rec->top; frame++) {
        if (frame->line != NULL) {
            if (rec->traced) { /* its slice has begun when it did */
                lp_recorder_split(frame);
            }
            frame->since += ticks;
            frame->first += ticks;
        }
    }
}

void
lp_recorder_inherit(lp_recorder *rec, lp_ticks now)
{
    lp_recorder_end_slices(rec, NULL, NULL, now);
    lp_recorder_settle(rec, now);
    invalidate_paths(rec);
    for (lp_frame *frame = rec->frames + 1; frame <= rec->top; frame++) {
        if (!(frame->flags & LP_FRAME_INHERITED)) {
            frame->counters->depth--;
            frame->inherited = 0;
        }
        if (frame->line != NULL) {
            abandon_line(frame);
            frame->inherited = (uint32_t)(frame->line - frame->lines) + 1;
            WRITE(frame->line, NULL);
        }
        frame->node = NULL;
        frame->statement = NULL;
        WRITE(frame->flags, (frame->flags & ~(uint32_t)LP_FRAME_OUTERMOST) |
                                LP_FRAME_PAUSED | LP_FRAME_INHERITED);
    }
    rec->wait.last_leave = now;
    forget_paths(rec, rec->frames + 1);
    invalidate_paths(rec);
}

void
lp_recorder_return_to(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    uint32_t place = frame->inherited;

    WRITE(frame->flags,
          (frame->flags & ~(uint32_t)LP_FRAME_INHERITED) |
              (frame->counters->depth == 0 ? LP_FRAME_OUTERMOST : 0));
    if (frame->counters->depth++ != 0) {
        frame->counters->recursed = true;
    }
    if (place != 0) {
        lp_recorder_open(rec, frame, frame->lines + place - 1, now);
    }
}

uint32_t
lp_recorder_drop(lp_recorder *rec, const void *owner, lp_ticks now)
{
    return lp_recorder_drop_code(rec, owner, NULL, now);
}

uint32_t
lp_recorder_drop_code(lp_recorder *rec, const void *owner, const void *code,
                      lp_ticks now)
{
    lp_frame *kept = rec->frames + 1;
    uint32_t enabling = 0;
    bool gone = false; /* true if the frame below was removed, or the one that
                          called this C function */

    lp_recorder_end_slices(rec, owner, code, now);
    lp_recorder_settle(rec, now);
    lp_recorder_change(rec);
    forget_paths(rec, kept);
    for (lp_frame *frame = kept; frame <= rec->top; frame++) {
        if (frame->owner == owner &&
            (code == NULL || frame->code == code ||
             (gone && (frame->flags & LP_FRAME_C_FUNCTION)))) {
            gone = true;
            abandon_line(frame);
            frame->counters->depth -= !(frame->flags & LP_FRAME_INHERITED);
            enabling += (frame->flags & LP_FRAME_ACTIVATES_TRACER) != 0;
            /* A frame above that shares it now shares the frame below it. */
            if (frame < rec->top && !(frame->flags & LP_FRAME_SHARED)) {
                WRITE(frame[1].flags,
                      frame[1].flags & ~(uint32_t)LP_FRAME_SHARED);
            }
            continue;
        }
        gone = false;
        if (kept < frame) {
            frame->node = NULL; /* its caller may be another one from now on */
        }
        move_frame(kept++, frame);
    }
    WRITE(rec->top, kept - 1);
    lp_recorder_changed(rec);
    return enabling;
}

void
lp_recorder_restart(lp_recorder *rec, const void *owner, lp_ticks now)
{
    for (lp_frame *frame = rec->frames + 1; frame <= rec->top; frame++) {
        if (frame->owner == owner && frame->line != NULL) {
            frame->since = now;
            lp_recorder_begin(rec, frame, now);
            split(frame, now);
        }
    }
}

lp_ticks
lp_recorder_charge_slow(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    lp_ticks event = now, elapsed = now - frame->since, ticks = elapsed;
    bool whole = !(frame->cost & LP_SPLIT);
    lp_ticks opened = lp_recorder_opened(frame);
    bool waits_known = rec->wait.read && opened == frame->since;
    lp_line_wait wait = {0, 0};

    if (rec->cost != frame->cost) {
        ticks = lp_recorder_charge_cost(rec, frame, ticks);
    }
    if (LP_UNLIKELY(elapsed >=
                    __atomic_load_n(&rec->wait.min, __ATOMIC_RELAXED))) {
        wait = lp_off_cpu_charge(rec, frame, &now);
        frame->line->ticks += now - event;
        elapsed += now - event;
        ticks += now - event;
        if (LP_UNLIKELY(!waits_known)) {
            wait.ns = LP_WAIT_UNKNOWN;
        }
    }
    /* (A split line may have been open for longer than `elapsed`.) */
    if (LP_UNLIKELY(elapsed >= rec->min_line_ticks ||
                    (!whole && rec->traced))) {
        lp_recorder_add_line_slice(rec, frame, opened, now, wait);
    }
    if (LP_LIKELY(whole)) {
        lp_recorder_executed(frame, ticks);
    }
    return LP_UNLIKELY(lp_sampler_is_wanted())
               ? lp_off_cpu_begin_sampler(rec, now)
               : now;
}

/* In a multi-line statement each execution of the statement is one hit of each
 * of its lines, however control moves between them. */

enum { MASK_BITS = 64 };

/* Count a line of a statement once per execution of the statement, however
 * often control returns to the line. */
static void
count_hit_once(lp_frame *frame, lp_line *line, uint32_t place)
{
    if (place < MASK_BITS) {
        uint64_t bit = (uint64_t)1 << place;

        if (frame->hit_mask & bit) {
            line->cost += line->weight;
            return;
        }
        frame->hit_mask |= bit;
    }
    else {
        /* Control passes a literal of many lines only downwards. */
        if (place <= frame->last_hit) {
            line->cost += line->weight;
            return;
        }
        frame->last_hit = place;
    }
    line->hits++;
}

void
lp_recorder_multiline_statement(lp_frame *frame, const lp_line *from,
                                lp_line *to, lp_line_entry step)
{
    lp_line *first;
    bool same = from != NULL && from->statement == to->statement;

    if (to->statement == 0) {
        /* An iteration of a comprehension on a line outside of statements. */
        to->cost += to->weight;
        return;
    }
    first = frame->lines + (to->statement - 1);
    if (!same || step == LP_LINE_LOOP_BACK) {
        lp_recorder_end_statement(frame);
        frame->statement = first;
        frame->statement_ticks = 0;
        frame->hit_mask = 0;
        frame->last_hit = 0;
        if (to != first) {
            /* The statement begins inside: the first line gets a hit, but no
             * time, so the weight of that hit is taken off its cost again (see
             * lp_line_cost). */
            count_hit_once(frame, first, 0);
            first->cost -= first->weight;
        }
    }
    count_hit_once(frame, to, (uint32_t)(to - first));
}
