/* The callbacks of sys.monitoring as a table of events; see
 * monitoring_events.c. */
#ifndef LP_HOOKS_MONITORING_EVENTS_H
#define LP_HOOKS_MONITORING_EVENTS_H

#include "engine/python_compat.h"

#if LP_HAVE_MONITORING

enum { LP_MONITORING_EVENTS = 12 };

typedef struct lp_monitoring_event {
    const char *name; /* its name in sys.monitoring.events */
    vectorcallfunc call;
    bool local;       /* can be enabled for single code objects */
    bool c_functions; /* needed only if C functions are counted */
    /* only for code with `starts`, in place of LINE */
    bool by_instruction;
} lp_monitoring_event;

extern const lp_monitoring_event lp_monitoring_events[LP_MONITORING_EVENTS];

/* [GIL] Create the callbacks, once per process.  0 or -1. */
int lp_monitoring_events_open(PyObject *monitoring);

/* [GIL] Return the callback of an event by its index in the table; borrowed.
 */
PyObject *lp_monitoring_callback(int event);

#endif

#endif
