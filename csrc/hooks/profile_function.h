/* The program's own profile function while C functions are counted.
 *
 * The events of C calls that lineprof has of a line also have the end of
 * sys.setprofile itself, which a profile function gets only if one was set
 * before.  So sys.setprofile is replaced by a function that calls the original
 * and withholds this event from a first profile function.  [GIL]
 */
#ifndef LP_HOOKS_PROFILE_FUNCTION_H
#define LP_HOOKS_PROFILE_FUNCTION_H

#include "engine/python_compat.h"

/* Replace sys.setprofile, until the hook is closed.  Idempotent.  0, or -1
 * with an exception. */
int lp_profile_function_open(void);

void lp_profile_function_close(void);

#endif
