/* The slices of one tracer, as columns.
 *
 * There may be tens of millions, so they are read in time windows: the slices
 * that start in one window are sorted and passed to Python, which needs memory
 * for that window only.  Slices that end between the reading of two windows
 * come only once, because all windows show the state at the same time,
 * `until`.
 */
#ifndef LP_MODULE_TRACE_SNAPSHOT_H
#define LP_MODULE_TRACE_SNAPSHOT_H

#include "engine/python_compat.h"

/* [GIL] Module function trace_start(bytes, ticks, call_ticks=0): record
 * function calls of at least `call_ticks` from now on, in so much memory (0
 * stops it), and times on lines of at least `ticks` (None for no lines). */
PyObject *lp_trace_start(PyObject *module, PyObject *args);

/* [GIL] Module function trace_full(): ticks from when on no slice was started,
 * because memory was full; 0 if it is not. */
PyObject *lp_trace_full(PyObject *module, PyObject *ignored);

/* [GIL] Module function monotonic_ns(ticks, scale): ns on CLOCK_MONOTONIC;
 * `scale` is the result of _core.scale. */
PyObject *lp_trace_monotonic_ns(PyObject *module, PyObject *args);

/* [GIL] Tracer.trace_windows(wanted, max): (until, dropped, starts), where
 * about `max` slices start between two of the ascending `starts`; `wanted` is
 * bytes with an unsigned int per serial: 0 if it is not wanted; otherwise a
 * number for it. */
PyObject *lp_trace_windows(PyObject *tracer, PyObject *args);

/* [GIL] Tracer.trace_slices(wanted, until, low, high, scale): (thread,
 * function, line, start, ns, wait, unsure) of the slices that start in [low,
 * high), as bytes of unsigned int, int, int, and four of long long: sorted by
 * start, the longer first.  A function is its number in `wanted` less 1; line
 * 0 is the whole function; starts are ns on CLOCK_MONOTONIC, `scale` as above.
 */
PyObject *lp_trace_columns(PyObject *tracer, PyObject *args);

#endif
