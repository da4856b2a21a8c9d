/* A tracer: the code objects that one profiler watches, and their counters.
 *
 * A tracer is active between start and stop, explicitly or for as long as a
 * decorated function runs.  The counters live in the tracer's arena and are
 * freed with it.
 *
 * If a tracer is enabled while frames of its code are running that another
 * tracer counts already, it gets a shared frame on each of these, and counts
 * from the next line on; frames that no tracer counts are entered at their
 * next event.  Under the GIL.
 */
#ifndef LP_ENGINE_TRACER_H
#define LP_ENGINE_TRACER_H

#include "engine/code.h"
#include "engine/engine.h"
#include "engine/python_compat.h"
#include "record/arena.h"

typedef struct lp_tracer {
    PyObject_HEAD
    lp_arena arena;
    lp_code **codes; /* owned, in order of registration */
    uint32_t n_codes;
    uint32_t capacity;
    PyObject *keys; /* owned list: the caller's key of each code */
    /* owned: see c_functions.h; NULL until the first call */
    struct lp_c_functions *c_functions;
    PyObject *canonical_index; /* owned dict: key -> index of the first code of
                                  that key */
    bool active;               /* counts now */
    bool stopped; /* was stopped while functions that activate it were running
                   */
    bool open;    /* is registered with the engine */
    uint32_t open_frames;
    Py_ssize_t count; /* calls of enable_by_count without a matching
                         disable_by_count */
} lp_tracer;

/* Start or stop counting.  Idempotent. */
void lp_tracer_start(lp_tracer *self);
void lp_tracer_stop(lp_tracer *self);

/* From now on a call of this code activates its tracer. */
void lp_tracer_activate_with(lp_code *code);

/* Register a code object; takes over `known`, its properties.  0, or -1 with
 * an exception. */
int lp_tracer_add(lp_tracer *self, PyObject *code, PyObject *key,
                  lp_code *known);

/* Stop counting this code; its counts are kept. */
void lp_tracer_ignore(lp_tracer *self, lp_code *code);

/* From now on count calls of this code without its lines, which costs less:
 * their time is on its first line.  False, with nothing done, if the hook
 * cannot do that, or another tracer counts the code. */
bool lp_tracer_count_calls(lp_tracer *self, lp_code *code);

/* Leave the engine and free all counters.  Idempotent. */
void lp_tracer_close(lp_tracer *self);

/* [GIL] Free the counters of closed tracers that were kept because the heap
 * was measured: a thread without the GIL may have been reading its open line.
 * To be called long after. */
void lp_tracer_free_retired(void);

/* Drop the slices of the tracer's codes from the trace buffers. */
void lp_tracer_forget_slices(const lp_tracer *self);

static inline void
lp_tracer_count_up(lp_tracer *self)
{
    if (self->count++ == 0) {
        lp_tracer_start(self);
    }
}

static inline void
lp_tracer_count_down(lp_tracer *self)
{
    if (self->count > 0 && --self->count == 0) {
        lp_tracer_stop(self);
    }
}

/* [GIL] Add shared frames for the tracer's code that is running, in every
 * thread. */
void lp_tracer_attach_running_frames(lp_tracer *tracer);

#endif
