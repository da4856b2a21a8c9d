#include "module/call_times_functions.h"

#include <stdlib.h>
#include <string.h>

#include "arithmetic/call_times.h"
#include "record/call_tree.h"

enum { COLUMNS = 9, LINE_FIELDS = 4 };

/* No run of this world takes longer than an int64_t has ns: such a number
 * comes of a broken clock, and of that no wrong sign is made. */
static int64_t
narrow(lp_wide number)
{
    if (number > INT64_MAX) {
        return INT64_MAX;
    }
    return number < 0 ? 0 : (int64_t)number;
}

static bool
is_of_paths(const lp_call_node *node)
{
    return node->kind == LP_NODE_PATH || node->kind == LP_NODE_DEEPER;
}

/* Get the numbers of a node; its parent is `parent`. */
static void
get_columns(const lp_call_times *times, const lp_call_node *node,
            int64_t parent, int64_t *numbers)
{
    bool is_deeper = node->kind == LP_NODE_DEEPER;

    numbers[0] = parent;
    numbers[1] = node->line;
    numbers[2] = is_deeper ? (int64_t)times->n_functions : node->function;
    numbers[3] = node->thread;
    numbers[4] = node->calls;
    numbers[5] = is_deeper ? node->calls : node->primitive;
    numbers[6] = narrow(node->self);
    numbers[7] = narrow(node->total);
    numbers[8] = narrow(node->inclusive);
}

/* Return new columns of `n` numbers, and where these are. */
static PyObject *
new_columns(size_t n, int64_t **to)
{
    PyObject *columns = PyTuple_New(COLUMNS);
    Py_ssize_t size = (Py_ssize_t)(n * sizeof(int64_t));

    for (Py_ssize_t i = 0; columns != NULL && i < COLUMNS; i++) {
        PyObject *column = PyBytes_FromStringAndSize(NULL, size);

        if (column == NULL) {
            Py_CLEAR(columns);
            break;
        }
        PyTuple_SET_ITEM(columns, i, column);
        to[i] = (int64_t *)(void *)PyBytes_AS_STRING(column);
    }
    return columns;
}

static void
set_columns(int64_t **to, size_t place, const int64_t *numbers)
{
    for (size_t column = 0; column < COLUMNS; column++) {
        to[column][place] = numbers[column];
    }
}

/* Return the columns of the nodes of call paths. */
static PyObject *
make_columns(const lp_call_times *times)
{
    int64_t *to[COLUMNS], *places;
    PyObject *columns;
    size_t n = 0;

    places = calloc(times->n_nodes + 1, sizeof(*places));
    if (places == NULL) {
        return PyErr_NoMemory();
    }
    for (size_t i = 0; i < times->n_nodes; i++) {
        if (is_of_paths(&times->nodes[i])) {
            places[i] = (int64_t)n++;
        }
    }
    columns = new_columns(n, to);
    for (size_t i = 0; columns != NULL && i < times->n_nodes; i++) {
        const lp_call_node *node = &times->nodes[i];
        int64_t parent = node->parent, numbers[COLUMNS];

        if (is_of_paths(node)) {
            parent = parent == LP_NO_NODE ? LP_NO_NODE : places[parent];
            get_columns(times, node, parent, numbers);
            set_columns(to, (size_t)places[i], numbers);
        }
    }
    free(places);
    return columns;
}

/* Return the columns of merged calls, whose parent is the caller's function.
 */
static PyObject *
make_merged(const lp_call_times *times)
{
    int64_t *to[COLUMNS];
    PyObject *columns;
    size_t n = 0, place = 0;

    for (size_t i = 0; i < times->n_nodes; i++) {
        n += times->nodes[i].kind == LP_NODE_MERGED;
    }
    columns = new_columns(n, to);
    for (size_t i = 0; columns != NULL && i < times->n_nodes; i++) {
        const lp_call_node *node = &times->nodes[i];
        int64_t caller = node->parent, numbers[COLUMNS];

        if (node->kind == LP_NODE_MERGED) {
            if (caller != LP_NO_NODE) {
                caller = times->nodes[caller].function;
            }
            get_columns(times, node, caller, numbers);
            set_columns(to, place++, numbers);
        }
    }
    return columns;
}

static PyObject *
make_result(const lp_call_times *times)
{
    PyObject *totals = PyBytes_FromStringAndSize(
        NULL, (Py_ssize_t)(times->n_functions * sizeof(int64_t)));
    PyObject *more = PyBytes_FromStringAndSize(
        NULL, (Py_ssize_t)(times->n_lines * sizeof(int64_t)));
    PyObject *columns = make_columns(times);
    PyObject *merged = make_merged(times);

    if (totals == NULL || more == NULL || columns == NULL || merged == NULL) {
        Py_XDECREF(totals);
        Py_XDECREF(more);
        Py_XDECREF(merged);
        Py_XDECREF(columns);
        return NULL;
    }
    for (size_t i = 0; i < times->n_functions; i++) {
        memcpy(PyBytes_AS_STRING(totals) + i * sizeof(int64_t),
               &times->functions[i].total, sizeof(int64_t));
    }
    for (size_t i = 0; i < times->n_lines; i++) {
        memcpy(PyBytes_AS_STRING(more) + i * sizeof(int64_t),
               &times->lines[i].more, sizeof(int64_t));
    }
    return Py_BuildValue("(NNNN)", columns, totals, more, merged);
}

