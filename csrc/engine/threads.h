/* The recorder of each thread: made at the thread's first event, kept after
 * the thread's end. */
#ifndef LP_ENGINE_THREADS_H
#define LP_ENGINE_THREADS_H

#include "engine/python_compat.h"
#include "record/recorder.h"

/* This thread's recorder; NULL before its first event. */
extern _Thread_local lp_recorder *lp_current_recorder;

/* [GIL] This thread's recorder, made when there is none; NULL when memory is
 * out. */
lp_recorder *lp_threads_here(void);

/* [GIL] Ask for this thread's name again if it had none when it was first
 * seen: that may be in the midst of its start. */
void lp_threads_name(lp_recorder *rec);

/* [GIL] The recorder of another thread, by the interpreter's name for it. */
lp_recorder *lp_threads_of(uint64_t python_thread);

#endif
