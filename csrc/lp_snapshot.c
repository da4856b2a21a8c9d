#include "lp_snapshot.h"

#include "lp_calls_snapshot.h"

/* What the threads did on one code object, summed. */
typedef struct sums {
    unsigned long long calls, total, total_cost;
    int recursed;
} sums;

static int
append_line(PyObject *lines, uint32_t number, Py_ssize_t thread,
            const lp_line *line, uint64_t awaited)
{
    bool known = line->least != LP_NEVER;
    PyObject *row;
    int failed;

    if (line->hits == 0 && line->ticks == 0 && awaited == 0) {
        return 0;
    }
    row = Py_BuildValue(
        "(InKKKKLLI)", number, thread, (unsigned long long)line->hits,
        (unsigned long long)line->ticks,
        (unsigned long long)lp_line_cost(line), (unsigned long long)awaited,
        known ? (long long)line->least : -1LL,
        known ? (long long)line->most : -1LL, line->weight);
    if (row == NULL) {
        return -1;
    }
    failed = PyList_Append(lines, row);
    Py_DECREF(row);
    return failed;
}

static int
append_counts(PyObject *lines, const lp_code *code, lp_counts *counts,
              Py_ssize_t thread, sums *sum)
{
    const uint64_t *awaits = lp_counts_awaits(counts);

    sum->calls += counts->calls;
    sum->total += counts->total;
    sum->total_cost += counts->total_cost;
    sum->recursed |= counts->recursed != 0;
    for (uint32_t i = 0; i < counts->n_lines; i++) {
        if (append_line(lines, code->layout.first_line + i, thread,
                        &counts->lines[i], awaits ? awaits[i] : 0) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
take_code(const lp_tracer *tracer, uint32_t place)
{
    const lp_code *code = tracer->codes[place];
    uint32_t id = code->layout.code_id;
    PyObject *lines = PyList_New(0);
    Py_ssize_t thread = 0;
    sums sum = {0, 0, 0, 0};

    if (lines == NULL) {
        return NULL;
    }
    for (lp_recorder *rec = lp_process.recorders; rec != NULL;
         rec = rec->next, thread++) {
        if (id < rec->n_counts && rec->counts[id] != NULL &&
            append_counts(lines, code, rec->counts[id], thread, &sum) < 0) {
            Py_DECREF(lines);
            return NULL;
        }
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
    for (lp_recorder *rec = lp_process.recorders; rec != NULL;
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
        if (append_owned(codes, take_code(tracer, i)) < 0) {
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
