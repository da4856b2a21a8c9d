/* Lines of a snapshot, packed, and the records of a profile made of them. */
#ifndef LP_MODULE_LINE_RECORDS_H
#define LP_MODULE_LINE_RECORDS_H

#include "engine/python_compat.h"

/* One line as one thread ran it. */
typedef struct lp_line_row {
    int64_t line, thread; /* thread: index in the snapshot's threads */
    int64_t hits;
    int64_t ticks, cost; /* cost in parts of a tick, as `hit_cost` */
    int64_t awaited;     /* ticks */
    int64_t min, max;    /* ticks of one execution; -1 if unknown */
    int64_t hit_cost;    /* of one execution */
} lp_line_row;

/* [GIL] Module function line_records(rows, places, scale, kind): a tuple with
 * a record for each lp_line_row in the bytes `rows`: line, place of its
 * thread, hits, ns, ns in awaits, ns with the cost of measuring, min and max
 * ns or None.  `places` is a buffer of long long by the thread's index,
 * `scale` (ns per tick, parts in a tick, share of costs), `kind` tuple or a
 * subclass without fields of its own.  The garbage collector does not visit
 * records. */
PyObject *lp_line_records(PyObject *module, PyObject *args);

#endif
