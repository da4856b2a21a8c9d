#include "lp_calls_snapshot.h"

#include "lp_calls.h"

/* The line of the function above, as the source file numbers it. */
static uint32_t
line_of(const lp_node *node)
{
    const lp_counts *above;

    if (node->line == NULL || node->parent->counts == NULL) {
        return 0;
    }
    above = node->parent->counts;
    return lp_process.codes[above->code_id]->layout.first_line +
           (uint32_t)(node->line - above->lines);
}

static int
append(PyObject *nodes, const lp_node *node, Py_ssize_t first,
       Py_ssize_t thread)
{
    bool below = node->parent->counts != NULL;
    PyObject *row = Py_BuildValue(
        "(nIInKKLLKKKK)",
        below ? first + (Py_ssize_t)node->parent->number : -1, line_of(node),
        node->counts->serial, thread, (unsigned long long)node->calls,
        (unsigned long long)node->primitive, (long long)node->self,
        (long long)node->self_cost, (unsigned long long)node->total,
        (unsigned long long)node->total_cost,
        (unsigned long long)node->inclusive,
        (unsigned long long)node->inclusive_cost);
    int failed = row == NULL || PyList_Append(nodes, row) < 0;

    Py_XDECREF(row);
    return failed ? -1 : 0;
}

PyObject *
lp_calls_snapshot(const lp_tracer *tracer)
{
    PyObject *nodes = PyList_New(0);
    unsigned long long folded = 0;
    Py_ssize_t thread = 0;

    if (nodes == NULL) {
        return NULL;
    }
    for (lp_recorder *rec = lp_process.recorders; rec != NULL;
         rec = rec->next, thread++) {
        const lp_tree *tree = lp_calls_tree(rec, tracer);
        Py_ssize_t first = PyList_GET_SIZE(nodes);

        if (tree == NULL) {
            continue;
        }
        folded += tree->folded;
        for (const lp_node *node = tree->first; node != NULL;
             node = node->next) {
            if (append(nodes, node, first, thread) < 0) {
                Py_DECREF(nodes);
                return NULL;
            }
        }
    }
    return Py_BuildValue("(KN)", folded, nodes);
}
