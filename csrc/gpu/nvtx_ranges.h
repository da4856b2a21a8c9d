/* The ranges of a thread, as an annotation tool shows them: its frames, and
 * inside each frame the line that it is on.
 *
 * A tool keeps a stack of ranges for each thread, and only the thread itself
 * can push and pop.  On that stack are the ranges of the first `ranged` frames
 * of the recorder, outermost first, and above them `unpopped` ranges of frames
 * that have been left or have moved.  So any change has two steps: removing
 * ranges, which only counts them, under the GIL and for any thread; and
 * synchronising, which pops unpopped ranges and pushes missing ones.  Another
 * thread synchronises at its next event.
 *
 * Both numbers are 0 without a tool.  Of frames that share one Python frame,
 * the lowest that has labels has the range.
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

/* Factor in the payload of a range, which is the code's serial times this,
 * plus the line; the range of a frame has the code's first line. */
enum { LP_PAYLOAD_LINES = 1000000 };

/* Labels of the ranges of a code object.  Strings belong to the tool, NULL for
 * a line without one. */
typedef struct lp_labels {
    uint32_t serial;   /* of the code, see lp_layout */
    uint32_t category; /* the same for all codes of a function */
    uint32_t color;    /* ARGB; 0: the tool chooses */
    uint32_t n_lines;
    const void *function;
    const void *lines[]; /* by line */
} lp_labels;

/* Return new labels without strings, to be freed by free(); NULL if memory is
 * out. */
lp_labels *lp_labels_new(const lp_layout *layout);

/* Give a frame that was just entered a range with these labels. */
void lp_ranges_assign(lp_frame *frame, const lp_labels *labels,
                      lp_range_mode mode);

/* [OWNER] Synchronise the tool's stack with the frames. */
void lp_ranges_sync(lp_recorder *rec);

/* [OWNER] The frame, the lowest of those that share it, came to its line. */
void lp_ranges_line(lp_recorder *rec, lp_frame *frame);

/* Remove the ranges of this frame and of those above; to be synchronised next.
 */
void lp_ranges_remove(lp_recorder *rec, lp_frame *frame);

/* The same from the first frame of `owner` on, whose frames are dropped next.
 */
void lp_ranges_remove_owner(lp_recorder *rec, const void *owner);

/* The same for all frames, which have no ranges from then on. */
void lp_ranges_end(lp_recorder *rec);

/* Have a thread synchronise at the next event of each of its frames. */
void lp_ranges_mark_stale(lp_recorder *rec);

/* True if the thread has ranges, or any to pop. */
static inline bool
lp_ranges_any(const lp_recorder *rec)
{
    return (rec->ranged | rec->unpopped) != 0;
}

#endif
