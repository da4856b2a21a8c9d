#include "module/slice_functions.h"

#include <string.h>

#include "arithmetic/idle_sums.h"
#include "arithmetic/slice_selection.h"

typedef unsigned long long ull;

enum { THREAD, FUNCTION, LINE, START, NS, WAIT, UNSURE, COLUMNS };

static const Py_ssize_t widths[COLUMNS] = {4, 4, 4, 8, 8, 8, 8};

/* A packed batch, whose columns are borrowed; WAIT and UNSURE are for the idle
 * time of devices only. */
typedef struct lp_packed {
    Py_ssize_t n;
    const char *columns[COLUMNS];
    Py_ssize_t sizes[COLUMNS];
} lp_packed;

/* Check the number of values in each column; false with an exception. */
static bool
check_sizes(const lp_packed *batch)
{
    for (int i = 0; i < COLUMNS; i++) {
        Py_ssize_t size = batch->sizes[i];

        if (size != 0 && (batch->n < 0 || size % widths[i] != 0 ||
                          size / widths[i] != batch->n)) {
            PyErr_SetString(PyExc_ValueError,
                            "a column has another number of values");
            return false;
        }
    }
    return true;
}

static bool
parse_batch(PyObject *item, lp_packed *batch)
{
    const char **columns = batch->columns;
    Py_ssize_t *sizes = batch->sizes;

    return PyArg_ParseTuple(item, "ny#y#y#y#y#", &batch->n, &columns[THREAD],
                            &sizes[THREAD], &columns[FUNCTION],
                            &sizes[FUNCTION], &columns[LINE], &sizes[LINE],
                            &columns[START], &sizes[START], &columns[NS],
                            &sizes[NS]) &&
           check_sizes(batch);
}

/* Return a value of a column, whose lowest bytes come first. */
static uint64_t
value_at(const lp_packed *batch, int column, Py_ssize_t at)
{
    const char *bytes = batch->columns[column] + at;
    uint64_t value = 0;

    if (batch->sizes[column] == 0) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < widths[column]; i++) {
        value |= (uint64_t)(unsigned char)bytes[i * batch->n] << (8 * i);
    }
    return value;
}

/* Takes a slice that is shown. */
typedef void (*lp_take_slice)(void *to, const lp_trace_slice *slice);

/* Pass a batch through the selection.  1: done; 0: the slices are not sorted;
 * -1: an exception. */
static int
select_batch(lp_slice_selection *selection, const lp_packed *batch,
             lp_take_slice take, void *to)
{
    uint64_t start = 0;

    for (Py_ssize_t i = 0; i < batch->n; i++) {
        lp_trace_slice slice = {
            .thread = (uint32_t)value_at(batch, THREAD, i),
            .function = (uint32_t)value_at(batch, FUNCTION, i),
            .line = (uint32_t)value_at(batch, LINE, i),
            .start = start += value_at(batch, START, i),
            .ns = value_at(batch, NS, i),
        };

        switch (lp_slice_selection_add(selection, &slice)) {
        case LP_SLICE_SHOWN:
            take(to, &slice);
            break;
        case LP_SLICE_UNORDERED:
            return 0;
        case LP_SLICE_NO_THREAD:
            PyErr_SetString(PyExc_ValueError, "a slice has an unknown thread");
            return -1;
        case LP_SLICE_NO_MEMORY:
            PyErr_NoMemory();
            return -1;
        case LP_SLICE_OUTSIDE:
        case LP_SLICE_FOLDED:
            break;
        }
    }
    return 1;
}

/* -- counting ------------------------------------------------------------- */

typedef struct lp_length_counts {
    uint64_t *counts; /* borrowed */
    uint64_t n_counts;
    uint64_t base;
    int shift;
    uint64_t slices;
} lp_length_counts;

static void
count_slice(void *to, const lp_trace_slice *slice)
{
    lp_length_counts *self = to;
    uint64_t at;

    self->slices++;
    if (self->shift < 0) {
        at = lp_length_class(slice->ns);
    }
    else if (slice->ns >> self->shift < self->base) {
        return;
    }
    else {
        at = (slice->ns >> self->shift) - self->base;
    }
    if (at < self->n_counts) {
        self->counts[at]++;
    }
}

