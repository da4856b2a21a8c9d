/* Threads beside the program's. */
#ifndef LP_GPU_SIDE_THREAD_H
#define LP_GPU_SIDE_THREAD_H

#include <stdbool.h>

/* Start a detached thread, which gets no signals: those of the program are for
 * its own threads.  False if there can be no thread. */
bool lp_side_thread_start(void *(*run)(void *));

#endif
