/* Events by sys.monitoring; see lp_hook_monitoring.c. */
#ifndef LP_HOOK_MONITORING_H
#define LP_HOOK_MONITORING_H

#include "lp_hook.h"

#if LP_HAVE_MONITORING
extern const lp_hook lp_hook_monitoring;
#endif

#endif
