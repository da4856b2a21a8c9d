/* The call tree: the calls that one tracer counts on one thread.
 *
 * A node is a function as called from one line, on one call path.  A call path
 * contains each function once: a recursive call is a leaf, and its callees are
 * below the node of the outer call.  So recursion makes the tree no deeper,
 * there are few nodes, and the calls from a line to a function are the sum of
 * the nodes of both.
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

typedef struct lp_node {
    const lp_line *line; /* line of the calling function; NULL if no counted
                            frame called it */
    lp_code_counters *counters; /* of the called function; NULL in the root */
    struct lp_node *parent;     /* NULL in the root */
    /* node that has its callees: itself, or, if the function is already on the
     * call path, the function's node there */
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
    uint32_t padding;
} lp_node;

typedef struct lp_tree {
    const void *owner;    /* the tracer, opaque */
    struct lp_tree *next; /* tree of the same thread, of another tracer */
    lp_node root;
    lp_node *first, *last; /* in order of creation */
    uint32_t n_nodes;
    uint32_t max;    /* max number of nodes with their own call path */
    uint64_t folded; /* calls whose call path was not kept because the tree is
                        full */
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
 * the live file if `is_live`. */
lp_tree *lp_tree_new(const void *owner, bool is_live);

void lp_tree_free(lp_tree *tree);

/* Reset the counts; the nodes are kept, because open frames point to them. */
void lp_tree_reset(lp_tree *tree);

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
