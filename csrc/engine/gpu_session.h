/* The one GPU session of the process: a backend and the activity it records.
 *
 * The session is opened when the first profiler asks for it, and kept, because
 * a vendor's library allows one session per process.  A forked child has none,
 * because the records belong to the parent.  The session also determines to
 * which call path a call of the device's API is charged.
 */
#ifndef LP_ENGINE_GPU_SESSION_H
#define LP_ENGINE_GPU_SESSION_H

#include <stdint.h>

#include "gpu/backend.h"
#include "record/call_paths.h"

typedef struct lp_gpu_session {
    const lp_gpu_backend *backend; /* NULL if none is open */
    lp_activity *activity; /* owned; NULL until the first backend is opened */
    lp_ns opened;          /* time of opening, on CLOCK_MONOTONIC */
    bool forked; /* true in a child forked while the session was open */
    const lp_gpu_backend *inherited; /* the parent's, in such a child */
} lp_gpu_session;

extern lp_gpu_session lp_the_gpu_session;

/* [GIL] Open a backend if none is open; false with the reason in `why`.
 * Releases the GIL while the backend opens. */
bool lp_gpu_session_open(const char *backend, const lp_gpu_options *options,
                         size_t events, char why[LP_GPU_WHY]);

/* [GIL] Wait for the device and read its records; releases the GIL.  `last`:
 * the program has ended, so that work that still runs is given up. */
void lp_gpu_session_flush(bool last);

/* [GIL] Ask for the records that are complete; releases the GIL, and waits for
 * no device.  They come a moment later. */
void lp_gpu_session_deliver(void);

/* [GIL] Stop recording; releases the GIL. */
void lp_gpu_session_close(void);

/* [ANY] Switch collection on or off. */
void lp_gpu_session_collect(bool on);

/* [ANY] Return the call path of the lines that are open on this thread.  A
 * thread without open lines, such as a worker of a library, has the call path
 * of the only thread with open lines; LP_NO_PATH if there are none or several.
 * Calls no Python, and takes a lock only for a new path. */
uint32_t lp_gpu_session_current_path(lp_call_paths *paths);

#endif
