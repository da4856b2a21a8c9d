#include "module/snapshot.h"

#include <stdlib.h>

#include "module/line_records.h"
#include "record/off_cpu_sampler.h"

/* Return the line of the calling function, as numbered in the source file. */
static uint32_t
line_of(const lp_node *node)
{
    const lp_code_counters *above;

    if (node->line == NULL || node->parent->counters == NULL) {
        return 0;
    }
    above = node->parent->counters;
    return lp_the_engine.codes[above->code_id]->layout.first_line +
           (uint32_t)(node->line - above->lines);
}

void
lp_snapshot_node(lp_call_row *row, const lp_node *node)
{
    row->calls = (int64_t)node->calls;
    row->primitive = (int64_t)node->primitive;
    row->self = (int64_t)node->self;
    row->self_cost = (int64_t)node->self_cost;
    row->total = (int64_t)node->total;
    row->total_cost = (int64_t)node->total_cost;
    row->inclusive = (int64_t)lp_node_inclusive(node);
    row->inclusive_cost = (int64_t)lp_node_inclusive_cost(node);
}

static lp_call_row
row_of(const lp_node *node, Py_ssize_t first, Py_ssize_t thread)
{
    bool below = node->parent->counters != NULL;
    lp_call_row row = {
        .parent =
            below ? first + (Py_ssize_t)node->parent->number : LP_NO_NODE,
        .line = line_of(node),
        .serial = node->counters == NULL ? 0 : node->counters->serial,
        .thread = thread,
        .kind = node->kind,
    };

    lp_snapshot_node(&row, node);
    return row;
}

static Py_ssize_t
count_nodes(const lp_tracer *tracer)
{
    Py_ssize_t n = 0;

    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        const lp_tree *tree = lp_calls_tree(rec, tracer);

        n += tree == NULL ? 0 : (Py_ssize_t)tree->n_nodes;
    }
    return n;
}

PyObject *
lp_calls_snapshot(const lp_tracer *tracer)
{
    PyObject *rows = PyBytes_FromStringAndSize(
        NULL, count_nodes(tracer) * (Py_ssize_t)sizeof(lp_call_row));
    unsigned long long merged = 0;
    Py_ssize_t thread = 0, n = 0;
    lp_call_row *to;

    if (rows == NULL) {
        return NULL;
    }
    to = (lp_call_row *)(void *)PyBytes_AS_STRING(rows);
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next, thread++) {
        const lp_tree *tree = lp_calls_tree(rec, tracer);
        Py_ssize_t first = n;

        if (tree == NULL) {
            continue;
        }
        for (const lp_node *node = tree->first; node != NULL;
             node = node->next) {
            merged += node->kind == LP_NODE_MERGED ? node->calls : 0;
            to[n++] = row_of(node, first, thread);
        }
    }
    return Py_BuildValue("(KN)", merged, rows);
}

/* Cost of one code object, over all threads. */
typedef struct code_cost {
    uint64_t calls, hits, own_cost;
    int64_t ticks,
        cost; /* in its own lines; negative while its callees are open */
} code_cost;

static void
add_counts(code_cost *sum, const lp_code_counters *counters,
           const lp_costs *costs)
{
    sum->calls += counters->calls;
    sum->own_cost +=
        counters->calls * costs->call + counters->resumes * costs->resume;
    for (uint32_t i = 0; i < counters->n_lines; i++) {
        const lp_line *line = &counters->lines[i];

        sum->hits += line->hits;
        sum->own_cost += line->hits * line->weight;
    }
}

static void
add_tree(code_cost *sums, const lp_tree *tree)
{
    const lp_node *node = tree == NULL ? NULL : tree->first;

    for (; node != NULL; node = node->next) {
        if (node->counters != NULL) {
            code_cost *sum = &sums[node->counters->code_id];

            sum->ticks += (int64_t)node->self;
            sum->cost += (int64_t)node->self_cost;
        }
    }
}

static void
add_threads(code_cost *sums, const lp_tracer *tracer)
{
    for (const lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        for (uint32_t i = 0; i < tracer->n_codes; i++) {
            uint32_t id = tracer->codes[i]->layout.code_id;

            if (id < rec->n_counters && rec->counters[id] != NULL) {
                add_counts(&sums[id], rec->counters[id], &rec->costs);
            }
        }
        add_tree(sums, lp_calls_tree(rec, tracer));
    }
}

