/* The ranges of a thread: its frames, and within each the line that it is on,
 * as an annotation tool shows them.
 *
 * A tool keeps a stack of ranges for each thread, and only the thread itself
 * can push and pop.  Ours are those of the recorder's frames, outermost first:
 * `ranged` frames from the first on have theirs there, and on top of those
 * lie `owed` ranges of frames that are gone or have moved.  So any change is
 * two steps: take ranges off, which only counts them, under the interpreter's
 * lock and for any thread; and settle, which pops what is owed and pushes
 * what is missing.  A thread that is not here does that at its next event.
 *
 * Both numbers are 0 without a tool.  Of frames that share one Python
 * frame, the lowest that has labels is the range.
 */
#ifndef LP_GPU_NVTX_RANGES_H
#define LP_GPU_NVTX_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/recorder.h"

typedef enum lp_range_mode {
    LP_RANGES_OFF = 0,
    LP_RANGES_FUNCTIONS, /* a range for each frame, */
    LP_RANGES_LINES      /* and one inside it for the line it is on */
} lp_range_mode;

/* A range's payload is the code's serial number times this, plus the line;
 * that of a frame has the code's first line. */
enum { LP_PAYLOAD_LINES = 1000000 };

/* What the ranges of a code object are called.  Texts are the tool's, NULL
 * where a line has none. */
typedef struct lp_labels {
    uint32_t serial; /* of the code, see lp_layout */
    uint32_t n_lines;
    const void *function;
    const void *lines[]; /* by line */
} lp_labels;

/* New, without texts, for free(); NULL when memory is out. */
lp_labels *lp_labels_new(const lp_layout *layout);

/* The frame was just entered, and is a range of these labels. */
void lp_ranges_assign(lp_frame *frame, const lp_labels *labels,
                      lp_range_mode mode);

/* [OWNER] Make the tool's stack what the frames say. */
void lp_ranges_sync(lp_recorder *rec);

/* [OWNER] The frame, the lowest of those that share it, came to its line. */
void lp_ranges_line(lp_recorder *rec, lp_frame *frame);

/* Take off the ranges of this frame and of those above; settle next. */
void lp_ranges_remove(lp_recorder *rec, lp_frame *frame);

/* The same from the first of `owner` on, whose frames are dropped next. */
void lp_ranges_remove_owner(lp_recorder *rec, const void *owner);

/* The same of all frames, which are ranges no more. */
void lp_ranges_end(lp_recorder *rec);

/* Have a thread settle at the next event of each of its frames. */
void lp_ranges_mark_stale(lp_recorder *rec);

/* Has the thread ranges, or any to pop? */
static inline bool
lp_ranges_any(const lp_recorder *rec)
{
    return (rec->ranged | rec->unpopped) != 0;
}

#endif
