/* The table of hooks of this Python, best first. */
#ifndef LP_HOOKS_HOOKS_H
#define LP_HOOKS_HOOKS_H

#include "engine/hook.h"

/* Events by sys.monitoring, see monitoring.c, and by PyEval_SetTrace, see
 * settrace.c. */
#if LP_HAVE_MONITORING
extern const lp_hook lp_hook_monitoring;
#endif
extern const lp_hook lp_hook_settrace;

/* Return the hook of this name, or NULL if this Python does not have it. */
const lp_hook *lp_hook_find(const char *name);

/* Return all hooks of this Python, best first, NULL at the end. */
const lp_hook *const *lp_hook_all(void);

#endif