/* Pass all batches through the selection; as select_batch(). */
static int
select_all(lp_slice_selection *selection, PyObject *batches,
           int (*select)(lp_slice_selection *, const lp_packed *, void *),
           void *to)
{
    PyObject *iterator = PyObject_GetIter(batches);
    int sorted = iterator == NULL ? -1 : 1;

    while (sorted == 1) {
        PyObject *item = PyIter_Next(iterator);
        lp_packed batch = {0};

        if (item == NULL) {
            sorted = PyErr_Occurred() ? -1 : 1;
            break;
        }
        sorted =
            parse_batch(item, &batch) ? select(selection, &batch, to) : -1;
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    return sorted;
}

static int
count_batch(lp_slice_selection *selection, const lp_packed *batch, void *to)
{
    return select_batch(selection, batch, count_slice, to);
}

PyObject *
lp_count_slices(PyObject *Py_UNUSED(module), PyObject *args)
{
    lp_length_counts self = {.shift = -1};
    lp_slice_selection selection;
    lp_slice_rule rule = {.shown_ties = 1, .ties = 1, .slot_ns = UINT64_MAX};
    ull low, high, base;
    unsigned int n_threads;
    PyObject *batches;
    Py_buffer counts;
    int sorted = -1;

    if (!PyArg_ParseTuple(args, "OIKKw*Ki:count_slices", &batches, &n_threads,
                          &low, &high, &counts, &base, &self.shift)) {
        return NULL;
    }
    self.counts = counts.buf;
    self.n_counts = (uint64_t)counts.len / sizeof(uint64_t);
    self.base = base;
    rule.low = low;
    rule.high = high;
    if (self.shift > 63) {
        PyErr_SetString(PyExc_ValueError, "a shift of more than 63 bits");
    }
    else if (!lp_slice_selection_begin(&selection, &rule, n_threads)) {
        PyErr_NoMemory();
    }
    else {
        sorted = select_all(&selection, batches, count_batch, &self);
        lp_slice_selection_free(&selection);
    }
    PyBuffer_Release(&counts);
    if (sorted < 0) {
        return NULL;
    }
    return PyLong_FromLongLong(sorted ? (long long)self.slices : -1);
}

/* -- selecting ------------------------------------------------------------ */

/* Columns that are being written. */
typedef struct lp_columns {
    PyObject *bytes[COLUMNS]; /* owned */
    Py_ssize_t n;
} lp_columns;

static bool
columns_begin(lp_columns *self, Py_ssize_t room)
{
    bool failed = false;

    *self = (lp_columns){.n = 0};
    for (int i = 0; i < COLUMNS; i++) {
        self->bytes[i] = PyBytes_FromStringAndSize(NULL, room * widths[i]);
        failed |= self->bytes[i] == NULL;
    }
    return !failed;
}

static void
columns_free(lp_columns *self)
{
    for (int i = 0; i < COLUMNS; i++) {
        Py_CLEAR(self->bytes[i]);
    }
}

static void
columns_add(void *to, const lp_trace_slice *slice)
{
    lp_columns *self = to;
    char *columns[COLUMNS];

    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = PyBytes_AS_STRING(self->bytes[i]) + self->n * widths[i];
    }
    memcpy(columns[THREAD], &slice->thread, 4);
    memcpy(columns[FUNCTION], &slice->function, 4);
    memcpy(columns[LINE], &slice->line, 4);
    memcpy(columns[START], &slice->start, 8);
    memcpy(columns[NS], &slice->ns, 8);
    self->n++;
}

/* Cut the columns to what was written; false with an exception. */
static bool
columns_end(lp_columns *self)
{
    for (int i = 0; i < COLUMNS; i++) {
        PyObject *whole = self->bytes[i];

        self->bytes[i] = PyBytes_FromStringAndSize(PyBytes_AS_STRING(whole),
                                                   self->n * widths[i]);
        Py_DECREF(whole);
        if (self->bytes[i] == NULL) {
            return false;
        }
    }
    return true;
}

