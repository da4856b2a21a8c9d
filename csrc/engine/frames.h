/* Frames of counted code are entered and left: the usual case, which the hooks
 * inline, and a slow path for the rest.
 */
#ifndef LP_ENGINE_FRAMES_H
#define LP_ENGINE_FRAMES_H

#include "engine/engine.h"
#include "engine/tracer.h"
#include "record/calls.h"
#include "record/live_file.h"

/* [GIL] The slow path of lp_engine_enter. */
lp_frame *lp_engine_enter_slow(lp_recorder *rec, lp_code *code, lp_entry entry,
                               uint32_t line, const void *key, lp_ticks now);

/* [GIL] Leave the running frame of `code`, which returned or raised, or is
 * suspended if `suspended`. */
void lp_engine_leave(lp_recorder *rec, PyObject *code, const void *key,
                     bool suspended, lp_ticks now);

/* The cost of a step of a generator or coroutine. */
static inline uint32_t
lp_engine_step_cost(const lp_recorder *rec, const lp_code *code,
                    lp_entry entry)
{
    const lp_costs *costs = &rec->costs;
    uint32_t cost = costs->resume;

    if (entry == LP_CALLED) {
        cost = code->flags & LP_CODE_CALLED_BY_INSTRUCTION
                   ? costs->start_by_instruction
                   : costs->start;
    }
    if (rec->top != rec->frames && !code->layout.awaits) {
        cost += rec->top->starts != NULL ? costs->consumed_by_instruction
                                         : costs->consumed;
    }
    return cost;
}

static inline uint32_t
lp_engine_entry_cost(const lp_recorder *rec, const lp_code *code,
                     lp_entry entry)
{
    if (LP_UNLIKELY(code->flags & LP_CODE_AWAITED_SLOWLY) &&
        entry == LP_CALLED && rec->top->counters != NULL &&
        (rec->top->counters->awaits & LP_AWAITS)) {
        return rec->costs.call + rec->costs.awaited;
    }
    if (entry != LP_CALLED || (code->flags & LP_CODE_GENERATOR)) {
        return lp_engine_step_cost(rec, code, entry);
    }
    return code->flags & LP_CODE_CALLED_BY_INSTRUCTION
               ? rec->costs.call_by_instruction
               : rec->costs.call;
}

/* The open line of the top frame, if that runs the code, has come to itself
 * by a jump, whose event costs more than the one that the line is charged
 * with. */
static inline void
lp_engine_charge_jump(lp_recorder *rec, const lp_code *code)
{
    lp_frame *frame = rec->top;
    uint32_t cost = code->layout.by_instruction
                        ? rec->costs.jump_by_instruction
                        : rec->costs.jump;

    if (frame->code == code->code && frame->line != NULL &&
        frame->line->weight < cost) {
        uint32_t more = cost - frame->line->weight;

        frame->line->cost += more;
        frame->self_cost += more;
    }
}

/* Count the call or the step of a frame that was just entered, and open its
 * line, if it is on one. */
LP_INLINE void
lp_engine_begin_frame(lp_recorder *rec, const lp_code *code, lp_frame *frame,
                      lp_entry entry, uint32_t line, lp_ticks now)
{
    bool calls_only = code->flags & LP_CODE_CALLS_ONLY;
    uint32_t offset = calls_only ? 0 : line - frame->first_line;

    frame->owner = code->tracer;
    lp_code_give_starts(code, frame);
    code->tracer->open_frames++;
    frame->flags |= lp_code_frame_flags(code);
    if (LP_UNLIKELY(calls_only)) {
        frame->flags |= LP_FRAME_CALLS_ONLY;
    }
    if (entry == LP_CALLED) {
        lp_calls_called(rec, frame);
        if (LP_UNLIKELY(calls_only)) {
            lp_recorder_open(rec, frame, frame->lines,
                             lp_clock_now(&rec->clock));
        }
        return;
    }
    (void)lp_calls_enter(rec, frame);
    frame->counters->resumes++;
    if (entry == LP_RESUMED && offset < frame->n_lines) {
        lp_recorder_open(rec, frame, frame->lines + offset, now);
    }
}

/* True if one tracer counts the code on this thread already, and nothing else
 * has to be done at the entry of a frame. */
LP_INLINE bool
lp_engine_is_usual(const lp_recorder *rec, const lp_code *code, lp_entry entry)
{
    const lp_tracer *tracer = code->tracer;
    uint32_t id = code->layout.code_id;

    return code->next == NULL && !(code->flags & LP_CODE_IGNORED) &&
           tracer->active &&
           (!(code->flags & LP_CODE_ACTIVATES_TRACER) || tracer->count > 0) &&
           (entry == LP_CALLED ||
            (entry == LP_RESUMED && !lp_layout_keeps_state(&code->layout))) &&
           id < rec->n_counters && rec->counters[id] != NULL &&
           rec->top != rec->last && rec->unpopped == 0 &&
           !lp_the_engine.greenlets && !lp_the_engine.paused &&
           lp_the_engine.ranges == LP_RANGES_OFF && *lp_live_same_process != 0;
}

/* [GIL] Enter the frame `key` of `code` at `now`; `line` is the line it is on
 * if it is resumed.  Returns the new top frame, or NULL if no tracer counts
 * it. */
LP_INLINE lp_frame *
lp_engine_enter(lp_recorder *rec, lp_code *code, lp_entry entry, uint32_t line,
                const void *key, lp_ticks now)
{
    lp_frame *frame;

    if (LP_UNLIKELY(!lp_engine_is_usual(rec, code, entry))) {
        return lp_engine_enter_slow(rec, code, entry, line, key, now);
    }
    rec->cost += lp_engine_entry_cost(rec, code, entry);
    frame =
        lp_recorder_enter(rec, code->code, rec->counters[code->layout.code_id],
                          code->layout.first_line);
    frame->key = key;
    if (code->flags & LP_CODE_ACTIVATES_TRACER) {
        code->tracer->count++;
        frame->flags |= LP_FRAME_ACTIVATES_TRACER;
    }
    lp_engine_begin_frame(rec, code, frame, entry, line, now);
    return frame;
}

/* Flags of a frame that is left in an unusual way. */
enum {
    LP_FRAME_LEFT_SLOWLY = LP_FRAME_SHARED | LP_FRAME_GREENLET |
    LP_FRAME_C_FUNCTION
};

/* [GIL] The same in the usual case, for a frame that is the top one if that
 * runs the same code; false, with nothing done, in another case. */
LP_INLINE bool
lp_engine_leave_top(lp_recorder *rec, PyObject *code, bool suspended,
                    lp_ticks now)
{
    lp_frame *frame = rec->top;
    lp_tracer *tracer = frame->owner;

    if (LP_UNLIKELY(frame->code != code ||
                    (frame->flags & LP_FRAME_LEFT_SLOWLY) ||
                    lp_ranges_any(rec) || *lp_live_same_process == 0)) {
        return false;
    }
    if (suspended && frame->line != NULL &&
        ((frame->counters->awaits & LP_AWAITS) ||
         frame->line->statement != 0)) {
        return false; /* it has state to keep */
    }
    lp_calls_leave(rec, frame, suspended, now);
    tracer->open_frames--;
    if (frame->flags & LP_FRAME_ACTIVATES_TRACER) {
        lp_tracer_count_down(tracer);
    }
    return true;
}

#endif
