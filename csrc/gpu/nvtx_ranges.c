#include "gpu/nvtx_ranges.h"

#include <stdlib.h>

#include "gpu/nvtx.h"
#include "record/own_work.h"

lp_labels *
lp_labels_new(const lp_layout *layout)
{
    lp_labels *labels =
        calloc(1, sizeof(*labels) + layout->n_lines * sizeof(void *));

    if (labels != NULL) {
        labels->serial = layout->serial;
        labels->category = layout->serial;
        labels->n_lines = layout->n_lines;
    }
    return labels;
}

void
lp_ranges_assign(lp_frame *frame, const lp_labels *labels, lp_range_mode mode)
{
    if (mode == LP_RANGES_OFF) {
        return;
    }
    frame->labels = labels;
    frame->ranges = 0;
    frame->flags |= LP_FRAME_RANGED;
    if (mode == LP_RANGES_LINES) {
        frame->flags |= LP_FRAME_LINES;
    }
}

static void
push(const lp_frame *frame, const void *text, uint32_t offset)
{
    const lp_labels *labels = frame->labels;
    uint64_t payload = (uint64_t)labels->serial * LP_PAYLOAD_LINES;

    lp_gpu_nvtx_push(text, payload + frame->first_line + offset,
                     labels->category, labels->color);
}

/* Push the missing ranges of a frame that has ranges. */
static void
push_frame(lp_frame *frame)
{
    const lp_labels *labels = frame->labels;

    if (frame->ranges == 0) {
        push(frame, labels->function, 0);
        frame->ranges = 1;
    }
    if (frame->ranges == 1 && frame->line != NULL &&
        (frame->flags & LP_FRAME_LINES)) {
        uint32_t offset = (uint32_t)(frame->line - frame->lines);

        push(frame, offset < labels->n_lines ? labels->lines[offset] : NULL,
             offset);
        frame->ranges = 2;
    }
}

/* True if the frame has ranges (none while collection is off). */
static bool
is_range(const lp_frame *frame)
{
    return (frame->flags & LP_FRAME_RANGED) &&
           !(frame->flags & LP_FRAME_PAUSED);
}

static bool
has_ranges(const lp_frame *frame)
{
    return (frame->flags & LP_FRAME_RANGED) && frame->ranges != 0;
}

/* True if ranges of this frame, or of one below that it shares, are pushed. */
static bool
has_open_ranges(const lp_frame *frame)
{
    while (!has_ranges(frame) && (frame->flags & LP_FRAME_SHARED)) {
        frame--;
    }
    return has_ranges(frame);
}

void
lp_ranges_sync(lp_recorder *rec)
{
    lp_ticks before = lp_clock_now(&rec->clock);
    lp_frame *frame = rec->frames + rec->ranged;
    bool shown = has_open_ranges(frame);

    for (; rec->unpopped != 0; rec->unpopped--) {
        lp_gpu_nvtx_pop();
    }
    while (frame < rec->top) {
        frame++;
        shown = shown && (frame->flags & LP_FRAME_SHARED);
        if (!shown && is_range(frame)) {
            push_frame(frame);
            shown = true;
        }
    }
    rec->ranged = (uint32_t)(rec->top - rec->frames);
    /* The tool's time is a cost, not time of the program. */
    lp_own_work_was_short(rec, lp_clock_now(&rec->clock) - before);
}

void
lp_ranges_remove(lp_recorder *rec, lp_frame *frame)
{
    uint32_t below = (uint32_t)(frame - rec->frames) - 1;

    for (; rec->ranged > below; rec->ranged--) {
        lp_frame *last = rec->frames + rec->ranged;

        if (has_ranges(last)) {
            rec->unpopped += last->ranges;
            last->ranges = 0;
        }
    }
}

void
lp_ranges_line(lp_recorder *rec, lp_frame *frame)
{
    while (frame < rec->top && !(frame->flags & LP_FRAME_RANGED) &&
           (frame[1].flags & LP_FRAME_SHARED)) {
        frame++;
    }
    if ((frame->flags & LP_FRAME_RANGED) &&
        rec->frames + rec->ranged >= frame) {
        lp_ranges_remove(rec, frame + 1);
        if (frame->ranges == 2) {
            frame->ranges = 1;
            rec->unpopped++;
        }
        rec->ranged--;
    }
    lp_ranges_sync(rec);
}

void
lp_ranges_remove_owner(lp_recorder *rec, const void *owner)
{
    uint32_t without_ranges =
        0; /* frames of `owner` without ranges, which leave nothing to pop */

    for (uint32_t i = 1; i <= rec->ranged; i++) {
        lp_frame *frame = rec->frames + i;

        if (frame->owner == owner) {
            if (has_ranges(frame)) {
                lp_ranges_remove(rec, frame);
                break;
            }
            without_ranges++;
        }
    }
    rec->ranged -= without_ranges;
}

void
lp_ranges_end(lp_recorder *rec)
{
    lp_ranges_remove(rec, rec->frames + 1);
    for (lp_frame *frame = rec->frames + 1; frame <= rec->top; frame++) {
        frame->flags &= ~(uint32_t)(LP_FRAME_RANGED | LP_FRAME_LINES);
    }
}

void
lp_ranges_mark_stale(lp_recorder *rec)
{
    for (lp_frame *frame = rec->frames + 1; frame <= rec->top; frame++) {
        frame->flags |= LP_FRAME_RANGES_STALE;
    }
}
