#include "record/call_tree.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    MIN_CAPACITY = 64, /* links; a power of two, as are all later capacities */
    MAX_NODES = 1 << 16
};

/* A link to the node for a line's calls of a function: the node is below
 * `above` or, if there was no room for that call path, below another node of
 * the same function. */
typedef struct lp_link {
    const lp_node *above;
    lp_node *node;
} lp_link;

_Static_assert(sizeof(lp_node) % LP_RECORD_BYTES == 0, "whole records");

lp_tree *
lp_tree_new(const void *owner, bool is_live)
{
    lp_tree *tree = calloc(1, sizeof(*tree));

    if (tree != NULL) {
        tree->owner = owner;
        tree->max = MAX_NODES;
        tree->root.canonical = &tree->root;
        lp_arena_init(&tree->arena, LP_BLOCK_NODES, is_live);
    }
    return tree;
}

void
lp_tree_free(lp_tree *tree)
{
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
    tree->folded = 0;
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

/* Make room for one more link. */
static bool
reserve(lp_tree *tree)
{
    lp_tree larger = *tree;

    if (tree->n_links < tree->capacity / 2) {
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
make_node(lp_tree *tree, lp_node *above, const lp_line *line,
          lp_code_counters *counters)
{
    lp_node *node =
        lp_arena_alloc(&tree->arena, sizeof(lp_node) / LP_RECORD_BYTES);
    lp_node *open;

    if (node == NULL) {
        return NULL;
    }
    open = find_on_path(above, counters);
    node->line = line;
    node->counters = counters;
    node->parent = above;
    node->canonical = open != NULL ? open : node;
    node->number = tree->n_nodes++;
    if (tree->last == NULL) {
        tree->first = node;
    }
    else {
        tree->last->next = node;
    }
    tree->last = node;
    if (counters->node == NULL) {
        counters->node = node->canonical;
    }
    return node;
}

lp_node *
lp_tree_find(lp_tree *tree, lp_node *above, const lp_line *line,
             lp_code_counters *counters)
{
    lp_node *from = above;
    lp_link *link;

    if (!reserve(tree)) {
        return NULL;
    }
    link = find_link(tree, above, line, counters);
    if (link->node == NULL && tree->n_nodes >= tree->max &&
        above->counters != NULL) {
        /* Each line has its calls below at least one node of its function, so
         * the number of nodes added from here on is bounded by the program. */
        from = above->counters->node;
        link = find_link(tree, from, line, counters);
    }
    if (link->node == NULL) {
        lp_node *node = make_node(tree, from, line, counters);

        if (node == NULL) {
            return NULL;
        }
        *link = (lp_link){from, node};
        tree->n_links++;
    }
    if (from == above) {
        above->cache[lp_tree_cache_slot(line, counters)] = link->node;
    }
    else {
        tree->folded++;
    }
    return link->node;
}
