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
 * lp_tree_* functions do not depend on frames. lp_calls_* lead from a thread's
 * frames to its trees: to the node of a frame, and to the time that the frame
 * adds there.  The caller of a frame is the nearest frame below that the same
 * tracer counts and that is on a line.
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
    uint64_t inclusive; /* and of all frames */
    uint64_t inclusive_cost;
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
    uintptr_t mixed = (uintptr_t)line / sizeof(lp_line) ^
                      (uintptr_t)counters / sizeof(lp_code_counters);

    return (uint32_t)mixed % LP_NODE_CACHE;
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

/* [OWNER] The slow path of lp_calls_enter. */
lp_node *lp_calls_find(lp_recorder *rec, lp_frame *frame);

/* [OWNER] The slow path of lp_calls_charge. */
void lp_calls_charge_caller(lp_recorder *rec, const lp_frame *frame,
                            lp_ticks ticks, uint64_t cost);

/* Return the tree of a tracer; NULL if it has no calls here or memory was out.
 */
lp_tree *lp_calls_tree(const lp_recorder *rec, const void *owner);

/* Free the tree of a tracer, which has no open frame. */
void lp_calls_drop(lp_recorder *rec, const void *owner);

/* Reset the counts of the tracer's tree. */
void lp_calls_reset(lp_recorder *rec, const void *owner);

/* [OWNER] Find the node of the top frame, whose owner is set. */
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

/* [OWNER] The same for a frame that was called, not resumed: count the call.
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

/* [OWNER] Charge the frame's time from its begin up to `now`. */
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
