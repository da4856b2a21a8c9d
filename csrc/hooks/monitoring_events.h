/* The callbacks of sys.monitoring as a table of events; see
 * monitoring_events.c. */
#ifndef LP_HOOKS_MONITORING_EVENTS_H
#define LP_HOOKS_MONITORING_EVENTS_H

#include "engine/python_compat.h"

#if LP_HAVE_MONITORING

enum { LP_MONITORING_EVENTS = 12 };

typedef struct lp_monitoring_event {
    const char *name; /* in sys.monitoring.events */
    vectorcallfunc call;
    bool local;          /* can be had for single code objects */
    bool c_functions;    /* only where functions of C are asked for */
    bool by_instruction; /* in place of LINE, where that is slow */
} lp_monitoring_event;

extern const lp_monitoring_event lp_monitoring_events[LP_MONITORING_EVENTS];

/* [GIL] Make the callbacks, once a process.  0 or -1. */
int lp_monitoring_events_open(PyObject *monitoring);

/* [GIL] The callback of an event by its place in the table; borrowed. */
PyObject *lp_monitoring_callback(int event);

#endif

#endif
