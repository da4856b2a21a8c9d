/* Event sources (hooks): one struct of functions per source.
 *
 * A hook watches code objects from their registration on, and receives the
 * events of running ones while the engine is active.  [GIL]
 */
#ifndef LP_ENGINE_HOOK_H
#define LP_ENGINE_HOOK_H

#include "engine/python_compat.h"
#include "record/recorder.h"

typedef struct lp_hook {
    const char *name;
    /* Acquire what the interpreter gives to one user only.  0, or -1 with an
     * exception that names the current user. */
    int (*open)(PyObject *module);
    void (*close)(void);
    /* Deliver events of this code object from now on, or stop: `flags` are
     * those of its last lp_code.  0 or -1. */
    int (*watch)(PyObject *code);
    void (*unwatch)(PyObject *code, uint32_t flags);
    /* Deliver the start of every code object from now on, or of watched ones
     * only.  NULL if the hook always gets the start of all.  0 or -1. */
    int (*watch_all)(bool all);
    /* The first tracer became active, or the last one stopped.  Called for
     * every outermost call of a decorated function, so both must be cheap. */
    void (*start)(void);
    void (*stop)(void);
    /* Find frames that are already running, in any thread. */
    void (*scan_running_frames)(void);
    /* Return how many times other code removed the hook, and install it again
     * if it is removed now.  NULL if that cannot happen. */
    uint64_t (*displaced)(void);
    /* A greenlet of this thread is resumed, and has counted frames.  NULL if
     * its events come by themselves. */
    void (*switched)(lp_recorder *rec);
    /* It can deliver the calls of code without its lines. */
    bool has_calls_only;
    /* Description of the hook, shown with the reason for a choice. */
    const char *how;
    /* True if INSTRUCTION events may tell of lines, as no other tool is there
     * that has LINE events.  NULL if there are no INSTRUCTION events. */
    bool (*is_alone)(void);
} lp_hook;

#endif
