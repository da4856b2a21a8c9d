/* The one engine of the process: recorders, code objects, the hook in use.
 *
 * All tracers share the engine, because the interpreter has one place for a
 * trace function, one for a frame evaluator, and few tool ids.  The engine is
 * static, not module state, because neither a trace function nor a frame
 * evaluator is handed a pointer of its own.  [GIL]
 *
 * The first tracer of the process opens the hook, the last one closes it. Both
 * call Python, where other threads run: a thread that opens or closes a tracer
 * meanwhile waits until that is done.
 */
#ifndef LP_ENGINE_ENGINE_H
#define LP_ENGINE_ENGINE_H

#include "engine/code.h"
#include "engine/hook.h"
#include "engine/threads.h"
#include "gpu/nvtx_ranges.h"
#include "record/recorder.h"
#include "record/suspended_frames.h"

typedef struct lp_engine {
    lp_clock clock;
    lp_costs costs;
    const lp_hook *hook;    /* in use; NULL while there is no tracer */
    lp_recorder *recorders; /* owned list, one a thread, oldest first */
    uint32_t n_recorders;
    lp_code *
        *codes; /* owned array, borrowed entries: by code id; NULL: free */
    uint32_t n_codes;
    uint32_t n_serials; /* given out so far */
    lp_suspended suspended;
    uint32_t tracers; /* that exist */
    uint32_t active;  /* reasons for events: tracers that count just now, and
                       * codes that enable theirs */
    bool greenlets;   /* frames of one thread take turns (greenlets) */
    bool paused;      /* collection is off: nothing is counted (atomic) */
    lp_range_mode ranges; /* which are made of frames that are entered */
} lp_engine;

extern lp_engine lp_the_engine;

/* [GIL] A free code id for `code`.  False with an exception. */
bool lp_engine_add_code(lp_code *code);

void lp_engine_drop_code(lp_code *code);

/* [GIL] New event costs, for recorders and counters made from now on. */
void lp_engine_set_costs(const lp_costs *costs);

/* [GIL] Another clock, for all recorders. */
void lp_engine_set_clock(const lp_clock *clock);

/* [GIL] Ranges were taken off: put them right, on another thread later. */
void lp_engine_sync_ranges(lp_recorder *rec);

/* [GIL] One reason more, or less, for the hook to deliver events. */
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

/* [GIL] Switch collection off, or on again: lines that are open end now, and
 * count again from the next one on. */
void lp_engine_pause(bool paused);

/* [ANY] The same, as a call of this thread asks for it that may hold no lock:
 * its lines end at its next event, and on other threads the frames that are
 * open are counted to their end. */
void lp_engine_pause_here(bool paused);

/* The ways in which a frame comes to run. */
typedef enum lp_entry {
    LP_CALLED,  /* it begins */
    LP_RESUMED, /* it goes on after a yield or an await */
    LP_LATE     /* it ran already when its code was registered */
} lp_entry;

/* [GIL] The frame `key` of `code` runs from `now` on; `line` is where, for a
 * resumed one.  The new top frame, or NULL when nobody counts it. */
lp_frame *lp_engine_enter(lp_recorder *rec, lp_code *code, lp_entry entry,
                          uint32_t line, const void *key, lp_ticks now);

/* [GIL] The running frame of `code` stops: it returned, raised, or, when
 * `suspended`, waits to be resumed. */
void lp_engine_leave(lp_recorder *rec, PyObject *code, const void *key,
                     bool suspended, lp_ticks now);

/* [GIL] Leave whatever is open above `depth` frames. */
void lp_engine_leave_to(lp_recorder *rec, Py_ssize_t depth, lp_ticks now);

/* [GIL] A line event that the fast path did not take. */
void lp_engine_line(lp_recorder *rec, PyObject *code, const void *key,
                    uint32_t line, lp_line_entry line_entry, lp_ticks now);

/* [GIL] An event of the line that is open, which goes on: no more than what
 * the event itself took. */
static inline void
lp_engine_same_line(lp_frame *frame)
{
    frame->self_cost += frame->line->weight;
    frame->line->cost += frame->line->weight;
}

/* [GIL] The open frame, or NULL. */
lp_frame *lp_engine_frame(lp_recorder *rec, PyObject *code, const void *key);

/* [GIL] One more: with this hook, and the clock that a capsule
 * gives, or for None the one of that name.  `module` is the C module.  0 or
 * -1 with an exception. */
int lp_engine_acquire(const lp_hook *hook, PyObject *clock,
                      const char *clock_name, PyObject *module);

/* [GIL] One less. */
void lp_engine_release(void);

/* [GIL] The costs of events are known, or are to be: from the former on, look
 * at what blocks threads.  Nobody is to be there while costs are measured, and
 * a test's clock has none. */
void lp_engine_watch_waits(void);

/* [GIL] There is none any more. */
void lp_engine_unwatch_waits(void);

#endif
