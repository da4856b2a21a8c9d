/* Call times in Python: packed arrays in and out; see arithmetic/call_times.h.
 */
#ifndef LP_MODULE_CALL_TIMES_FUNCTIONS_H
#define LP_MODULE_CALL_TIMES_FUNCTIONS_H

#include "engine/python_compat.h"

/* [GIL] Module function call_times(rows, function_of, flags, spans, lines,
 * place_of, scale), of buffers of long long, `function_of` of int.
 *
 * `rows` are lp_call_row, `flags` one number per function, `spans` the index
 * of each function with lines and how many these are, and `lines` the line,
 * thread, ns and ns with the cost of measuring of each; `place_of` maps the
 * core's number of a thread to an index; `scale` is (ns per tick, parts in a
 * tick, share of costs).  The result is (nodes, totals, more, merged): nodes
 * has bytes of long long for each of parent, line, function, thread, calls,
 * primitive calls, self ns, total ns, inclusive ns; totals has the total of
 * each function, and more a number for each line.  Deeper calls have the
 * number of functions as their function.  merged has the same columns for
 * merged calls, with the function that calls, or -1, in place of the parent.
 */
PyObject *lp_call_times_of(PyObject *module, PyObject *args);

#endif
