#include "lp_join.h"

/* Is there a twin above it? */
static bool
is_below_a_twin(const lp_recorder *rec, const lp_frame *frame)
{
    return frame < rec->top && (frame[1].flags & LP_FRAME_TWIN);
}

/* Does the tracer count this frame, or a twin below it? */
static bool
is_counted(const lp_frame *frame, const lp_tracer *tracer)
{
    while (frame->owner != tracer && (frame->flags & LP_FRAME_TWIN)) {
        frame--;
    }
    return frame->owner == tracer;
}

static void
join_frame(lp_recorder *rec, const lp_frame *frame, lp_tracer *tracer,
           const lp_code *code)
{
    lp_counts *counts =
        lp_recorder_counts(rec, &tracer->blocks, &code->layout);
    lp_frame *twin = lp_recorder_insert(rec, frame, counts);

    if (twin != NULL) {
        twin->owner = tracer;
        tracer->open_frames++;
    }
}

void
lp_join(lp_tracer *tracer)
{
    for (lp_recorder *rec = lp_process.recorders; rec != NULL;
         rec = rec->next) {
        /* By place: frames move when there is no room for more. */
        for (size_t i = 1; i <= (size_t)(rec->top - rec->frames); i++) {
            const lp_frame *frame = rec->frames + i;
            const lp_code *code;

            if (is_below_a_twin(rec, frame) || is_counted(frame, tracer) ||
                (frame->flags & LP_FRAME_NATIVE)) {
                continue;
            }
            code = lp_code_find((PyObject *)(uintptr_t)frame->code, tracer);
            if (code != NULL) {
                join_frame(rec, frame, tracer, code);
                i++; /* the twin */
            }
        }
    }
}
