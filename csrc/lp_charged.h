/* Which lines a call of this thread is charged to. */
#ifndef LP_CHARGED_H
#define LP_CHARGED_H

#include <stdint.h>

#include "lp_paths.h"

/* [ANY] The lines that are open on this thread; on a thread that has none,
 * as the workers of a library, those of the one thread that has some; else
 * LP_NO_PATH.  Calls no Python and takes no lock but for a new path. */
uint32_t lp_charged_path(lp_paths *paths);

#endif
