/* Other tools that get LINE events, such as debuggers and coverage.
 *
 * If such a tool switches its LINE event off at an instruction while it
 * handles that event, as coverage does, the interpreter skips the INSTRUCTION
 * event of the same instruction once.  So lines are told of by INSTRUCTION
 * events only as long as no other tool is there.  Everything here is [GIL].
 */
#ifndef LP_HOOKS_OTHER_TOOLS_H
#define LP_HOOKS_OTHER_TOOLS_H

#include "engine/python_compat.h"

#if LP_HAVE_MONITORING

/* Return 1 if another tool of sys.monitoring or a trace function is there, and
 * otherwise 0: then `came` is called before the first one comes.  -1 with an
 * exception.  `monitoring` is sys.monitoring. */
int lp_other_tools_open(PyObject *monitoring, void (*came)(void));

/* No longer call `came`. */
void lp_other_tools_close(void);

/* Take a tool id of sys.monitoring for lineprof.  0, or -1 with an exception.
 */
int lp_other_tools_use_id(int id);

#endif

#endif
