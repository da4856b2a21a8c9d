#include "record/call_tree.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    MIN_CAPACITY = 64, /* links; a power of two, as are all later capacities */
    MAX_NEW_LINKS = 3  /* of one call */
};

/* A link to the node for a line's calls of a function below `above`; without
 * line and function, to the node for deeper calls there. */
typedef struct lp_link {
    const lp_node *above;
    lp_node *node;
} lp_link;

_Static_assert(sizeof(lp_node) % LP_RECORD_BYTES == 0, "whole records");

/* Set the limits of a tree: those of the environment, or the usual ones. */
static void
set_limits(lp_tree *tree)
{
    const char *given = getenv("LINEPROF_MAX_PATHS");
    char *end = NULL;
    unsigned long max = given == NULL ? 0 : strtoul(given, &end, 10);

    tree->min = LP_MIN_TREE_PATHS;
    tree->max = LP_MAX_TREE_PATHS;
    if (given != NULL && end != given && *end == '\0' && max <= INT32_MAX) {
        tree->min = tree->max = (uint32_t)max;
    }
}

lp_tree *
lp_tree_new(const void *owner, bool is_live, lp_call_room *room)
{
    lp_tree *tree = calloc(1, sizeof(*tree));

    if (tree != NULL) {
        tree->owner = owner;
        tree->room = room;
        set_limits(tree);
        tree->root.canonical = &tree->root;
        lp_arena_init(&tree->arena, LP_BLOCK_NODES, is_live);
    }
    return tree;
}

void
lp_tree_free(lp_tree *tree)
{
    if (tree->room != NULL) {
        tree->room->used -= tree->n_paths;
    }
    free(tree->links);
    lp_arena_free(&tree->arena);
    free(tree);
}

void
lp_tree_reset(lp_tree *tree)
{
    for (lp_node *node = tree->first; node != NULL; node = node->next) {
        node->calls = node->primitive = 0;
        node->self = node->self_cost = 0;
        node->total = node->total_cost = 0;
        node->nested = node->nested_cost = 0;
    }
}

static uint64_t
hash(const lp_node *above, const lp_line *line,
     const lp_code_counters *counters)
{
    uint64_t mixed = (uint64_t)(uintptr_t)above;

    mixed = (mixed ^ (mixed >> 7)) * 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (uint64_t)(uintptr_t)line) * 0xC2B2AE3D27D4EB4Fu;
    mixed = (mixed ^ (uint64_t)(uintptr_t)counters) * 0x9E3779B97F4A7C15u;
    return mixed >> 32;
}

/* Return the slot of a link in the table, which has room for one more. */
static lp_link *
find_link(const lp_tree *tree, const lp_node *above, const lp_line *line,
          const lp_code_counters *counters)
{
    uint32_t mask = tree->capacity - 1;
    uint32_t at = (uint32_t)hash(above, line, counters) & mask;

    while (tree->links[at].node != NULL &&
           (tree->links[at].above != above ||
            tree->links[at].node->line != line ||
            tree->links[at].node->counters != counters)) {
        at = (at + 1) & mask;
    }
    return &tree->links[at];
}

/* Make room for the links of one more call. */
static bool
reserve(lp_tree *tree)
{
    lp_tree larger = *tree;

    if (tree->n_links + MAX_NEW_LINKS <= tree->capacity / 2) {
        return true;
    }
    larger.capacity = tree->capacity == 0 ? MIN_CAPACITY : tree->capacity * 2;
    larger.links = calloc(larger.capacity, sizeof(lp_link));
    if (larger.links == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < tree->capacity; i++) {
        lp_link link = tree->links[i];

        if (link.node != NULL) {
            *find_link(&larger, link.above, link.node->line,
                       link.node->counters) = link;
        }
    }
    free(tree->links);
    tree->links = larger.links;
    tree->capacity = larger.capacity;
    return true;
}

/* Return the node of this function on the call path to `above`, or NULL. */
static lp_node *
find_on_path(lp_node *above, const lp_code_counters *counters)
{
    while (above != NULL && above->counters != counters) {
        above = above->parent;
    }
    return above;
}

static lp_node *
make_node(lp_tree *tree, lp_node_kind kind, lp_node *parent,
          const lp_line *line, lp_code_counters *counters)
{
    lp_node *node =
        lp_arena_alloc(&tree->arena, sizeof(lp_node) / LP_RECORD_BYTES);

    if (node == NULL) {
        return NULL;
    }
    node->kind = (uint32_t)kind;
    node->line = line;
    node->counters = counters;
    node->parent = parent;
    node->canonical = node;
    node->number = tree->n_nodes++;
    if (tree->last == NULL) {
        tree->first = node;
    }
    else {
        tree->last->next = node;
    }
    tree->last = node;
    return node;
}