static int
emit_batch(lp_slice_selection *selection, const lp_packed *batch, void *to)
{
    PyObject *emit = to, *result = NULL;
    lp_columns columns;
    int sorted = -1;

    if (columns_begin(&columns, batch->n)) {
        sorted = select_batch(selection, batch, columns_add, &columns);
    }
    if (sorted == 1) {
        if (columns_end(&columns)) {
            result = PyObject_CallFunctionObjArgs(
                emit, columns.bytes[THREAD], columns.bytes[FUNCTION],
                columns.bytes[LINE], columns.bytes[START], columns.bytes[NS],
                NULL);
        }
        sorted = result == NULL ? -1 : 1;
    }
    Py_XDECREF(result);
    columns_free(&columns);
    return sorted;
}

/* Return the columns of the sums, and the credit. */
static PyObject *
make_sums(lp_slice_selection *selection)
{
    PyObject *made = NULL;
    lp_columns columns;

    if (!lp_slice_selection_end(selection)) {
        return PyErr_NoMemory();
    }
    if (columns_begin(&columns, (Py_ssize_t)selection->n_sums)) {
        for (size_t i = 0; i < selection->n_sums; i++) {
            columns_add(&columns, &selection->sums[i]);
        }
        made = Py_BuildValue("((OOOOO)K)", columns.bytes[THREAD],
                             columns.bytes[FUNCTION], columns.bytes[LINE],
                             columns.bytes[START], columns.bytes[NS],
                             (ull)selection->rule.credit);
    }
    columns_free(&columns);
    return made;
}

PyObject *
lp_select_slices(PyObject *Py_UNUSED(module), PyObject *args)
{
    lp_slice_selection selection;
    ull low, high, min_ns, shown, ties, credit, slot_ns;
    unsigned int n_threads;
    PyObject *batches, *emit, *made = NULL;
    lp_slice_rule rule;
    int sorted;

    if (!PyArg_ParseTuple(args, "OIKKKKKKKO:select_slices", &batches,
                          &n_threads, &low, &high, &min_ns, &shown, &ties,
                          &credit, &slot_ns, &emit)) {
        return NULL;
    }
    rule = (lp_slice_rule){.low = low,
                           .high = high,
                           .min_ns = min_ns,
                           .shown_ties = shown,
                           .ties = ties,
                           .credit = credit,
                           .slot_ns = slot_ns == 0 ? 1 : slot_ns};
    if (!lp_slice_selection_begin(&selection, &rule, n_threads)) {
        return PyErr_NoMemory();
    }
    sorted = select_all(&selection, batches, emit_batch, emit);
    if (sorted == 1) {
        made = make_sums(&selection);
    }
    else if (sorted == 0) {
        PyErr_SetString(PyExc_ValueError, "the slices are not sorted");
    }
    lp_slice_selection_free(&selection);
    return made;
}

/* -- idle time of devices ------------------------------------------------- */

/* The tracks, and what is known of the functions. */
typedef struct lp_idle_tracks {
    lp_idle_track *tracks; /* owned */
    Py_ssize_t n;
    const char *transparent; /* borrowed; 1 for a function without lines, whose
                                slices are no time of their own */
    Py_ssize_t n_functions;
    bool short_lines;
} lp_idle_tracks;

static void
tracks_free(lp_idle_tracks *self)
{
    for (Py_ssize_t i = 0; i < self->n; i++) {
        lp_idle_track_free(&self->tracks[i]);
    }
    PyMem_Free(self->tracks);
}

/* Read the tracks from a sequence of (thread, starts, ends), which lives
 * longer; false with an exception. */
static bool
tracks_begin(lp_idle_tracks *self, PyObject *given)
{
    self->n = PyTuple_GET_SIZE(given);
    self->tracks = PyMem_Calloc((size_t)self->n + 1, sizeof(lp_idle_track));
    if (self->tracks == NULL) {
        self->n = 0;
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < self->n; i++) {
        lp_idle_track *track = &self->tracks[i];
        const char *starts, *ends;
        Py_ssize_t n_starts, n_ends;

        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "Iy#y#",
                              &track->thread, &starts, &n_starts, &ends,
                              &n_ends)) {
            return false;
        }
        if (n_starts != n_ends || n_starts % 8 != 0) {
            PyErr_SetString(PyExc_ValueError, "gaps lack a start or an end");
            return false;
        }
        lp_idle_track_begin(track);
        track->starts = (const uint64_t *)(const void *)starts;
        track->ends = (const uint64_t *)(const void *)ends;
        track->n_gaps = (size_t)n_starts / 8;
    }
    return true;
}

