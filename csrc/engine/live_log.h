/* The names of code objects in the log of the live file: see live_file.h. */
#ifndef LP_ENGINE_LIVE_LOG_H
#define LP_ENGINE_LIVE_LOG_H

#include "engine/code.h"

struct lp_tracer;

/* [GIL] Log the serial, the first line and the key of a code object: a tuple
 * that begins with file, line and name; or that of a C function, its name.
 * Does nothing if the tracer's counters are not in the live file; keeps the
 * current exception. */
void lp_live_log_code(const struct lp_tracer *tracer, const lp_code *code,
                      PyObject *key);

#endif
