#include "module/trace_snapshot.h"

#include <stdlib.h>

#include "engine/tracer.h"
#include "record/trace_query.h"

PyObject *
lp_trace_start(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_ssize_t bytes;
    PyObject *ticks;
    lp_ticks min_line_ticks = LP_NO_LINE_SLICES;
    unsigned long long min_call_ticks = 0;

    if (!PyArg_ParseTuple(args, "nO|K:trace_start", &bytes, &ticks,
                          &min_call_ticks)) {
        return NULL;
    }
    if (ticks != Py_None) {
        min_line_ticks = PyLong_AsUnsignedLongLong(ticks);
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    lp_trace_pool_begin(bytes < 0 ? 0 : (size_t)bytes, min_line_ticks,
                        min_call_ticks);
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        lp_recorder_trace(rec);
    }
    Py_RETURN_NONE;
}

PyObject *
lp_trace_full(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    lp_ticks full_at = lp_the_trace_pool.full_at;

    return PyLong_FromUnsignedLongLong(full_at == LP_NOT_FULL ? 0 : full_at);
}

/* Prepare a query of the wanted slices; false with an exception. */
static bool
begin(lp_trace_query *self, const lp_tracer *tracer, const char *wanted,
      Py_ssize_t size)
{
    *self = (lp_trace_query){.recorders = lp_the_engine.recorders,
                             .wanted = (const unsigned char *)wanted,
                             .n_serials = (uint32_t)size / sizeof(uint32_t)};
    self->first_lines = calloc(self->n_serials + 1, sizeof(uint32_t));
    if (self->first_lines == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (uint32_t i = 0; i < tracer->n_codes; i++) {
        const lp_layout *layout = &tracer->codes[i]->layout;

        if (layout->serial < self->n_serials) {
            self->first_lines[layout->serial] = layout->first_line;
        }
    }
    return true;
}

/* Number of wanted slices that there was no room for. */
static unsigned long long
dropped_slices(const lp_trace_query *self)
{
    unsigned long long sum = 0;

    for (lp_recorder *rec = self->recorders; rec != NULL; rec = rec->next) {
        for (uint32_t i = 0; i < rec->n_counters; i++) {
            const lp_code_counters *counters = rec->counters[i];

            if (counters != NULL &&
                lp_trace_query_number(self, counters->serial) > 0) {
                sum += counters->dropped_slices;
            }
        }
    }
    return sum;
}

static int
compare_ticks(const void *one, const void *other)
{
    const lp_ticks *a = one, *b = other;

    return (*a > *b) - (*a < *b);
}

static int
append(PyObject *list, lp_ticks ticks)
{
    PyObject *number = PyLong_FromUnsignedLongLong(ticks);
    int failed = number == NULL || PyList_Append(list, number) < 0;

    Py_XDECREF(number);
    return failed ? -1 : 0;
}

/* Return the limits of windows from the starts of every 64th slice: 0,
 * ascending starts, the end of all. */
static PyObject *
make_starts(lp_ticks *starts, size_t n, size_t step, lp_ticks until)
{
    PyObject *list = PyList_New(0);
    lp_ticks last = 0;

    if (n > 0) {
        qsort(starts, n, sizeof(*starts), compare_ticks);
    }
    if (list == NULL || append(list, 0) < 0) {
        Py_XDECREF(list);
        return NULL;
    }
    for (size_t i = step; i < n; i += step) {
        if (starts[i] > last && starts[i] <= until &&
            append(list, last = starts[i]) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    if (append(list, until + 1) < 0) {
        Py_CLEAR(list);
    }
    return list;
}

PyObject *
lp_trace_windows(PyObject *op, PyObject *args)
{
    const lp_tracer *tracer = (lp_tracer *)op;
    const char *wanted;
    Py_ssize_t size, max;
    lp_ticks until = lp_clock_now(&lp_the_engine.clock), *starts = NULL;
    unsigned long long missing;
    PyObject *list;
    size_t n = 0;
    lp_trace_query self;

    if (!PyArg_ParseTuple(args, "y#n:trace_windows", &wanted, &size, &max) ||
        !begin(&self, tracer, wanted, size)) {
        return NULL;
    }
    if (lp_trace_query_sample(&self, &starts, &n)) {
        size_t step =
            max < LP_TRACE_SAMPLE ? 1 : (size_t)max / LP_TRACE_SAMPLE;

        list = make_starts(starts, n, step, until);
    }
    else {
        list = PyErr_NoMemory();
    }
    free(starts);
    missing = dropped_slices(&self);
    lp_trace_query_free(&self);
    if (list == NULL) {
        return NULL;
    }
    return Py_BuildValue("(KKN)", (unsigned long long)until, missing, list);
}

/* Convert ticks to ns on CLOCK_MONOTONIC. */
static uint64_t
to_ns(lp_ticks ticks, uint64_t scale)
{
    return lp_clock_to_ns(&lp_the_engine.clock, ticks, scale);
}

PyObject *
lp_trace_monotonic_ns(PyObject *Py_UNUSED(module), PyObject *args)
{
    unsigned long long ticks, scale;

    if (!PyArg_ParseTuple(args, "KK:monotonic_ns", &ticks, &scale)) {
        return NULL;
    }
    return PyLong_FromUnsignedLongLong(to_ns(ticks, scale));
}

static PyObject *
make_columns(const lp_trace_query *self, uint64_t scale)
{
    Py_ssize_t n = (Py_ssize_t)self->n;
    PyObject *columns[7] = {NULL};
    bool failed = false;
    uint32_t *thread, *function, *line;
    uint64_t *start, *ns, *wait, *unsure;

    for (int i = 0; i < 7; i++) {
        columns[i] = PyBytes_FromStringAndSize(NULL, n * (i < 3 ? 4 : 8));
        failed |= columns[i] == NULL;
    }
    if (failed) {
        for (int i = 0; i < 7; i++) {
            Py_XDECREF(columns[i]);
        }
        return NULL;
    }
    thread = (uint32_t *)(void *)PyBytes_AS_STRING(columns[0]);
    function = (uint32_t *)(void *)PyBytes_AS_STRING(columns[1]);
    line = (uint32_t *)(void *)PyBytes_AS_STRING(columns[2]);
    start = (uint64_t *)(void *)PyBytes_AS_STRING(columns[3]);
    ns = (uint64_t *)(void *)PyBytes_AS_STRING(columns[4]);
    wait = (uint64_t *)(void *)PyBytes_AS_STRING(columns[5]);
    unsure = (uint64_t *)(void *)PyBytes_AS_STRING(columns[6]);
    for (size_t i = 0; i < self->n; i++) {
        const lp_found *at = &self->found[i];

        thread[i] = at->thread;
        function[i] = at->function;
        line[i] = at->line;
        start[i] = to_ns(at->start, scale);
        ns[i] =
            to_ns(at->end, scale) -
            start[i]; /* from the rounded ends, so that slices stay nested */
        wait[i] = at->wait != LP_WAIT_UNKNOWN ? at->wait : ns[i];
        unsure[i] = at->wait != LP_WAIT_UNKNOWN ? at->unsure : ns[i];
    }
    return Py_BuildValue("(NNNNNNN)", columns[0], columns[1], columns[2],
                         columns[3], columns[4], columns[5], columns[6]);
}

PyObject *
lp_trace_columns(PyObject *op, PyObject *args)
{
    unsigned long long until, low, high, scale;
    const char *wanted;
    Py_ssize_t size;
    PyObject *columns;
    lp_trace_query self;

    if (!PyArg_ParseTuple(args, "y#KKKK:trace_slices", &wanted, &size, &until,
                          &low, &high, &scale) ||
        !begin(&self, (lp_tracer *)op, wanted, size)) {
        return NULL;
    }
    self.until = until;
    self.low = low;
    self.high = high;
    columns = lp_trace_query_window(&self) ? make_columns(&self, scale)
                                           : PyErr_NoMemory();
    lp_trace_query_free(&self);
    return columns;
}