/* Pass a batch to the tracks.  1: done; 0: the slices are not sorted; -1: an
 * exception. */
static int
charge_batch(lp_idle_tracks *self, const lp_packed *batch, uint64_t *last)
{
    uint64_t start = 0;

    for (Py_ssize_t i = 0; i < batch->n; i++) {
        lp_trace_slice slice = {
            .thread = (uint32_t)value_at(batch, THREAD, i),
            .function = (uint32_t)value_at(batch, FUNCTION, i),
            .start = start += value_at(batch, START, i),
        };

        if (slice.start < *last) {
            return 0;
        }
        *last = slice.start;
        if (slice.function >= self->n_functions ||
            self->transparent[slice.function]) {
            continue;
        }
        for (Py_ssize_t k = 0; k < self->n; k++) {
            if (self->tracks[k].thread != slice.thread) {
                continue;
            }
            slice.line = (uint32_t)value_at(batch, LINE, i);
            slice.ns = value_at(batch, NS, i);
            if (!lp_idle_track_add(
                    &self->tracks[k], &slice, value_at(batch, WAIT, i),
                    value_at(batch, UNSURE, i), self->short_lines)) {
                PyErr_NoMemory();
                return -1;
            }
        }
    }
    return 1;
}

/* Pass all batches to the tracks; as charge_batch(). */
static int
charge_all(lp_idle_tracks *self, PyObject *batches)
{
    PyObject *iterator = PyObject_GetIter(batches);
    int sorted = iterator == NULL ? -1 : 1;
    uint64_t last = 0;

    while (sorted == 1) {
        PyObject *item = PyIter_Next(iterator), *slices;
        lp_packed batch = {0};

        if (item == NULL) {
            sorted = PyErr_Occurred() ? -1 : 1;
            break;
        }
        sorted = -1;
        if (PyArg_ParseTuple(item, "O!y#y#:idle_sums", &PyTuple_Type, &slices,
                             &batch.columns[WAIT], &batch.sizes[WAIT],
                             &batch.columns[UNSURE], &batch.sizes[UNSURE]) &&
            parse_batch(slices, &batch)) {
            sorted = charge_batch(self, &batch, &last);
        }
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    return sorted;
}

/* Return the sums of all tracks, as tuples. */
static PyObject *
make_idle_sums(const lp_idle_tracks *self)
{
    PyObject *list = PyList_New(0);

    for (Py_ssize_t i = 0; list != NULL && i < self->n; i++) {
        const lp_idle_track *track = &self->tracks[i];

        for (size_t k = 0; list != NULL && k < track->n_sums; k++) {
            const lp_idle_sum *sum = &track->sums[k];
            PyObject *row;

            if (sum->inclusive == 0) {
                continue;
            }
            row = Py_BuildValue("(nIIKKKK)", i, sum->function, sum->line,
                                (ull)sum->inclusive, (ull)sum->computing,
                                (ull)sum->waiting, (ull)sum->unknown);
            if (row == NULL || PyList_Append(list, row) < 0) {
                Py_CLEAR(list);
            }
            Py_XDECREF(row);
        }
    }
    return list;
}

PyObject *
lp_idle_sums(PyObject *Py_UNUSED(module), PyObject *args)
{
    lp_idle_tracks self = {0};
    PyObject *batches, *tracks, *made = NULL;
    int short_lines, sorted;

    if (!PyArg_ParseTuple(args, "OO!y#p:idle_sums", &batches, &PyTuple_Type,
                          &tracks, &self.transparent, &self.n_functions,
                          &short_lines)) {
        return NULL;
    }
    self.short_lines = short_lines != 0;
    if (tracks_begin(&self, tracks)) {
        sorted = charge_all(&self, batches);
        if (sorted == 0) {
            PyErr_SetString(PyExc_ValueError, "the slices are not sorted");
        }
        if (sorted == 1) {
            for (Py_ssize_t i = 0; i < self.n; i++) {
                lp_idle_track_end(&self.tracks[i], self.short_lines);
            }
            made = make_idle_sums(&self);
        }
    }
    tracks_free(&self);
    return made;
}
