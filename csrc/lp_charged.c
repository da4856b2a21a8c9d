#include "lp_charged.h"

#include "lp_engine.h"
#include "lp_open_lines.h"
#include "lp_threads.h"

/* The only thread on which lines are open, or NULL. */
static const lp_recorder *
only_open(void)
{
    const lp_recorder *found = NULL;
    const lp_recorder *rec =
        __atomic_load_n(&lp_process.recorders, __ATOMIC_ACQUIRE);

    while (rec != NULL) {
        if (lp_open_lines_any(rec) &&
            !__atomic_load_n(&rec->finished, __ATOMIC_RELAXED)) {
            if (found != NULL) {
                return NULL;
            }
            found = rec;
        }
        rec = __atomic_load_n(&rec->next, __ATOMIC_ACQUIRE);
    }
    return found;
}

uint32_t
lp_charged_path(lp_paths *paths)
{
    static _Thread_local lp_other_lines adopted;
    const lp_recorder *other;

    if (lp_here != NULL && lp_open_lines_any(lp_here)) {
        return lp_open_lines_path(lp_here, paths);
    }
    other = only_open();
    return other == NULL ? LP_NO_PATH
                         : lp_open_lines_of_other(other, paths, &adopted);
}
