/* A table of call paths, new for each test. */
#ifndef OWN_PATHS_H
#define OWN_PATHS_H

#include "record/call_paths.h"

/* The one of the test before is gone. */
static lp_call_paths *
own_paths(void)
{
    static lp_call_paths paths;

    if (paths.n != 0) {
        lp_call_paths_free(&paths);
    }
    lp_call_paths_init(&paths);
    return &paths;
}

#endif
