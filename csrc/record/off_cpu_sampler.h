/* What blocked threads are blocked in, seen from a thread beside them.
 *
 * A thread of our own, without Python, asks the system every few milliseconds
 * about each thread on which lines are open.  It begins at the first look of
 * off_cpu.h, sleeps while no line is open, and is not there while the
 * process forks: neither the child nor who counts threads then sees it.  It
 * has no file descriptors in common with the program, and takes no signals.
 *
 * Where the system does not tell, as beyond Linux, there is none.
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
