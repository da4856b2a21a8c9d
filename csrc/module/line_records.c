#include "module/line_records.h"

#include "arithmetic/call_times.h"

enum { FIELDS = 8, UNKNOWN_THREAD = -1 };

typedef struct line_maker {
    lp_tick_scale scale;
    PyTypeObject *kind; /* borrowed */
    const int64_t *places;
    Py_ssize_t n_places;
} line_maker;

static PyObject *
make_number(lp_wide number)
{
    PyObject *high, *shift, *low, *shifted, *result = NULL;

    if (number <= INT64_MAX && number >= INT64_MIN) {
        return PyLong_FromLongLong((long long)number);
    }
    high = PyLong_FromLongLong((long long)(number >> 64));
    low = PyLong_FromUnsignedLongLong((unsigned long long)number);
    shift = PyLong_FromLong(64);
    if (high != NULL && low != NULL && shift != NULL) {
        shifted = PyNumber_Lshift(high, shift);
        result = shifted == NULL ? NULL : PyNumber_Or(shifted, low);
        Py_XDECREF(shifted);
    }
    Py_XDECREF(high);
    Py_XDECREF(low);
    Py_XDECREF(shift);
    return result;
}

/* Return `ticks`, less a cost, in ns: never below 0. */
static lp_wide
net_ns(const lp_tick_scale *scale, int64_t ticks, int64_t cost)
{
    lp_wide net = lp_ticks_ns(scale, ticks) - lp_cost_ns(scale, cost);

    return net < 0 ? 0 : net;
}

/* Return the ns of one execution; None if it is not known.  Numbers that are
 * the same, as those of a line that ran once, are one object. */
static PyObject *
make_one(const line_maker *self, int64_t ticks, int64_t cost, lp_wide other,
         PyObject *same)
{
    lp_wide ns;

    if (ticks < 0) {
        return Py_NewRef(Py_None);
    }
    ns = net_ns(&self->scale, ticks, cost);
    return ns == other && same != NULL ? Py_NewRef(same) : make_number(ns);
}

/* Return the values as an instance of `kind`, a subclass of tuple, as
 * tuple.__new__ makes it. */
static PyObject *
make_of_kind(PyTypeObject *kind, PyObject *values)
{
    PyObject *args, *record;

    if (kind == &PyTuple_Type) {
        return Py_NewRef(values);
    }
    args = PyTuple_Pack(1, values);
    record = args == NULL ? NULL : PyTuple_Type.tp_new(kind, args, NULL);
    Py_XDECREF(args);
    if (record != NULL && PyObject_GC_IsTracked(record)) {
        PyObject_GC_UnTrack(record); /* numbers alone are in no cycle */
    }
    return record;
}

static PyObject *
make_record(const line_maker *self, const lp_line_row *row)
{
    bool is_known = row->thread >= 0 && row->thread < self->n_places;
    lp_wide ns = net_ns(&self->scale, row->ticks, row->cost);
    PyObject *time = make_number(ns);
    PyObject *items[FIELDS] = {
        PyLong_FromLongLong(row->line),
        PyLong_FromLongLong(is_known ? self->places[row->thread]
                                     : UNKNOWN_THREAD),
        PyLong_FromLongLong(row->hits),
        time,
        make_number(lp_ticks_ns(&self->scale, row->awaited)),
        make_number(lp_ticks_ns(&self->scale, row->ticks)),
        make_one(self, row->min, row->hit_cost, ns, time),
        make_one(self, row->max, row->hit_cost, ns, time),
    };
    PyObject *values = PyTuple_New(FIELDS), *record;
    bool failed = values == NULL;

    for (Py_ssize_t i = 0; i < FIELDS; i++) {
        failed |= items[i] == NULL;
        if (values == NULL) {
            Py_XDECREF(items[i]);
        }
        else {
            PyTuple_SET_ITEM(values, i, items[i]);
        }
    }
    record = failed ? NULL : make_of_kind(self->kind, values);
    Py_XDECREF(values);
    return record;
}

static PyObject *
make_records(const line_maker *self, const lp_line_row *rows, Py_ssize_t n)
{
    PyObject *records = PyTuple_New(n);

    for (Py_ssize_t i = 0; records != NULL && i < n; i++) {
        PyObject *record = make_record(self, &rows[i]);

        if (record == NULL) {
            Py_CLEAR(records);
        }
        else {
            PyTuple_SET_ITEM(records, i, record);
        }
    }
    return records;
}

PyObject *
lp_line_records(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer rows, places;
    line_maker self;
    unsigned long long ns_per_tick;
    long long cost_one;
    PyObject *kind, *records = NULL;

    if (!PyArg_ParseTuple(args, "y*y*(KLd)O!:line_records", &rows, &places,
                          &ns_per_tick, &cost_one, &self.scale.cost_share,
                          &PyType_Type, &kind)) {
        return NULL;
    }
    self.scale.ns_per_tick = ns_per_tick;
    self.scale.cost_one = cost_one;
    self.kind = (PyTypeObject *)kind;
    self.places = places.buf;
    self.n_places = places.len / (Py_ssize_t)sizeof(int64_t);
    if (cost_one < 1 || !PyType_IsSubtype(self.kind, &PyTuple_Type)) {
        PyErr_SetString(PyExc_ValueError, "no such scale or kind of record");
    }
    else {
        records = make_records(&self, rows.buf,
                               rows.len / (Py_ssize_t)sizeof(lp_line_row));
    }
    PyBuffer_Release(&rows);
    PyBuffer_Release(&places);
    return records;
}
