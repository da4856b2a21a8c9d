/* The current call path of a thread: the path of its open lines.
 *
 * The thread itself pays nothing for it at a line event: each frame keeps the
 * path that it had when it was last asked for, together with the line that
 * it was on, so a launch walks down only to the first frame whose line is
 * still that one.  Another thread reads the frames as they are, and again
 * where they came or went meanwhile.
 */
#ifndef LP_RECORD_CURRENT_PATH_H
#define LP_RECORD_CURRENT_PATH_H

#include "record/call_paths.h"
#include "record/recorder.h"

/* The current path of another thread, as it was last read. */
typedef struct lp_adopted_path {
    const lp_recorder *rec; /* borrowed; NULL: of none */
    uint32_t changes;
    uint32_t path;
    const lp_line *line;
} lp_adopted_path;

/* [OWNER] The path of this thread's open lines; LP_NO_PATH: none is. */
uint32_t lp_current_path(lp_recorder *rec, lp_call_paths *paths);

/* [ANY] The path, marked as adopted, of the lines that are open on another
 * thread; LP_NO_PATH where none is or it does not hold still. */
uint32_t lp_current_path_of_thread(const lp_recorder *rec,
                                   lp_call_paths *paths,
                                   lp_adopted_path *known);

/* [ANY] Is a line open there? */
static inline bool
lp_current_path_any(const lp_recorder *rec)
{
    return __atomic_load_n(&rec->top, __ATOMIC_RELAXED) !=
           __atomic_load_n(&rec->frames, __ATOMIC_RELAXED);
}

#endif
