/* Event sources (hooks): one struct of functions per source.
 *
 * A hook watches code objects from the moment that they are registered, and
 * receives the events of running ones while the engine is active.  [GIL]
 */
#ifndef LP_ENGINE_HOOK_H
#define LP_ENGINE_HOOK_H

#include "engine/python_compat.h"

typedef struct lp_hook {
    const char *name;
    /* Take what the interpreter has to be asked for.  0, or -1 with an
     * exception that says who holds it. */
    int (*open)(PyObject *module);
    void (*close)(void);
    /* Events of this code object from now on, or no more.  0 or -1. */
    int (*watch)(PyObject *code);
    void (*unwatch)(PyObject *code);
    /* Events of every code object's begin from now on, or of the watched ones'
     * alone.  NULL where all are heard of anyway.  0 or -1. */
    int (*watch_all)(bool all);
    /* The first tracer became active / the last one stopped.  Called for
     * every outermost call of a decorated function: must cost nothing. */
    void (*start)(void);
    void (*stop)(void);
    /* Look out for frames that run already, in any thread. */
    void (*scan_running_frames)(void);
    /* How many times somebody put it out of its place, which it takes again
     * if need be.  NULL where nobody can. */
    uint64_t (*displaced)(void);
    /* What it does, for the reason given with a choice. */
    const char *how;
} lp_hook;

#endif