static int
append_cost(PyObject *list, PyObject *key, const lp_code *code,
            const code_cost *sum)
{
    PyObject *object = code->code == NULL ? Py_None : code->code;
    PyObject *row = Py_BuildValue(
        "(OOKKKLL)", key, object, (unsigned long long)sum->calls,
        (unsigned long long)sum->hits, (unsigned long long)sum->own_cost,
        (long long)sum->ticks, (long long)sum->cost);
    int failed = row == NULL || PyList_Append(list, row) < 0;

    Py_XDECREF(row);
    return failed ? -1 : 0;
}

PyObject *
lp_costs_snapshot(const lp_tracer *tracer)
{
    PyObject *list = PyList_New(0);
    uint32_t n_codes =
        tracer->n_codes; /* building rows may run code of the program */
    code_cost *sums = calloc(lp_the_engine.n_codes + 1, sizeof(*sums));

    if (sums == NULL || list == NULL) {
        free(sums);
        Py_XDECREF(list);
        return PyErr_NoMemory();
    }
    add_threads(sums, tracer);
    for (uint32_t i = 0; i < n_codes && tracer->open; i++) {
        const lp_code *code = tracer->codes[i];
        const code_cost *sum = &sums[code->layout.code_id];

        if ((sum->calls != 0 || sum->hits != 0) &&
            !(code->flags & LP_CODE_IGNORED) &&
            append_cost(list, PyList_GET_ITEM(tracer->keys, (Py_ssize_t)i),
                        code, sum) < 0) {
            Py_CLEAR(list);
            break;
        }
    }
    free(sums);
    return list;
}

/* Sums of the counters of one code object, over all threads. */
typedef struct code_sums {
    unsigned long long calls, total, total_cost;
    int recursed;
} code_sums;

/* Fill in the row of a line; false if nothing was counted. */
static bool
fill_row(lp_line_row *row, uint32_t number, Py_ssize_t thread,
         const lp_line *line, uint64_t awaited)
{
    bool known = line->min != LP_NO_MIN;

    if (line->hits == 0 && line->ticks == 0 && awaited == 0) {
        return false;
    }
    *row = (lp_line_row){
        .line = number,
        .thread = thread,
        .hits = (int64_t)line->hits,
        .ticks = (int64_t)line->ticks,
        .cost = (int64_t)lp_line_cost(line),
        .awaited = (int64_t)awaited,
        .min = known ? (int64_t)line->min : -1,
        .max = known ? (int64_t)line->max : -1,
        .hit_cost = line->weight,
    };
    return true;
}

/* Add the lines of one thread to `rows`; return how many there are. */
static Py_ssize_t
add_lines(lp_line_row *rows, lp_code_counters *counters, uint32_t first_line,
          Py_ssize_t thread)
{
    const uint64_t *awaits = lp_code_counters_awaits(counters);
    Py_ssize_t n = 0;

    for (uint32_t i = 0; i < counters->n_lines; i++) {
        n += fill_row(&rows[n], first_line + i, thread, &counters->lines[i],
                      awaits ? awaits[i] : 0);
    }
    return n;
}

PyObject *
lp_snapshot_lines(lp_code_counters *counters, uint32_t first_line)
{
    lp_line_row *rows =
        malloc((counters->n_lines + (size_t)1) * sizeof(*rows));
    PyObject *lines;
    Py_ssize_t n;

    if (rows == NULL) {
        return PyErr_NoMemory();
    }
    n = add_lines(rows, counters, first_line, (Py_ssize_t)counters->thread);
    lines = PyBytes_FromStringAndSize((const char *)rows,
                                      n * (Py_ssize_t)sizeof(*rows));
    free(rows);
    return lines;
}

static void
add_sums(code_sums *sum, const lp_code_counters *counters)
{
    sum->calls += counters->calls;
    sum->total += counters->total;
    sum->total_cost += counters->total_cost;
    sum->recursed |= counters->recursed != 0;
}

/* The counters of one code object on one thread, or NULL. */
static lp_code_counters *
counters_of(const lp_recorder *rec, const lp_code *code)
{
    uint32_t id = code->layout.code_id;

    return id < rec->n_counters ? rec->counters[id] : NULL;
}

/* Return the packed lines of one code object. */
static PyObject *
make_lines(const lp_code *code, code_sums *sum)
{
    size_t max = 0;
    Py_ssize_t thread = 0, n = 0;
    lp_line_row *rows;
    PyObject *lines;

    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        lp_code_counters *counters = counters_of(rec, code);

        max += counters == NULL ? 0 : counters->n_lines;
    }
    rows = malloc((max + 1) * sizeof(*rows));
    if (rows == NULL) {
        return PyErr_NoMemory();
    }
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next, thread++) {
        lp_code_counters *counters = counters_of(rec, code);

        if (counters != NULL) {
            add_sums(sum, counters);
            n +=
                add_lines(&rows[n], counters, code->layout.first_line, thread);
        }
    }
    lines = PyBytes_FromStringAndSize((const char *)rows,
                                      n * (Py_ssize_t)sizeof(*rows));
    free(rows);
    return lines;
}

