/* Functions of lineprof._core that choose the slices of an exported timeline,
 * or charge the idle time of devices to them.
 *
 * They read packed batches: tuples (slices, thread, function, line, start, ns)
 * whose columns are the unpacked bytes that docs/format.md describes, the
 * lowest byte of each value first, or empty for zeros.  Starts are kept as
 * differences.
 */
#ifndef LP_MODULE_SLICE_FUNCTIONS_H
#define LP_MODULE_SLICE_FUNCTIONS_H

#include "engine/python_compat.h"

/* [GIL] Module function count_slices(batches, threads, low, high, counts,
 * base, shift): count the lengths of the slices between `low` and `high` in
 * `counts`, unsigned 64-bit integers, by class; with a `shift` from 0 on, a
 * length of class c is (base + c) << shift at least.  Return the number of
 * slices; -1 if they are not sorted by start. */
PyObject *lp_count_slices(PyObject *module, PyObject *args);

/* [GIL] Module function select_slices(batches, threads, low, high, min_ns,
 * shown, ties, credit, slot_ns, emit): call emit(thread, function, line,
 * start, ns) with the slices that are shown, as bytes in the order of the
 * machine.  Return the same columns of the sums of folded slices, and the
 * credit: see lp_slice_rule. */
PyObject *lp_select_slices(PyObject *module, PyObject *args);

/* [GIL] Module function idle_sums(batches, tracks, transparent, short_lines):
 * charge idle time to slices, see arithmetic/idle_sums.h.  A batch is a tuple:
 * a packed batch, and in the same form a column of waits and one of their
 * unsure parts.  A track is (thread, starts, ends) of gaps, bytes in the order
 * of the machine; `transparent` has a byte for each function, not 0 if its
 * slices are no time of its own.  Return tuples (track, function, line,
 * inclusive, computing, waiting, unknown).  ValueError if the slices are not
 * sorted by start. */
PyObject *lp_idle_sums(PyObject *module, PyObject *args);

#endif
