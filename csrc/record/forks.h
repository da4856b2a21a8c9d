/* Forks of this process: all that has to be done around one, in one order.
 *
 * Before the fork the sampler's thread ends, no thread is adding a call path
 * (which may need a block of the live file), and the memory of the file is
 * copied.  In the child the memory is
 * parted from the parent's first, before anything writes to it.  The time of
 * all this belongs to no line of the program (see own_work.h).
 */
#ifndef LP_RECORD_FORKS_H
#define LP_RECORD_FORKS_H

/* Watch forks from now on, for ever.  Idempotent. */
void lp_forks_watch(void);

/* Call this in forked children, in order of these calls, after all else.
 * Idempotent; there are few. */
void lp_forks_call_in_child(void (*follow)(void));

#endif
