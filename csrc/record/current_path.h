/* The current call path of a thread: the path of its open lines.
 *
 * A line event does no work for it: each frame caches its last computed path
 * with the line that it was on, so a launch walks down only to the first frame
 * that is still on that line.  Another thread reads the frames as they are,
 * and reads them again if frames were added or removed meanwhile.
 */
#ifndef LP_RECORD_CURRENT_PATH_H
#define LP_RECORD_CURRENT_PATH_H

#include "record/call_paths.h"
#include "record/recorder.h"

/* The current path of another thread, as last read. */
typedef struct lp_adopted_path {
    const lp_recorder *rec; /* borrowed; NULL if none was read */
    uint32_t changes;
    uint32_t path;
    const lp_line *line;
} lp_adopted_path;

/* [OWNER] Return the path of this thread's open lines; LP_NO_PATH if none is
 * open. */
uint32_t lp_current_path(lp_recorder *rec, lp_call_paths *paths);

/* [ANY] Return the path, marked as adopted, of the lines that are open on
 * another thread; LP_NO_PATH if none is, or if it changes too fast to be read.
 */
uint32_t lp_current_path_of_thread(const lp_recorder *rec,
                                   lp_call_paths *paths,
                                   lp_adopted_path *known);

/* [ANY] True if the thread has open frames. */
static inline bool
lp_current_path_any(const lp_recorder *rec)
{
    return __atomic_load_n(&rec->top, __ATOMIC_RELAXED) !=
           __atomic_load_n(&rec->frames, __ATOMIC_RELAXED);
}

#endif
