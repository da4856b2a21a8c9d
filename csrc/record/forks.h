/* Forks of this process: all that has to be done around one, in one order.
 *
 * Before the fork the sampler's thread ends, and the memory of the live file
 * is copied.  In the child the memory is parted from the parent's first,
 * before anything writes to it.  The time of all this belongs to no line of
 * the program (see own_work.h).
 */
#ifndef LP_RECORD_FORKS_H
#define LP_RECORD_FORKS_H

/* Watch forks from now on, for ever.  Idempotent. */
void lp_forks_watch(void);

/* Call this in forked children, last; once. */
void lp_forks_call_in_child(void (*follow)(void));

#endif
