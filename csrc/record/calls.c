#include "record/calls.h"

/* Return the caller of a frame, or NULL. */
static lp_frame *
caller_of(const lp_recorder *rec, const lp_frame *frame)
{
    for (size_t i = (size_t)(frame - rec->frames); i-- > 1;) {
        lp_frame *below = &rec->frames[i];

        if (below->owner == frame->owner && below->line != NULL) {
            return below;
        }
    }
    return NULL;
}

lp_tree *
lp_calls_tree(const lp_recorder *rec, const void *owner)
{
    lp_tree *tree = rec->trees;

    while (tree != NULL && tree->owner != owner) {
        tree = tree->next;
    }
    return tree;
}

static lp_tree *
make_tree(lp_recorder *rec, const void *owner, bool is_live)
{
    lp_tree *tree = lp_calls_tree(rec, owner);

    if (tree == NULL) {
        tree = lp_tree_new(owner, is_live, rec->room);
        if (tree != NULL) {
            tree->next = rec->trees;
            rec->trees = tree;
        }
    }
    return tree;
}

/* Find the node of a frame whose caller, if any, has one. */
static lp_node *
find(lp_tree *tree, lp_frame *frame, const lp_frame *caller)
{
    if (caller == NULL) {
        frame->node = lp_tree_child(tree, &tree->root, NULL, frame->counters);
    }
    else if (caller->node != NULL) {
        frame->node = lp_tree_child(tree, caller->node->canonical,
                                    caller->line, frame->counters);
    }
    return frame->node;
}

/* Count a call that is below the path of its caller, but not with its own. */
static void
count_deeper(lp_tree *tree, const lp_frame *frame, const lp_frame *caller)
{
    if (frame->node != NULL && frame->node->kind == LP_NODE_MERGED &&
        caller != NULL && caller->node != NULL &&
        caller->node->canonical->kind == LP_NODE_PATH) {
        lp_tree_count_deeper(tree, caller->node->canonical);
    }
}

lp_node *
lp_calls_find(lp_recorder *rec, lp_frame *frame, bool is_call)
{
    lp_tree *tree = make_tree(rec, frame->owner, frame->counters->is_live);
    lp_frame *caller = caller_of(rec, frame);
    lp_frame *first = frame;

    if (tree == NULL) {
        return NULL;
    }
    /* Frames to which a tracer was attached while they ran have no node yet,
     * and their callers may have none: start from the lowest of these. */
    for (lp_frame *below = caller; below != NULL && below->node == NULL;
         below = caller_of(rec, below)) {
        first = below;
    }
    for (; first < frame; first++) {
        if (first->owner == frame->owner && first->line != NULL &&
            find(tree, first, caller_of(rec, first)) == NULL) {
            return NULL;
        }
    }
    (void)find(tree, frame, caller);
    if (is_call) {
        count_deeper(tree, frame, caller);
    }
    return frame->node;
}

void
lp_calls_charge_caller(lp_recorder *rec, const lp_frame *frame, lp_ticks ticks,
                       uint64_t cost)
{
    const lp_frame *caller = caller_of(rec, frame);

    if (caller != NULL && caller->node != NULL) {
        caller->node->self -= ticks;
        caller->node->self_cost -= cost;
    }
}

void
lp_calls_drop(lp_recorder *rec, const void *owner)
{
    for (lp_tree **at = &rec->trees; *at != NULL; at = &(*at)->next) {
        if ((*at)->owner == owner) {
            lp_tree *gone = *at;

            *at = gone->next;
            lp_tree_free(gone);
            return;
        }
    }
}

void
lp_calls_reset(lp_recorder *rec, const void *owner)
{
    lp_tree *tree = lp_calls_tree(rec, owner);

    if (tree != NULL) {
        lp_tree_reset(tree);
    }
}
