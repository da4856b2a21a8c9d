/* The exit of a forked child in which a vendor's library does not work.
 *
 * The threads of such a library do not exist in the child.  If one of its exit
 * handlers or destructors waits for them, the child would never end.  So from
 * the first exit handler on a thread looks at the one that exits; if that one
 * has waited for a thread inside the library for some time, the looking thread
 * flushes stdio and ends the process with its status.  All other exit handlers
 * run as ever, however long they take.
 *
 * Where the C library has no on_exit, or the kernel does not show where a
 * thread is blocked, nothing is done.
 */
#ifndef LP_GPU_CHILD_EXIT_H
#define LP_GPU_CHILD_EXIT_H

#include <stdint.h>

/* Watch exits for the library that has the function at this address.  Called
 * in the parent, by one thread at a time; libraries after the first few are
 * ignored. */
void lp_child_exit_add(uintptr_t function);

/* Watch the exit of this process.  Called in the child, in pthread_atfork's
 * handler, and again when the interpreter ends: the library may have
 * registered exit handlers since, and those would run first. */
void lp_child_exit_watch(void);

#endif
