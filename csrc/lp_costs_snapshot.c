#include "lp_costs_snapshot.h"

#include <stdlib.h>

#include "lp_calls.h"

/* Of one code object, all threads together. */
typedef struct spent {
    uint64_t calls, hits, own;
    int64_t ticks, cost; /* in its own lines; below 0 while it waits */
} spent;

static void
add_counts(spent *sum, const lp_counts *counts, const lp_costs *costs)
{
    sum->calls += counts->calls;
    sum->own += counts->calls * costs->call + counts->resumes * costs->resume;
    for (uint32_t i = 0; i < counts->n_lines; i++) {
        const lp_line *line = &counts->lines[i];

        sum->hits += line->hits;
        sum->own += line->hits * line->weight;
    }
}

static void
add_tree(spent *sums, const lp_tree *tree)
{
    const lp_node *node = tree == NULL ? NULL : tree->first;

    for (; node != NULL; node = node->next) {
        spent *sum = &sums[node->counts->code_id];

        sum->ticks += (int64_t)node->self;
        sum->cost += (int64_t)node->self_cost;
    }
}

static void
add_all(spent *sums, const lp_tracer *tracer)
{
    for (const lp_recorder *rec = lp_process.recorders; rec != NULL;
         rec = rec->next) {
        for (uint32_t i = 0; i < tracer->n_codes; i++) {
            uint32_t id = tracer->codes[i]->layout.code_id;

            if (id < rec->n_counts && rec->counts[id] != NULL) {
                add_counts(&sums[id], rec->counts[id], &rec->costs);
            }
        }
        add_tree(sums, lp_calls_tree(rec, tracer));
    }
}

static int
append(PyObject *list, PyObject *key, const lp_code *code, const spent *sum)
{
    PyObject *object = code->code == NULL ? Py_None : code->code;
    PyObject *row = Py_BuildValue(
        "(OOKKKLL)", key, object, (unsigned long long)sum->calls,
        (unsigned long long)sum->hits, (unsigned long long)sum->own,
        (long long)sum->ticks, (long long)sum->cost);
    int failed = row == NULL || PyList_Append(list, row) < 0;

    Py_XDECREF(row);
    return failed ? -1 : 0;
}

PyObject *
lp_costs_snapshot(const lp_tracer *tracer)
{
    PyObject *list = PyList_New(0);
    uint32_t n_codes = tracer->n_codes; /* rows may run the program's code */
    spent *sums = calloc(lp_process.n_codes + 1, sizeof(*sums));

    if (sums == NULL || list == NULL) {
        free(sums);
        Py_XDECREF(list);
        return PyErr_NoMemory();
    }
    add_all(sums, tracer);
    for (uint32_t i = 0; i < n_codes && tracer->open; i++) {
        const lp_code *code = tracer->codes[i];
        const spent *sum = &sums[code->layout.code_id];

        if ((sum->calls != 0 || sum->hits != 0) &&
            !(code->flags & LP_CODE_IGNORED) &&
            append(list, PyList_GET_ITEM(tracer->keys, (Py_ssize_t)i), code,
                   sum) < 0) {
            Py_CLEAR(list);
            break;
        }
    }
    free(sums);
    return list;
}
