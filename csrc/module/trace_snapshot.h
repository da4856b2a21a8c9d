/* The slices of one tracer, as columns.
 *
 * There may be tens of millions, so they are read a window of time after the
 * other: what starts in one is sorted and handed over, and memory is needed
 * for that alone.  Whatever happens between two windows, nothing comes twice:
 * all are asked for what was so at the same moment, `until`.
 */
#ifndef LP_MODULE_TRACE_SNAPSHOT_H
#define LP_MODULE_TRACE_SNAPSHOT_H

#include "engine/python_compat.h"

/* [GIL] Module function trace(bytes, ticks): record calls of functions from
 * now on, in so much memory (0: no more), and times on lines of at least so
 * many ticks (None: no lines). */
PyObject *lp_trace_start(PyObject *module, PyObject *args);

/* [GIL] Module function monotonic_ns(ticks, scale): ns on CLOCK_MONOTONIC;
 * `scale` is what _core.scale gave. */
PyObject *lp_trace_monotonic_ns(PyObject *module, PyObject *args);

/* [GIL] Tracer.slice_windows(wanted, max): (until, left_out, starts), where
 * about `max` slices start between two of the ascending `starts`; `wanted` is
 * bytes, an unsigned int a serial: 0: not this one's; else a number for it. */
PyObject *lp_trace_windows(PyObject *tracer, PyObject *args);

/* [GIL] Tracer.slices(wanted, until, low, high, scale): (thread, function,
 * line, start, ns) of those that start in [low, high) as bytes of unsigned
 * int, int, int, long long, long long: in order of their starts, the longer
 * first.  A function is its number in `wanted` less 1; line 0 is all of it;
 * starts are ns on CLOCK_MONOTONIC, `scale` as above. */
PyObject *lp_trace_columns(PyObject *tracer, PyObject *args);

#endif
