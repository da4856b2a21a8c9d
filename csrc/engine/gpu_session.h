/* The one device session of the process: a backend and the activity it
 * records.
 *
 * Opened when the first profiler asks for it, and kept: a second session
 * with a vendor's tool is one too many.  In a forked child there is none,
 * for the records are the parent's.  It also tells which call path a call of
 * the device's API is charged to.
 */
#ifndef LP_ENGINE_GPU_SESSION_H
#define LP_ENGINE_GPU_SESSION_H

#include <stdint.h>

#include "gpu/backend.h"
#include "record/call_paths.h"

typedef struct lp_gpu_session {
    const lp_gpu_backend *backend; /* NULL: none is open */
    lp_activity *activity;         /* owned; NULL as long */
    lp_ns opened;                  /* when, on CLOCK_MONOTONIC */
    bool forked;                   /* the parent has it */
} lp_gpu_session;

extern lp_gpu_session lp_the_gpu_session;

/* [GIL] Open a backend, if none is; false and why not.  The lock is given
 * back meanwhile. */
bool lp_gpu_session_open(const char *backend, const lp_gpu_options *options,
                         size_t events, char why[LP_GPU_WHY]);

/* [GIL] Wait for the device and take its records; gives the lock back. */
void lp_gpu_session_flush(void);

/* [GIL] Take no more records. */
void lp_gpu_session_close(void);

/* [ANY] Switch collection on or off. */
void lp_gpu_session_collect(bool on);

/* [ANY] The lines that are open on this thread; on a thread that has none,
 * as the workers of a library, those of the one thread that has some; else
 * LP_NO_PATH.  Calls no Python and takes no lock but for a new path. */
uint32_t lp_gpu_session_current_path(lp_call_paths *paths);

#endif
