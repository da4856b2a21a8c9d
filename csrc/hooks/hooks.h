/* The table of hooks that this Python has, best first. */
#ifndef LP_HOOKS_HOOKS_H
#define LP_HOOKS_HOOKS_H

#include "engine/hook.h"

/* Events by sys.monitoring, see monitoring.c; by PyEval_SetTrace, see
 * settrace.c. */
#if LP_HAVE_MONITORING
extern const lp_hook lp_hook_monitoring;
#endif
extern const lp_hook lp_hook_settrace;

/* The hook of this name, or NULL where this Python has none. */
const lp_hook *lp_hook_find(const char *name);

/* All that this Python has, best first, NULL at the end. */
const lp_hook *const *lp_hook_all(void);

#endif
