/* A tracer that is enabled in the middle of frames which another one counts
 * already: it gets a twin of each that runs code of its own, and counts from
 * the next line on.  Frames that nobody counts are met at their next event.
 */
#ifndef LP_JOIN_H
#define LP_JOIN_H

#include "lp_tracer.h"

/* [GIL] Join the frames that are open, in every thread. */
void lp_join(lp_tracer *tracer);

#endif
