/* Call times: the nodes of all threads' call trees as a profile shows them.
 *
 * Steps, on plain arrays, when the program has ended:
 *
 * - join: code objects of one function become one function.  The callees of a
 *   code object that is not shown, and its self time, go to its caller.
 * - calls whose paths were not kept (see call_tree.h) become two kinds of
 *   nodes: for callers, lines and functions, one for each line and callee; for
 *   call paths, a child of the deepest kept node with the rest of its time.
 * - fit: times are converted from ticks to ns, such that they add up exactly
 *   to those of the lines.  lineprof/snapshot/calls.py says to which sums.
 *
 * Times are wider than 64 bits in between: recursion adds the same time up
 * many times.
 */
#ifndef LP_ARITHMETIC_CALL_TIMES_H
#define LP_ARITHMETIC_CALL_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef __int128 lp_wide;

enum { LP_NO_NODE = -1, LP_NOT_SHOWN = -1 };

/* A node as the core counted it, and several joined ones. */
typedef struct lp_call_row {
    int64_t parent; /* index of its caller's node, or LP_NO_NODE */
    int64_t line;   /* of the caller; 0 if unknown */
    int64_t serial; /* of the code object; once joined: the function */
    int64_t thread; /* the core's number */
    int64_t calls, primitive;
    int64_t self, self_cost; /* ticks, and parts of a tick */
    int64_t total, total_cost;
    int64_t inclusive, inclusive_cost;
    int64_t kind; /* of lp_node_kind */
} lp_call_row;

/* A node of the profile.  The parent of an LP_NODE_MERGED is the function that
 * calls, as an LP_NODE_CALLER, or LP_NO_NODE.  These callers have no numbers,
 * and are no part of any call path. */
typedef struct lp_call_node {
    int64_t parent; /* index of a node before this one, or LP_NO_NODE */
    int64_t line, function, thread;
    int64_t calls, primitive;
    lp_wide self, total, inclusive; /* ns; below 0 if the cost was more */
    lp_wide raw;                    /* inclusive, with the cost of measuring */
    bool is_primitive;              /* total and inclusive are of one time */
    uint8_t kind; /* of lp_node_kind; an LP_NODE_DEEPER has no function */
} lp_call_node;

/* A line of a function on one thread, in the order of the functions. */
typedef struct lp_call_line {
    int64_t function, line, thread;
    int64_t ns, raw; /* its time, and that with the cost of measuring */
    int64_t more;    /* result: what it is to get, so that callees fit in it */
} lp_call_line;

enum {
    LP_CALL_SEVERAL = 1, /* it has several code objects */
    LP_CALL_OF_C = 2,
    LP_CALL_ONCE = 4,     /* it is among the functions with lines, and never
                             recursed */
    LP_CALL_RECURSED = 8, /* the same, but it did */
};

typedef struct lp_call_function {
    int64_t flags;
    int64_t total; /* result: ns of all primitive calls; -1 if not known */
} lp_call_function;

typedef struct lp_tick_scale {
    uint64_t ns_per_tick; /* times 2**32 */
    int64_t cost_one;     /* parts in a tick */
    double cost_share;    /* of a cost that is taken out */
} lp_tick_scale;

/* All of it; arrays are the caller's, but `nodes` is owned. */
typedef struct lp_call_times {
    lp_tick_scale scale;
    const lp_call_row *rows;
    size_t n_rows;
    const int32_t *function_of; /* by serial: function, or LP_NOT_SHOWN */
    size_t n_serials;
    lp_call_function *functions;
    size_t n_functions;
    lp_call_line *lines;
    size_t n_lines;
    lp_call_node *nodes; /* owned, parents first */
    size_t n_nodes;
} lp_call_times;

/* Make the nodes, each with the core's number of its thread and unfitted
 * times, from rows whose parents come first; false if memory is out. */
bool lp_call_times_join(lp_call_times *times);

/* Make the times of the nodes and lines fit each other; the threads of both
 * are numbered alike.  False if memory is out. */
bool lp_call_times_fit(lp_call_times *times);

void lp_call_times_free(lp_call_times *times);

/* Ticks in ns, and a cost in ns. */
lp_wide lp_ticks_ns(const lp_tick_scale *scale, lp_wide ticks);
lp_wide lp_cost_ns(const lp_tick_scale *scale, int64_t cost);

#endif
