/* Stays in functions and on lines become slices as they end. */
#include "lp_recorder.h"

static void
add(lp_recorder *rec, lp_counts *counts, const lp_slice *slice)
{
    if (!lp_slices_add(&rec->slices, slice)) {
        counts->left_out++;
    }
}

static lp_slice
line_slice(const lp_frame *frame, lp_ticks now)
{
    return (lp_slice){.start = lp_recorder_opened(frame),
                      .end = now,
                      .serial = frame->serial,
                      .place = 1 + (uint32_t)(frame->line - frame->lines)};
}

static lp_slice
function_slice(const lp_frame *frame, lp_ticks now)
{
    return (lp_slice){
        .start = frame->began, .end = now, .serial = frame->serial};
}

/* Is the stay on the frame's line worth a slice?  A function of C has no lines
 * but one, see lp_natives.h. */
static bool
is_long(const lp_recorder *rec, const lp_frame *frame, const lp_slice *slice)
{
    return slice->end - slice->start >= rec->long_stay &&
           !(frame->flags & LP_FRAME_NATIVE);
}

void
lp_recorder_trace(lp_recorder *rec)
{
    rec->traced = lp_all_slices.on;
    rec->long_stay = lp_all_slices.long_stay;
    lp_wait_watch(rec);
}

void
lp_recorder_stay(lp_recorder *rec, const lp_frame *frame, lp_ticks now)
{
    lp_slice slice = line_slice(frame, now);

    if (is_long(rec, frame, &slice)) {
        add(rec, frame->counts, &slice);
    }
}

void
lp_recorder_slice(lp_recorder *rec, const lp_frame *frame, lp_ticks now)
{
    lp_slice slice = function_slice(frame, now);

    add(rec, frame->counts, &slice);
}

void
lp_recorder_open_slices(lp_recorder *rec, const void *owner, const void *code,
                        lp_ticks now, lp_slice_sink *sink, void *to)
{
    for (lp_frame *frame = rec->top; frame > rec->frames; frame--) {
        lp_slice slice;

        if (frame->line == NULL || (owner != NULL && frame->owner != owner) ||
            (code != NULL && frame->code != code)) {
            continue;
        }
        slice = line_slice(frame, now);
        if (is_long(rec, frame, &slice)) {
            sink(to, frame->counts, &slice);
        }
        slice = function_slice(frame, now);
        sink(to, frame->counts, &slice);
    }
}

static void
add_to(void *to, lp_counts *counts, const lp_slice *slice)
{
    add(to, counts, slice);
}

void
lp_recorder_end_slices(lp_recorder *rec, const void *owner, const void *code,
                       lp_ticks now)
{
    if (rec->traced) {
        lp_recorder_open_slices(rec, owner, code, now, add_to, rec);
    }
}
