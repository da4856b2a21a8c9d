/* The Python type of tracers; see lp_tracer_type.c. */
#ifndef LP_TRACER_TYPE_H
#define LP_TRACER_TYPE_H

#include "lp_python.h"
#include "lp_snapshot.h"

extern PyType_Spec lp_tracer_spec;

#endif
