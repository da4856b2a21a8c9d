/* The recorder of each thread: created at the thread's first event, kept after
 * the thread's end. */
#ifndef LP_ENGINE_THREADS_H
#define LP_ENGINE_THREADS_H

#include "engine/python_compat.h"
#include "record/recorder.h"

/* [GIL] Return this thread's recorder, created if needed; NULL if memory is
 * out. */
lp_recorder *lp_threads_here(void);

/* [GIL] Look up the thread's name again if it had none at its first event,
 * which may come before threading has set the name. */
void lp_threads_name(lp_recorder *rec);

/* [GIL] Return the recorder of any thread, by its Python thread id; created if
 * needed, NULL if memory is out. */
lp_recorder *lp_threads_of(uint64_t python_thread);

#endif
