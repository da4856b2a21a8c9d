/* Python's allocators of memory, and hooks in front of them: they tell the
 * heap of each block, and call the allocator that was there before.
 *
 * The hooks may be called in any thread, with or without the GIL, while they
 * are set or removed.  Another tool that sets allocators after lineprof keeps
 * calling them: then they stay, and count nothing once they are off.
 */
#ifndef LP_HOOKS_PYTHON_ALLOCATORS_H
#define LP_HOOKS_PYTHON_ALLOCATORS_H

/* [GIL] Idempotent. */
void lp_python_allocators_on(void);

/* [GIL] Idempotent. */
void lp_python_allocators_off(void);

/* [GIL] Say what another tool has done to the hooks; NULL: nothing. */
const char *lp_python_allocators_note(void);

#endif
