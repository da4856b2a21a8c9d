/* The off-CPU sampler: a thread that finds the causes of waits.
 *
 * The sampler's thread runs no Python, and asks the system every few
 * milliseconds for the state of each thread with open lines.  It begins before
 * the first line of a program is opened, sleeps while no line is open, and
 * ends before the process forks, so that neither the child nor a count of
 * threads sees it; in the parent it begins anew when clocks are next read.  It
 * shares no file descriptors with the program, and takes no signals.
 *
 * Systems other than Linux do not show the cause of a wait and have no
 * sampler.
 */
#ifndef LP_RECORD_OFF_CPU_SAMPLER_H
#define LP_RECORD_OFF_CPU_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/off_cpu.h"

enum {
    LP_SAMPLER_OFF = 0, /* not wanted */
    LP_SAMPLER_WANTED, /* begins with a tracer, or when clocks are next read */
    LP_SAMPLER_STARTING,
    LP_SAMPLER_AWAKE,
    LP_SAMPLER_ASLEEP,      /* no line is open */
    LP_SAMPLER_UNAVAILABLE, /* the system does not show causes */
    LP_SAMPLER_ENDING
};

/* The state, one of these (atomic). */
extern uint32_t lp_sampler_state;

/* True if a thread waited recently, so that it is worth while to sample more
 * often (atomic). */
extern uint32_t lp_sampler_waited;

/* Sample the threads of a list of recorders, none of which is ever freed, once
 * lp_sampler_begin is called.  A thread that waits for a futex in [low,
 * high) waits for the GIL.  Idempotent. */
void lp_sampler_start(struct lp_recorder *const *recorders, uintptr_t low,
                      uintptr_t high);

/* Stop sampling: the thread has ended on return.  Idempotent. */
void lp_sampler_stop(void);

/* True if the system does not show what threads wait for. */
bool lp_sampler_is_unavailable(void);

/* Return the cause from the text of /proc/PID/task/TID/syscall;
 * LP_WAIT_RUNNABLE if the thread is not blocked. */
lp_cause lp_sampler_cause(const char *text, uintptr_t low, uintptr_t high);

/* [ANY] Begin, if that is wanted: the thread runs on return, unless it gets no
 * processor for long. */
void lp_sampler_begin(void);

/* [ANY] Wake the sampler up, which is asleep. */
void lp_sampler_wake_up(void);

/* [ANY] End the thread, which has ended on return; it begins anew when clocks
 * are next read. */
void lp_sampler_pause(void);

/* Around a fork, see forks.h. */
void lp_sampler_before_fork(void);
void lp_sampler_after_fork(void);
void lp_sampler_after_fork_in_child(void);

/* [ANY] True if the sampler is to begin. */
static inline bool
lp_sampler_is_wanted(void)
{
    return __atomic_load_n(&lp_sampler_state, __ATOMIC_RELAXED) ==
           LP_SAMPLER_WANTED;
}

/* [ANY] Wake the sampler, because a line is open. */
static inline void
lp_sampler_wake(void)
{
    if (LP_UNLIKELY(__atomic_load_n(&lp_sampler_state, __ATOMIC_RELAXED) ==
                    LP_SAMPLER_ASLEEP)) {
        lp_sampler_wake_up();
    }
}

#endif
