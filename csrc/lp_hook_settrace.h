/* Events by PyEval_SetTrace; see lp_hook_settrace.c. */
#ifndef LP_HOOK_SETTRACE_H
#define LP_HOOK_SETTRACE_H

#include "lp_hook.h"

extern const lp_hook lp_hook_settrace;

#endif
