/* The sampler's own thread, see lp_sampler.h: Linux alone. */
#ifndef LP_SAMPLER_WATCH_H
#define LP_SAMPLER_WATCH_H

#include "lp_recorder.h"

/* What it watches, and its own part. */
typedef struct lp_sampler_view {
    lp_recorder *const *recorders;
    uintptr_t low, high; /* where the interpreter's lock is */
    uint32_t own;        /* the thread, as the system numbers it, */
    uint32_t turn;       /* how often there was one before, and this one, */
    uint32_t files;      /* and how many files it has open */
} lp_sampler_view;

/* Runs on the thread, until it is to end or sees nothing. */
void lp_sampler_watch(lp_sampler_view *view);

/* True when the state was `from`. */
bool lp_sampler_change(uint32_t from, uint32_t to);

#endif
