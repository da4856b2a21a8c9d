/* Graph nodes and the call paths on which they were captured. */
#include "gpu/correlation.h"

#include "check.h"

/* Return the path of a node; 0 if it is unknown. */
static uint32_t
find(lp_graph_nodes *graph_nodes, uint64_t node)
{
    uint32_t path = 0;

    CHECK(lp_graph_nodes_find(graph_nodes, node, &path) || path == 0);
    return path;
}

static void
a_node_has_its_last_path(void)
{
    lp_graph_nodes graph_nodes;

    lp_graph_nodes_init(&graph_nodes);
    CHECK(find(&graph_nodes, 5) == 0);
    lp_graph_nodes_insert(&graph_nodes, 5, 17);
    CHECK(find(&graph_nodes, 5) == 17);
    CHECK(find(&graph_nodes, 6) == 0);
    lp_graph_nodes_insert(&graph_nodes, 5, 18);
    CHECK(find(&graph_nodes, 5) == 18);
    CHECK(graph_nodes.n == 1);
    lp_graph_nodes_free(&graph_nodes);
}

static void
number_0_is_no_node(void)
{
    lp_graph_nodes graph_nodes;

    lp_graph_nodes_init(&graph_nodes);
    lp_graph_nodes_insert(&graph_nodes, 0, 17);
    CHECK(find(&graph_nodes, 0) == 0 && graph_nodes.n == 0);
    lp_graph_nodes_insert(&graph_nodes, 1, 17);
    CHECK(find(&graph_nodes, 0) == 0);
    lp_graph_nodes_free(&graph_nodes);
}

/* Ids as CUPTI creates them: the graph's number in the upper half, the node's
 * in the lower. */
static uint64_t
node_of(uint32_t i)
{
    return (uint64_t)(i / 100 + 1) << 32 | i % 100;
}

static void
many_nodes_are_kept(void)
{
    lp_graph_nodes graph_nodes;

    lp_graph_nodes_init(&graph_nodes);
    for (uint32_t i = 0; i < 100000; i++) {
        lp_graph_nodes_insert(&graph_nodes, node_of(i), i + 1);
    }
    CHECK(graph_nodes.n == 100000);
    for (uint32_t i = 0; i < 100000; i++) {
        CHECK(find(&graph_nodes, node_of(i)) == i + 1);
    }
    CHECK(find(&graph_nodes, node_of(100000)) == 0);
    lp_graph_nodes_free(&graph_nodes);
}

/* -- threads ---------------------------------------------------------------
 */

enum { THREADS = 4, NODES = 5000 };

static lp_graph_nodes shared;

static void *
capture_and_clone(void *arg)
{
    uint32_t me = *(uint32_t *)arg;

    for (uint32_t i = 1; i <= NODES; i++) {
        uint64_t node = (uint64_t)me << 32 | i;

        lp_graph_nodes_insert(&shared, node, i);
        lp_graph_nodes_insert(&shared, node | 1u << 31, find(&shared, node));
    }
    return NULL;
}

static void
threads_insert_and_find(void)
{
    pthread_t threads[THREADS];
    uint32_t numbers[THREADS];

    lp_graph_nodes_init(&shared);
    for (uint32_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, capture_and_clone, &numbers[i]);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(shared.n == 2 * THREADS * NODES);
    CHECK(find(&shared, (uint64_t)2 << 32 | 1u << 31 | 77) == 77);
    lp_graph_nodes_free(&shared);
}

int
main(void)
{
    a_node_has_its_last_path();
    number_0_is_no_node();
    many_nodes_are_kept();
    threads_insert_and_find();
    return check_failures;
}
