/* The off-CPU sampler: a thread that looks for the causes of waits.
 *
 * The sampler's thread runs no Python, and asks the system every few
 * milliseconds about each thread with open lines.  It begins at the first
 * long wait that off_cpu.h sees, sleeps while no line is open, and ends before
 * the process forks, so that neither the child nor a count of threads sees it.
 * It shares no file descriptors with the program, and takes no signals.
 *
 * Systems other than Linux do not tell what a thread waits for: there is no
 * sampler on them.
 */
#ifndef LP_RECORD_OFF_CPU_SAMPLER_H
#define LP_RECORD_OFF_CPU_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/off_cpu.h"

enum {
    LP_SAMPLER_OFF = 0, /* not wanted */
    LP_SAMPLER_WANTED,  /* it is to begin at the next look */
    LP_SAMPLER_AWAKE,
    LP_SAMPLER_ASLEEP,      /* no line is open */
    LP_SAMPLER_UNAVAILABLE, /* the system does not tell */
    LP_SAMPLER_ENDING
};

/* One of these (atomic). */
extern uint32_t lp_sampler_state;

/* Somebody waited of late (atomic): it is worth while to look more often. */
extern uint32_t lp_sampler_waited;

/* Watch the threads of a list of recorders, of which none is ever freed, from
 * the next look on.  Who waits for a word in [low, high) waits for the
 * interpreter's lock.  Idempotent. */
void lp_sampler_start(struct lp_recorder *const *recorders, uintptr_t low,
                      uintptr_t high);

/* No more: the thread has ended when this returns.  Idempotent. */
void lp_sampler_stop(void);

/* Does the system not tell what threads wait for? */
bool lp_sampler_is_unavailable(void);

/* The cause by the text of /proc/PID/task/TID/syscall; LP_WAIT_RUNNABLE: the
 * thread is not blocked. */
lp_cause lp_sampler_cause(const char *text, uintptr_t low, uintptr_t high);

void lp_sampler_begin(void);

/* [ANY] There is something to watch. */
static inline void
lp_sampler_wake(void)
{
    uint32_t state = __atomic_load_n(&lp_sampler_state, __ATOMIC_RELAXED);

    if (LP_UNLIKELY(state == LP_SAMPLER_WANTED ||
                    state == LP_SAMPLER_ASLEEP)) {
        lp_sampler_begin();
    }
}

#endif
