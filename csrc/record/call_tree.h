/* The call tree: the calls that one tracer counts on one thread.
 *
 * A node is a function as called from one line, on one call path.  A call path
 * contains each function once: a recursive call is a leaf, and its callees are
 * below the node of the outer call.  So recursion makes the tree no deeper,
 * there are few nodes, and the calls from a line to a function are the sum of
 * the nodes of both.
 *
 * There is room for a million call paths and more.  When it is used up, each
 * call from a line to a function gets one more path of its own, wherever it
 * is made first; all others are counted twice, in nodes whose number is
 * bounded by that of the kept paths and by the program:
 *
 * - the deepest kept node above the call has a child for "deeper calls", with
 *   their number.  Their time is the rest of the parent's, which call_times.h
 *   computes;
 * - one node for the line and the function has the numbers of all these calls,
 *   so that callers, lines and functions stay exact.
 *
 * Nodes never move and are freed with the tree.  Only the thread of the tree
 * adds nodes; others may read them under the GIL.
 *
 * These functions do not depend on frames: see calls.h for those that do.
 */
#ifndef LP_RECORD_CALL_TREE_H
#define LP_RECORD_CALL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/arena.h"
#include "record/line_counters.h"
#include "record/recorder.h"

enum { LP_NODE_CACHE = 4 };

typedef enum lp_node_kind {
    LP_NODE_PATH,   /* a function at the end of one call path */
    LP_NODE_DEEPER, /* the calls below its parent whose paths are not kept: no
                       line, no function, no times */
    LP_NODE_MERGED, /* a line's calls of a function, on all paths that are not
                       kept; its parent is the calling LP_NODE_CALLER */
    LP_NODE_CALLER, /* a function in whose lines merged calls are made: no
                       numbers; its parent is a node of the same function */
} lp_node_kind;

typedef struct lp_node {
    const lp_line *line; /* line of the calling function; NULL if no counted
                            frame called it */
    lp_code_counters *counters; /* of the called function; NULL in the root */
    struct lp_node *parent;     /* NULL in the root */
    /* node that has its callees: itself; if the function is already on the
     * call path, the function's node there; the LP_NODE_CALLER of a function
     * whose calls are merged */
    struct lp_node *canonical;
    uint64_t calls;     /* calls; a resumed frame does not count */
    uint64_t primitive; /* of these: made while no other frame of the function
                           was open */
    uint64_t self;      /* ticks in its own lines, and cost in them; the two */
    uint64_t self_cost; /* may be below 0 in between, but not in the end */
    uint64_t total;     /* ticks with its callees, of outermost frames, */
    uint64_t total_cost;
    uint64_t nested; /* and of the others, in recursion */
    uint64_t nested_cost;
    struct lp_node *cache[LP_NODE_CACHE]; /* some child nodes, by hash */
    struct lp_node *next;                 /* next in order of creation */
    uint32_t number;                      /* in order of creation, from 0 on */
    uint32_t kind;                        /* of lp_node_kind */
} lp_node;

/* Room for call paths, shared by all trees of a process. */
typedef struct lp_call_room {
    uint64_t used; /* by paths of all trees */
    uint64_t
        max; /* paths in all; more if a tree has fewer than its own part */
} lp_call_room;

enum {
    LP_MAX_PATHS = 1 << 21,      /* of a process */
    LP_MAX_TREE_PATHS = 1 << 20, /* of a tree */
    LP_MIN_TREE_PATHS = 1 << 16  /* of a tree, also if others are large */
};

typedef struct lp_tree {
    const void *owner;    /* the tracer, opaque */
    struct lp_tree *next; /* tree of the same thread, of another tracer */
    lp_node root;
    lp_node *first, *last; /* in order of creation */
    uint32_t n_nodes;      /* of all kinds */
    uint32_t n_paths;      /* of these, LP_NODE_PATH */
    uint32_t min, max;  /* paths for which there is room: `min` in any case */
    lp_call_room *room; /* borrowed; NULL: the tree's limit alone */
    struct lp_link *links; /* owned hash table */
    uint32_t n_links, capacity;
    lp_arena arena;
} lp_tree;

/* Ticks of all frames with their callees, and cost in these. */
static inline uint64_t
lp_node_inclusive(const lp_node *node)
{
    return node->total + node->nested;
}

static inline uint64_t
lp_node_inclusive_cost(const lp_node *node)
{
    return node->total_cost + node->nested_cost;
}

/* Return a new tree of a tracer, or NULL if memory is out.  Its nodes are in
 * the live file if `is_live`.  LINEPROF_MAX_PATHS in the environment is its
 * limit, if it is a number. */
lp_tree *lp_tree_new(const void *owner, bool is_live, lp_call_room *room);

void lp_tree_free(lp_tree *tree);

/* Reset the counts; the nodes are kept, because open frames point to them. */
void lp_tree_reset(lp_tree *tree);

/* Count a call that a function at the end of a kept path made, whose path is
 * not kept. */
void lp_tree_count_deeper(lp_tree *tree, const lp_node *above);

/* The slow path of lp_tree_child. */
lp_node *lp_tree_find(lp_tree *tree, lp_node *above, const lp_line *line,
                      lp_code_counters *counters);

static inline uint32_t
lp_tree_cache_slot(const lp_line *line, const lp_code_counters *counters)
{
    /* Both are multiples of 16, and lines next to each other differ. */
    uintptr_t mixed = (uintptr_t)line ^ (uintptr_t)counters;

    return (uint32_t)(mixed / LP_RECORD_BYTES) % LP_NODE_CACHE;
}

/* Return the node of a function called from `line` of the function `above`
 * (the root and NULL if no counted frame called it); NULL if memory is out. */
static inline lp_node *
lp_tree_child(lp_tree *tree, lp_node *above, const lp_line *line,
              lp_code_counters *counters)
{
    lp_node *node = above->cache[lp_tree_cache_slot(line, counters)];

    if (LP_LIKELY(node != NULL && node->line == line &&
                  node->counters == counters)) {
        return node;
    }
    return lp_tree_find(tree, above, line, counters);
}

#endif
