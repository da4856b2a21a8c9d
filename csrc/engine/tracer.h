/* A tracer: the code objects that one profiler watches, and their counters.
 *
 * It is active between start and stop, explicitly or for as long as a
 * decorated function runs.  The counters live in its arena and go with it.
 *
 * A tracer that is enabled in the middle of frames which another one counts
 * already gets a shared frame on each that runs code of its own, and counts
 * from the next line on; frames that nobody counts are met at their next
 * event.  Under the interpreter's lock.
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
    PyObject *keys; /* owned list: what the caller calls each code */
    struct lp_c_functions
        *c_functions; /* owned: functions of C, see c_functions.h */
    PyObject
        *canonical_index; /* owned dict: key -> index of the first such code */
    bool active;          /* counts just now */
    bool stopped; /* was told to stop, while functions that enable it ran */
    bool open;    /* is one of the engine's tracers */
    uint32_t open_frames;
    Py_ssize_t count; /* of enable_by_count without its counterpart */
} lp_tracer;

/* Count from now on / no more.  Idempotent. */
void lp_tracer_start(lp_tracer *self);
void lp_tracer_stop(lp_tracer *self);

/* Calls of it enable its tracer from now on. */
void lp_tracer_activate_with(lp_code *code);

/* Register a code object.  0, or -1 with an exception. */
int lp_tracer_add(lp_tracer *self, PyObject *code, PyObject *key,
                  lp_code *known);

/* Count this code of ours no more; what was counted is kept. */
void lp_tracer_ignore(lp_tracer *self, lp_code *code);

/* Leave the engine; every counter goes.  Idempotent. */
void lp_tracer_close(lp_tracer *self);

/* Forget the slices of our codes. */
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

/* [GIL] Attach to the frames that are open, in every thread. */
void lp_tracer_attach_running_frames(lp_tracer *tracer);

#endif
