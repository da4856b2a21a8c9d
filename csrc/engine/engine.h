/* The one engine of the process: recorders, code objects, the hook in use.
 *
 * All tracers share the engine, because the interpreter has one place for a
 * trace function, one for a frame evaluator, and few tool ids.  The engine is
 * static, not module state, because neither a trace function nor a frame
 * evaluator gets a pointer of its own from the interpreter.  [GIL]
 *
 * The first tracer of the process opens the hook, the last one closes it.
 * Both call Python, which may release the GIL; a thread that wants to open or
 * close a tracer in the meantime waits.
 */
#ifndef LP_ENGINE_ENGINE_H
#define LP_ENGINE_ENGINE_H

#include "engine/code.h"
#include "engine/hook.h"
#include "engine/threads.h"
#include "gpu/nvtx_ranges.h"
#include "record/call_tree.h"
#include "record/recorder.h"
#include "record/suspended_frames.h"

typedef struct lp_engine {
    lp_clock clock;
    lp_costs costs;
    lp_line_event line_event; /* the wish for code registered from now on */
    const lp_hook *hook;      /* in use; NULL while there is no tracer */
    lp_recorder *recorders;   /* owned list, one per thread, oldest first */
    uint32_t n_recorders;
    lp_code **codes; /* owned array of borrowed entries, by code id; a NULL
                        entry is free */
    uint32_t n_codes;
    uint32_t n_serials; /* the last serial given to a code */
    lp_suspended suspended;
    lp_call_room room; /* of the call trees of all recorders */
    uint32_t tracers;  /* tracers that exist */
    uint32_t active;   /* reasons to deliver events: active tracers, and codes
                          that activate their tracer */
    bool greenlets;    /* threads may switch greenlets, see greenlets.h */
    bool paused;       /* collection is off (atomic) */
    lp_range_mode ranges; /* NVTX ranges of frames entered from now on */
} lp_engine;

extern lp_engine lp_the_engine;

/* [GIL] Give `code` a free id and a new serial.  False with an exception. */
bool lp_engine_add_code(lp_code *code);

void lp_engine_drop_code(lp_code *code);

/* [GIL] Set the costs of events, for recorders and counters made from now on.
 */
void lp_engine_set_costs(const lp_costs *costs);

/* [GIL] Return the choice of events for a code object, of which `first` is the
 * first lp_code, or NULL: all tracers of a code object share its events. */
lp_line_events lp_engine_line_events(const lp_code *first);

/* [GIL] Set the clock of all recorders. */
void lp_engine_set_clock(const lp_clock *clock);

/* [GIL] Ranges were removed from the recorder: update the tool, now if the
 * recorder is this thread's, otherwise at the thread's next event. */
void lp_engine_sync_ranges(lp_recorder *rec);

/* [GIL] Add or remove a reason for the hook to deliver events. */
static inline void
lp_engine_activate(void)
{
    if (lp_the_engine.active++ == 0 && lp_the_engine.hook->start != NULL) {
        lp_the_engine.hook->start();
    }
}

static inline void
lp_engine_deactivate(void)
{
    if (--lp_the_engine.active == 0 && lp_the_engine.hook->stop != NULL) {
        lp_the_engine.hook->stop();
    }
}

/* [GIL] Pause or resume collection.  When it is paused, open lines end; when
 * it is resumed, each frame counts again from its next line on. */
void lp_engine_pause(bool paused);

/* [ANY] The same, from a call of this thread that may not hold the GIL: the
 * lines of this thread end at its next event, and on other threads the frames
 * that are open are counted to their end. */
void lp_engine_pause_here(bool paused);

/* Kinds of entry into a frame. */
typedef enum lp_entry {
    LP_CALLED,  /* it begins */
    LP_RESUMED, /* it continues after a yield or an await */
    LP_LATE     /* it was already running when its code was registered */
} lp_entry;

/* [GIL] Leave one frame, which did not end by an event. */
void lp_engine_leave_frame(lp_recorder *rec, lp_frame *frame, lp_ticks now);

/* [GIL] Leave all frames above `depth` frames. */
void lp_engine_leave_to(lp_recorder *rec, Py_ssize_t depth, lp_ticks now);

/* [GIL] Record a line event that the fast path did not handle. */
void lp_engine_line(lp_recorder *rec, PyObject *code, const void *key,
                    uint32_t line, lp_line_entry line_entry, lp_ticks now);

/* [GIL] Record another event of the open line, which is no new hit: only the
 * cost of the event is counted. */
static inline void
lp_engine_same_line(lp_frame *frame)
{
    frame->self_cost += frame->line->weight;
    frame->line->cost += frame->line->weight;
}

/* [GIL] Return the open frame of `code` and `key`, or NULL. */
lp_frame *lp_engine_frame(lp_recorder *rec, PyObject *code, const void *key);

/* [GIL] Add a tracer, which uses this hook, and the clock in a capsule or, if
 * `clock` is None, the clock of that name.  `module` is the C module.  0 or -1
 * with an exception. */
int lp_engine_acquire(const lp_hook *hook, PyObject *clock,
                      const char *clock_name, PyObject *module);

/* [GIL] Remove a tracer. */
void lp_engine_release(void);

/* [GIL] The sampler of off-CPU time is wanted from now on if the costs of
 * events are set and waits are measured, and begins with the first tracer that
 * starts; otherwise it stops: none may run while costs are measured, and with
 * a test's clock costs are 0. */
void lp_engine_watch_waits(void);

/* [GIL] Begin the sampler, which is wanted. */
void lp_engine_begin_sampler(void);

/* [GIL] Stop the sampler of off-CPU time. */
void lp_engine_unwatch_waits(void);

#endif
