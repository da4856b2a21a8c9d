/* The Python type of tracers; see tracer_type.c. */
#ifndef LP_MODULE_TRACER_TYPE_H
#define LP_MODULE_TRACER_TYPE_H

#include "engine/python_compat.h"
#include "module/snapshot.h"

extern PyType_Spec lp_tracer_spec;

#endif