/* Put a new node into the table, in which there is none for it. */
static lp_node *
add_link(lp_tree *tree, const lp_node *above, lp_node *node)
{
    if (node != NULL) {
        *find_link(tree, above, node->line, node->counters) =
            (lp_link){above, node};
        tree->n_links++;
    }
    return node;
}

static lp_node *
add_path(lp_tree *tree, lp_node *above, const lp_line *line,
         lp_code_counters *counters)
{
    lp_node *node = make_node(tree, LP_NODE_PATH, above, line, counters);

    if (node != NULL) {
        lp_node *open = find_on_path(above, counters);

        node->canonical = open != NULL ? open : node;
        tree->n_paths++;
        if (tree->room != NULL) {
            tree->room->used++;
        }
    }
    return add_link(tree, above, node);
}

static bool
is_full(const lp_tree *tree)
{
    return tree->n_paths >= tree->max ||
           (tree->n_paths >= tree->min && tree->room != NULL &&
            tree->room->used >= tree->room->max);
}

/* Return the LP_NODE_CALLER of the function of a node. */
static lp_node *
caller_node(lp_tree *tree, lp_node *node)
{
    lp_code_counters *counters = node->counters;

    if (counters->caller == NULL) {
        counters->caller =
            make_node(tree, LP_NODE_CALLER, node, NULL, counters);
    }
    return counters->caller;
}

/* Return the node for the merged calls of a function from a line of `caller`,
 * an LP_NODE_CALLER; `is_new` is set if there was none. */
static lp_node *
find_merged(lp_tree *tree, lp_node *caller, const lp_line *line,
            lp_code_counters *counters, bool *is_new)
{
    lp_node *node = find_link(tree, caller, line, counters)->node;

    if (node == NULL) {
        *is_new = true;
        node = make_node(tree, LP_NODE_MERGED, caller, line, counters);
        if (node == NULL) {
            return NULL;
        }
        node->canonical = caller_node(tree, node);
        if (node->canonical == NULL) {
            node->canonical = caller; /* memory is out: never found again */
            return NULL;
        }
        add_link(tree, caller, node);
    }
    caller->cache[lp_tree_cache_slot(line, counters)] = node;
    return node;
}

/* Return the node for deeper calls below `above`. */
static lp_node *
find_deeper(lp_tree *tree, lp_node *above)
{
    lp_node *node = find_link(tree, above, NULL, NULL)->node;

    if (node != NULL) {
        return node;
    }
    return add_link(tree, above,
                    make_node(tree, LP_NODE_DEEPER, above, NULL, NULL));
}

/* Return the node of a call for whose path there is no room: a path of its own
 * if it is the first such call from its line, as a bounded number are; else
 * the one for all the others. */
static lp_node *
find_beyond(lp_tree *tree, lp_node *above, const lp_line *line,
            lp_code_counters *counters)
{
    lp_node *caller = caller_node(tree, above), *node;
    bool is_new = false;

    if (caller == NULL) {
        return NULL;
    }
    node = find_merged(tree, caller, line, counters, &is_new);
    if (node == NULL) {
        return NULL;
    }
    if (is_new) {
        return add_path(tree, above, line, counters);
    }
    /* Not into the cache of `above`: lp_calls_find is to see each of them. */
    return find_deeper(tree, above) == NULL ? NULL : node;
}

void
lp_tree_count_deeper(lp_tree *tree, const lp_node *above)
{
    lp_node *node = find_link(tree, above, NULL, NULL)->node;

    if (node != NULL) {
        node->calls++;
    }
}

lp_node *
lp_tree_find(lp_tree *tree, lp_node *above, const lp_line *line,
             lp_code_counters *counters)
{
    lp_node *node;
    bool is_new;

    if (!reserve(tree)) {
        return NULL;
    }
    if (above->kind == LP_NODE_CALLER) {
        return find_merged(tree, above, line, counters, &is_new);
    }
    node = find_link(tree, above, line, counters)->node;
    if (node == NULL) {
        if (is_full(tree) && above->counters != NULL) {
            node = find_beyond(tree, above, line, counters);
        }
        else {
            node = add_path(tree, above, line, counters);
        }
    }
    if (node != NULL && node->kind == LP_NODE_PATH) {
        above->cache[lp_tree_cache_slot(line, counters)] = node;
    }
    return node;
}