/* Set the threads of all nodes to the results of `place_of`, which is called
 * once for each run of nodes of one thread. */
static int
set_threads(lp_call_times *times, PyObject *place_of)
{
    int64_t number = 0, place = 0;

    for (size_t i = 0; i < times->n_nodes; i++) {
        lp_call_node *node = &times->nodes[i];

        if (i == 0 || node->thread != number) {
            PyObject *result;

            number = node->thread;
            result = PyObject_CallFunction(place_of, "L", (long long)number);
            if (result == NULL) {
                return -1;
            }
            place = PyLong_AsLongLong(result);
            Py_DECREF(result);
            if (PyErr_Occurred()) {
                return -1;
            }
        }
        node->thread = place;
    }
    return 0;
}

/* Whether all indexes lead somewhere. */
static bool
is_valid(const lp_call_times *times)
{
    for (size_t i = 0; i < times->n_serials; i++) {
        if (times->function_of[i] < LP_NOT_SHOWN ||
            times->function_of[i] >= (int64_t)times->n_functions) {
            return false;
        }
    }
    for (size_t i = 0; i < times->n_lines; i++) {
        if (times->lines[i].function < 0 ||
            times->lines[i].function >= (int64_t)times->n_functions) {
            return false;
        }
    }
    for (size_t i = 0; i < times->n_rows; i++) {
        if (times->rows[i].parent >= (int64_t)i ||
            times->rows[i].parent < LP_NO_NODE) {
            return false;
        }
    }
    return times->scale.cost_one > 0;
}

/* The arguments that are not of use as they are. */
typedef struct arguments {
    const int64_t *flags;
    const int64_t *spans; /* function, number of lines */
    size_t n_spans;
    const int64_t *lines;
} arguments;

/* Copy the flags and the lines, which get results; false if memory is out. */
static bool
copy_in(lp_call_times *times, const arguments *given)
{
    const int64_t *from = given->lines;
    size_t n = 0;

    times->functions =
        calloc(times->n_functions + 1, sizeof(*times->functions));
    times->lines = calloc(times->n_lines + 1, sizeof(*times->lines));
    if (times->functions == NULL || times->lines == NULL) {
        return false;
    }
    for (size_t i = 0; i < times->n_functions; i++) {
        times->functions[i].flags = given->flags[i];
    }
    for (size_t i = 0; i < given->n_spans; i++) {
        for (int64_t j = given->spans[2 * i + 1]; j > 0; j--) {
            if (n == times->n_lines) {
                break; /* fewer than the spans have */
            }
            times->lines[n++] = (lp_call_line){.function = given->spans[2 * i],
                                               .line = from[0],
                                               .thread = from[1],
                                               .ns = from[2],
                                               .raw = from[3]};
            from += LINE_FIELDS;
        }
    }
    return true;
}

static PyObject *
compute(lp_call_times *times, const arguments *given, PyObject *place_of)
{
    bool done;

    if (!copy_in(times, given)) {
        return PyErr_NoMemory();
    }
    if (!is_valid(times)) {
        PyErr_SetString(PyExc_ValueError, "there is no such function or node");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    done = lp_call_times_join(times);
    Py_END_ALLOW_THREADS
    if (!done) {
        return PyErr_NoMemory();
    }
    if (set_threads(times, place_of) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    done = lp_call_times_fit(times);
    Py_END_ALLOW_THREADS
    return done ? make_result(times) : PyErr_NoMemory();
}

PyObject *
lp_call_times_of(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer rows, function_of, flags, spans, lines;
    PyObject *place_of, *result;
    lp_call_times times = {.n_nodes = 0};
    unsigned long long ns_per_tick;
    long long cost_one;

    if (!PyArg_ParseTuple(args, "y*y*y*y*y*O(KLd):call_times", &rows,
                          &function_of, &flags, &spans, &lines, &place_of,
                          &ns_per_tick, &cost_one, &times.scale.cost_share)) {
        return NULL;
    }
    times.scale.ns_per_tick = ns_per_tick;
    times.scale.cost_one = cost_one;
    times.rows = rows.buf;
    times.n_rows = (size_t)rows.len / sizeof(*times.rows);
    times.function_of = function_of.buf;
    times.n_serials = (size_t)function_of.len / sizeof(*times.function_of);
    times.n_functions = (size_t)flags.len / sizeof(int64_t);
    times.n_lines = (size_t)lines.len / (LINE_FIELDS * sizeof(int64_t));
    result = compute(
        &times,
        &(arguments){.flags = flags.buf,
                     .spans = spans.buf,
                     .n_spans = (size_t)spans.len / 2 / sizeof(int64_t),
                     .lines = lines.buf},
        place_of);
    lp_call_times_free(&times);
    free(times.functions);
    free(times.lines);
    PyBuffer_Release(&rows);
    PyBuffer_Release(&function_of);
    PyBuffer_Release(&flags);
    PyBuffer_Release(&spans);
    PyBuffer_Release(&lines);
    return result;
}
