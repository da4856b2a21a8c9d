/* The first tracer of the process opens the hook, the last one closes it.
 *
 * Both call Python, where other threads get their turn: those that open or
 * close a tracer meanwhile wait until it is done.
 */
#ifndef LP_OPENING_H
#define LP_OPENING_H

#include "lp_engine.h"

/* [GIL] One more: with the hook of that name, and the clock that a capsule
 * gives, or for None the one of that name.  `module` is the C module.  0 or
 * -1 with an exception. */
int lp_opening_open(const char *hook, PyObject *clock, const char *clock_name,
                    PyObject *module);

/* [GIL] One less. */
void lp_opening_close(void);

#endif
