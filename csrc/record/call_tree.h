/* The call tree: the calls that one tracer counts on one thread.
 *
 * A node is a function as it was called from one line, on one call path.  A
 * call path has each function once: a recursive call is a leaf, and its
 * callees hang on the node of the outer call.  So recursion makes no deeper
 * tree, there are few nodes, and the calls from a line to a function are the
 * sum of the nodes of both.
 *
 * Nodes never move and go with the tree.  Only the thread that it is of adds
 * any; under the interpreter's lock others may read.
 *
 * lp_tree_* know no frames.  lp_calls_* lead from a thread's frames to its
 * trees: which node a frame is of, and what it adds there.  A frame's caller
 * is the nearest one below that the same tracer counts and that is on a line.
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
    const lp_line *line; /* of the function above, from where it was called;
                          * NULL in those that nobody counted calls */
    lp_code_counters *counters; /* of what was called; NULL in the root */
    struct lp_node *parent;     /* NULL in the root */
    struct lp_node
        *canonical;     /* where its calls hang: itself, or of a function
                         * that is on the way already, that one's node */
    uint64_t calls;     /* a resumed frame is none */
    uint64_t primitive; /* of these: while no other of the function was open */
    uint64_t self; /* ticks in its own lines, and our cost in them; these */
    uint64_t self_cost; /* two pass 0 on their way, but are not below it */
    uint64_t total;     /* ticks with what it calls, of outermost frames, */
    uint64_t total_cost;
    uint64_t inclusive; /* and of all */
    uint64_t inclusive_cost;
    struct lp_node *cache[LP_NODE_CACHE]; /* some of those below, by place */
    struct lp_node *next;                 /* made after it */
    uint32_t number;                      /* in this order, from 0 on */
    uint32_t padding;
} lp_node;

typedef struct lp_tree {
    const void *owner;    /* the tracer, opaque */
    struct lp_tree *next; /* of the same thread, another tracer */
    lp_node root;
    lp_node *first, *last; /* in the order in which they were made */
    uint32_t n_nodes;
    uint32_t max;          /* nodes with a way of their own */
    uint64_t folded;       /* calls whose way was not kept for want of room */
    struct lp_link *links; /* owned table, by hash */
    uint32_t n_links, capacity;
    lp_arena arena;
} lp_tree;

/* New tree of a tracer, or NULL when memory is out. */
lp_tree *lp_tree_new(const void *owner);

void lp_tree_free(lp_tree *tree);

/* Forget what was counted; the nodes are kept, for open frames know theirs. */
void lp_tree_reset(lp_tree *tree);

/* The slow half of lp_tree_child. */
lp_node *lp_tree_find(lp_tree *tree, lp_node *above, const lp_line *line,
                      lp_code_counters *counters);

static inline uint32_t
lp_tree_cache_slot(const lp_line *line, const lp_code_counters *counters)
{
    uintptr_t mixed = (uintptr_t)line / sizeof(lp_line) ^
                      (uintptr_t)counters / sizeof(lp_code_counters);

    return (uint32_t)mixed % LP_NODE_CACHE;
}

/* What is called from `line` of the function `above` (the root: from none of
 * ours, and `line` is NULL); NULL when memory is out. */
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

/* [OWNER] The slow half of lp_calls_enter. */
lp_node *lp_calls_find(lp_recorder *rec, lp_frame *frame);

/* [OWNER] The slow half of lp_calls_charge. */
void lp_calls_charge_caller(lp_recorder *rec, const lp_frame *frame,
                            lp_ticks ticks, uint64_t cost);

/* The tree of a tracer; NULL where it called nothing, or memory is out. */
lp_tree *lp_calls_tree(const lp_recorder *rec, const void *owner);

/* The tracer's tree goes; none of its frames is open. */
void lp_calls_drop(lp_recorder *rec, const void *owner);

/* Forget what its tree has counted. */
void lp_calls_reset(lp_recorder *rec, const void *owner);

/* [OWNER] The frame is the top one, and its owner is known: find its node. */
static inline lp_node *
lp_calls_enter(lp_recorder *rec, lp_frame *frame)
{
    const lp_frame *caller = frame - 1;

    if (LP_LIKELY(caller->owner == frame->owner && caller->line != NULL &&
                  caller->node != NULL)) {
        const lp_node *above = caller->node->canonical;
        lp_node *node =
            above->cache[lp_tree_cache_slot(caller->line, frame->counters)];

        if (LP_LIKELY(node != NULL && node->line == caller->line &&
                      node->counters == frame->counters)) {
            frame->node = node;
            return node;
        }
    }
    return lp_calls_find(rec, frame);
}

/* [OWNER] The same for a frame that was called, and not resumed: count that.
 */
static inline void
lp_calls_called(lp_recorder *rec, lp_frame *frame)
{
    lp_node *node = lp_calls_enter(rec, frame);

    frame->counters->calls++;
    if (LP_LIKELY(node != NULL)) {
        node->calls++;
        node->primitive += (frame->flags & LP_FRAME_OUTERMOST) != 0;
    }
}

/* [OWNER] The frame's time from its begin up to `now` is over. */
static inline void
lp_calls_charge(lp_recorder *rec, lp_frame *frame, lp_ticks now)
{
    lp_ticks ticks = now - frame->first;
    uint64_t cost = rec->cost + frame->self_cost - frame->first_cost;
    lp_node *node = frame->node;
    lp_frame *caller = frame - 1;

    if (LP_UNLIKELY(node == NULL)) {
        node = lp_calls_find(rec, frame);
        if (node == NULL) {
            return;
        }
    }
    node->self += ticks;
    node->self_cost += cost;
    node->inclusive += ticks;
    node->inclusive_cost += cost;
    if (LP_LIKELY(frame->flags & LP_FRAME_OUTERMOST)) {
        node->total += ticks;
        node->total_cost += cost;
        frame->counters->total += ticks;
        frame->counters->total_cost += cost;
    }
    if (LP_LIKELY(caller->owner == frame->owner && caller->line != NULL &&
                  caller->node != NULL)) {
        caller->node->self -= ticks;
        caller->node->self_cost -= cost;
    }
    else {
        lp_calls_charge_caller(rec, frame, ticks, cost);
    }
}

#endif
