/* Work of lineprof's own on a thread of the program, which may take long:
 * calls of Python from hooks, the start of the sampler, what is done around a
 * fork.
 *
 * None of it belongs to a line.  Processor time is charged as cost, like that
 * of events.  Time for which the work itself blocked, for a file or the GIL,
 * vanishes from all open lines and from their waits: they continue as if the
 * clock had stood still.  A thread that did not block and was off the
 * processor was preempted, as it would have been in the line: that time stays
 * the line's, and its wait.  So time, processor time and waits lose the same.
 * Memory that is allocated meanwhile belongs to no line: see memory/heap.h.
 */
#ifndef LP_RECORD_OWN_WORK_H
#define LP_RECORD_OWN_WORK_H

#include "record/recorder.h"

typedef struct lp_own_work {
    lp_recorder *rec;   /* borrowed; NULL: the thread has no lines */
    lp_ticks ticks;     /* when it began, */
    lp_ns wall, cpu;    /* on three clocks */
    uint64_t voluntary; /* context switches of the thread until then, */
    lp_ns system;       /* and its time in the kernel */
    uint64_t samples[LP_WAIT_CAUSES]; /* causes of the line's wait so far */
} lp_own_work;

/* What it took of each: see above. */
typedef struct lp_own_time {
    lp_ticks cost;
    lp_ticks hidden;
    lp_ns cpu_ns;
} lp_own_time;

/* State of a thread for memory/heap_path.h, in one struct, so that a hook
 * looks it up once. */
typedef struct lp_memory_here {
    uint32_t own_work;             /* depth of such work */
    uint32_t inside;               /* hooks that call the allocator below */
    struct lp_heap_thread *thread; /* borrowed, of the recorder; or NULL */
    int64_t until;                 /* bytes to the next sample */
    uint64_t random;
    uint32_t session; /* for which these two are valid */
    bool has_ended;   /* its recorder may be another thread's */
} lp_memory_here;

extern _Thread_local lp_memory_here lp_memory_of_thread;

/* [OWNER] `rec` is this thread's recorder, or NULL. */
void lp_own_work_begin(lp_own_work *self, lp_recorder *rec);

/* [OWNER] */
lp_own_time lp_own_work_end(const lp_own_work *self);

/* [OWNER] Charge `ticks` as cost, of work that takes less than a reading of
 * the clocks: what is beyond that is the line's, because then the thread was
 * preempted. */
static inline void
lp_own_work_was_short(lp_recorder *rec, lp_ticks ticks)
{
    lp_ticks max = __atomic_load_n(&rec->wait.threshold, __ATOMIC_RELAXED);

    rec->cost += (ticks < max ? ticks : max) * LP_COST_ONE;
}

#endif
