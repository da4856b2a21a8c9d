/* Who called whom: the calls that one tracer counts on one thread, as a tree.
 *
 * A node is a function as it was called from one line, by one way down to
 * there.  The way has each function once: a call of one that is on it already
 * is a leaf, and what it calls in turn hangs on the node of the function that
 * is on the way.  So recursion makes no deeper tree, there are few nodes, and
 * the calls from a line to a function are the sum of the nodes of both.
 *
 * Nodes never move and go with the tree.  Only the thread that it is of adds
 * any; under the interpreter's lock others may read.  Knows no frames.
 */
#ifndef LP_TREE_H
#define LP_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "lp_blocks.h"
#include "lp_lines.h"

enum { LP_NODE_NEAR = 4 };

typedef struct lp_node {
    const lp_line *line;    /* of the function above, from where it was called;
                             * NULL in those that nobody counted calls */
    lp_counts *counts;      /* of what was called; NULL in the root */
    struct lp_node *parent; /* NULL in the root */
    struct lp_node *goes_on; /* where its calls hang: itself, or of a function
                              * that is on the way already, that one's node */
    uint64_t calls;          /* a resumed frame is none */
    uint64_t primitive; /* of these: while no other of the function was open */
    uint64_t self; /* ticks in its own lines, and our cost in them; these */
    uint64_t self_cost; /* two pass 0 on their way, but are not below it */
    uint64_t total;     /* ticks with what it calls, of outermost frames, */
    uint64_t total_cost;
    uint64_t inclusive; /* and of all */
    uint64_t inclusive_cost;
    struct lp_node *near[LP_NODE_NEAR]; /* some of those below, by place */
    struct lp_node *next;               /* made after it */
    uint32_t number;                    /* in this order, from 0 on */
    uint32_t spare;
} lp_node;

typedef struct lp_tree {
    const void *owner;    /* the tracer, opaque */
    struct lp_tree *next; /* of the same thread, another tracer */
    lp_node root;
    lp_node *first, *last; /* in the order in which they were made */
    uint32_t n_nodes;
    uint32_t most;         /* nodes with a way of their own */
    uint64_t folded;       /* calls whose way was not kept for want of room */
    struct lp_link *links; /* owned table, by hash */
    uint32_t n_links, room;
    lp_blocks blocks;
} lp_tree;

/* New tree of a tracer, or NULL when memory is out. */
lp_tree *lp_tree_new(const void *owner);

void lp_tree_free(lp_tree *tree);

/* Forget what was counted; the nodes stay, for open frames know theirs. */
void lp_tree_reset(lp_tree *tree);

/* The slow half of lp_tree_below. */
lp_node *lp_tree_find(lp_tree *tree, lp_node *above, const lp_line *line,
                      lp_counts *counts);

static inline uint32_t
lp_tree_place(const lp_line *line, const lp_counts *counts)
{
    uintptr_t mixed = (uintptr_t)line / sizeof(lp_line) ^
                      (uintptr_t)counts / sizeof(lp_counts);

    return (uint32_t)mixed % LP_NODE_NEAR;
}

/* What is called from `line` of the function `above` (the root: from none of
 * ours, and `line` is NULL); NULL when memory is out. */
static inline lp_node *
lp_tree_below(lp_tree *tree, lp_node *above, const lp_line *line,
              lp_counts *counts)
{
    lp_node *node = above->near[lp_tree_place(line, counts)];

    if (LP_LIKELY(node != NULL && node->line == line &&
                  node->counts == counts)) {
        return node;
    }
    return lp_tree_find(tree, above, line, counts);
}

#endif