static PyObject *
make_code_row(const lp_tracer *tracer, uint32_t place)
{
    const lp_code *code = tracer->codes[place];
    code_sums sum = {0, 0, 0, 0};
    PyObject *lines = make_lines(code, &sum);

    if (lines == NULL) {
        return NULL;
    }
    return Py_BuildValue("(OKKKiNI)",
                         PyList_GET_ITEM(tracer->keys, (Py_ssize_t)place),
                         sum.calls, sum.total, sum.total_cost, sum.recursed,
                         lines, code->layout.serial);
}

static int
append_owned(PyObject *list, PyObject *item)
{
    int failed;

    if (item == NULL) {
        return -1;
    }
    failed = PyList_Append(list, item);
    Py_DECREF(item);
    return failed;
}

PyObject *
lp_snapshot_take(const lp_tracer *tracer)
{
    PyObject *threads = PyList_New(0);
    PyObject *codes = PyList_New(0);
    PyObject *calls;

    if (threads == NULL || codes == NULL) {
        goto error;
    }
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next) {
        lp_recorder_settle(rec, lp_clock_now(&rec->clock));
        if (append_owned(threads,
                         Py_BuildValue("(Ks)",
                                       (unsigned long long)rec->native_id,
                                       rec->name)) < 0) {
            goto error;
        }
    }
    for (uint32_t i = 0; i < tracer->n_codes; i++) {
        if (append_owned(codes, make_code_row(tracer, i)) < 0) {
            goto error;
        }
    }
    calls = lp_calls_snapshot(tracer);
    if (calls != NULL) {
        return Py_BuildValue("(NNN)", threads, codes, calls);
    }

error:
    Py_XDECREF(threads);
    Py_XDECREF(codes);
    return NULL;
}

/* Append the waits on one line for one cause; numbers after the causes are the
 * parts of the line's self time, see lp_self_part. */
static int
append_wait(PyObject *list, const lp_off_cpu_line *line, uint32_t serial,
            uint32_t first_line, Py_ssize_t thread, int cause)
{
    uint64_t ns = cause < LP_WAIT_CAUSES ? line->waited.ns[cause]
                                         : line->self[cause - LP_WAIT_CAUSES];
    PyObject *row;
    int failed;

    if (ns == 0) {
        return 0;
    }
    row = Py_BuildValue("(IInik)", serial,
                        first_line + (unsigned int)line->offset, thread, cause,
                        (unsigned long)ns);
    if (row == NULL) {
        return -1;
    }
    failed = PyList_Append(list, row);
    Py_DECREF(row);
    return failed;
}

int
lp_snapshot_add_wait(PyObject *list, const lp_off_cpu_line *line,
                     uint32_t serial, uint32_t first_line, Py_ssize_t thread)
{
    const int causes = (int)LP_WAIT_CAUSES + (int)LP_SELF_PARTS;

    for (int cause = 0; cause < causes; cause++) {
        if (append_wait(list, line, serial, first_line, thread, cause) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Append the waits of the lines of one code object in one thread. */
static int
append_waits(PyObject *list, const lp_off_cpu_lines *waits,
             const lp_layout *layout, Py_ssize_t thread)
{
    for (uint32_t i = 0; waits != NULL && i < waits->n; i++) {
        if (lp_snapshot_add_wait(list, &waits->lines[i], layout->serial,
                                 layout->first_line, thread) < 0) {
            return -1;
        }
    }
    return 0;
}

PyObject *
lp_snapshot_waits(const lp_tracer *tracer)
{
    PyObject *list = PyList_New(0);
    Py_ssize_t thread = 0;

    if (list == NULL) {
        return NULL;
    }
    for (lp_recorder *rec = lp_the_engine.recorders; rec != NULL;
         rec = rec->next, thread++) {
        for (uint32_t i = 0; i < tracer->n_codes; i++) {
            const lp_code *code = tracer->codes[i];
            uint32_t id = code->layout.code_id;

            if (id < rec->n_counters && rec->counters[id] != NULL &&
                append_waits(list, rec->counters[id]->waits, &code->layout,
                             thread) < 0) {
                Py_DECREF(list);
                return NULL;
            }
        }
    }
    return list;
}

PyObject *
lp_snapshot_waits_unavailable(PyObject *Py_UNUSED(module),
                              PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(lp_sampler_is_unavailable());
}
