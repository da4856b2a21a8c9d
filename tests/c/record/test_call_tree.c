/* Call trees, with times given as numbers. */
#include "record/calls.h"

#include <stdlib.h>

#include "check.h"

enum { LINES = 4, FUNCTIONS = 40 };

static char owner, other_owner, codes[FUNCTIONS];

typedef struct fixture {
    lp_arena arena;
    lp_recorder *rec;
    /* of 4 lines each, from line 1 on */
    lp_code_counters *counters[FUNCTIONS];
} fixture;

static lp_ticks
never(void)
{
    return 0;
}

static fixture
set_up(void)
{
    static const lp_costs no_costs;
    lp_clock clock;
    fixture made;

    lp_clock_set_source(&clock, never);
    lp_arena_init(&made.arena, LP_BLOCK_COUNTERS, false);
    made.rec = lp_recorder_new(&clock, &no_costs);
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        lp_layout layout = {.code_id = i, .first_line = 1, .n_lines = LINES};

        made.counters[i] =
            lp_recorder_counters(made.rec, &made.arena, &layout);
    }
    return made;
}

static void
tear_down(fixture *made)
{
    CHECK(made->rec->top == made->rec->frames);
    lp_recorder_free(made->rec);
    lp_arena_free(&made->arena);
}

/* A call of function `f` that comes to its line 1 + `offset` at `now`. */
static lp_frame *
call_for(fixture *made, void *tracer, uint32_t f, uint32_t offset,
         lp_ticks now)
{
    lp_frame *frame =
        lp_recorder_enter(made->rec, &codes[f], made->counters[f], 1);

    frame->owner = tracer;
    lp_calls_called(made->rec, frame);
    lp_recorder_line(made->rec, frame, offset, now, LP_LINE_FORWARD);
    return frame;
}

static lp_frame *
call(fixture *made, uint32_t f, uint32_t offset, lp_ticks now)
{
    return call_for(made, &owner, f, offset, now);
}

static void
leave(fixture *made, lp_ticks now)
{
    lp_recorder_leave(made->rec, made->rec->top, false, now);
}

/* The number of nodes of `callee` below a line of `caller`, and their sums. */
static uint32_t
edge(const fixture *made, uint32_t caller, uint32_t offset, uint32_t callee,
     lp_node *sum)
{
    const lp_tree *tree = lp_calls_tree(made->rec, &owner);
    uint32_t found = 0;

    *sum = (lp_node){.calls = 0};
    for (const lp_node *node = tree->first; node != NULL; node = node->next) {
        if (node->counters == made->counters[callee] &&
            node->parent->counters == made->counters[caller] &&
            node->line == &made->counters[caller]->lines[offset]) {
            sum->calls += node->calls;
            sum->primitive += node->primitive;
            sum->self += node->self;
            sum->total += node->total;
            sum->nested += node->nested;
            found++;
        }
    }
    return found;
}

/* The first path to a function. */
static const lp_node *
path_to(const fixture *made, uint32_t f)
{
    const lp_node *node = lp_calls_tree(made->rec, &owner)->first;

    while (node != NULL && (node->kind != LP_NODE_PATH ||
                            node->counters != made->counters[f])) {
        node = node->next;
    }
    return node;
}

static void
lines_of_a_caller_have_separate_nodes(void)
{
    fixture made = set_up();
    lp_node sum;

    call(&made, 0, 0, 0);
    call(&made, 1, 0, 10);
    leave(&made, 15);
    lp_recorder_line(made.rec, made.rec->top, 1, 20, LP_LINE_FORWARD);
    call(&made, 1, 0, 21);
    leave(&made, 31);
    call(&made, 1, 0, 40);
    leave(&made, 50);
    leave(&made, 100);
    CHECK(edge(&made, 0, 0, 1, &sum) == 1);
    CHECK(sum.calls == 1 && sum.total == 5 && sum.self == 5);
    CHECK(edge(&made, 0, 1, 1, &sum) == 1);
    CHECK(sum.calls == 2 && sum.total == 20 && lp_node_inclusive(&sum) == 20);
    CHECK(path_to(&made, 0)->self == 75);
    CHECK(path_to(&made, 0)->total == 100);
    CHECK(made.counters[0]->total == 100 && made.counters[1]->total == 25);
    tear_down(&made);
}

/* Costs that are taken off a node's times are those of the time itself. */
static void
each_time_of_a_node_has_its_cost(void)
{
    fixture made = set_up();
    const lp_node *outer, *inner;

    call(&made, 0, 0, 0);
    made.rec->cost += 3;
    call(&made, 1, 0, 10);
    made.rec->cost += 5;
    leave(&made, 30);
    made.rec->cost += 7;
    leave(&made, 100);
    outer = path_to(&made, 0);
    inner = path_to(&made, 1);
    CHECK(inner->self_cost == 5 && inner->total_cost == 5);
    CHECK(lp_node_inclusive_cost(inner) == 5);
    CHECK(outer->self_cost == 10 && outer->total_cost == 15);
    CHECK(lp_node_inclusive_cost(outer) == 15);
    CHECK(made.counters[0]->total_cost == 15);
    tear_down(&made);
}

static void
recursion_is_a_leaf_and_counts_once_in_the_total(void)
{
    fixture made = set_up();
    const lp_tree *tree;
    lp_node sum;

    /* 0 calls 1 calls 0 calls 1 calls 2, each after 10 ticks. */
    call(&made, 0, 0, 0);
    call(&made, 1, 0, 10);
    call(&made, 0, 0, 20);
    call(&made, 1, 0, 30);
    call(&made, 2, 0, 40);
    for (lp_ticks now = 50; now < 100; now += 10) {
        leave(&made, now);
    }
    tree = lp_calls_tree(made.rec, &owner);
    /* root 0, 0 -> 1, 1 -> 0 (a leaf), 1 -> 2; the inner 0 -> 1 is the node of
     * the outer. */
    CHECK(tree->n_nodes == 4);
    CHECK(edge(&made, 1, 0, 0, &sum) == 1);
    CHECK(sum.calls == 1 && sum.primitive == 0 && sum.total == 0);
    CHECK(lp_node_inclusive(&sum) == 50 && sum.self == 20);
    CHECK(edge(&made, 0, 0, 1, &sum) == 1);
    CHECK(sum.calls == 2 && sum.primitive == 1);
    CHECK(sum.total == 70 && lp_node_inclusive(&sum) == 70 + 30 &&
          sum.self == 20 + 20);
    CHECK(edge(&made, 1, 0, 2, &sum) == 1 && sum.total == 10);
    CHECK(path_to(&made, 0)->self == 20);
    CHECK(path_to(&made, 0)->total == 90);
    tear_down(&made);
}

static void
every_tick_is_in_one_nodes_self(void)
{
    fixture made = set_up();
    uint64_t state = 12345, sum = 0, open = 0;
    lp_ticks now = 0;

    for (int i = 0; i < 200000; i++) {
        size_t depth = (size_t)(made.rec->top - made.rec->frames);

        state = state * 6364136223846793005u + 1442695040888963407u;
        now += (state >> 33) % 5;
        if (depth > 0 && (depth == 60 || (state >> 40) % 2)) {
            leave(&made, now);
        }
        else {
            call(&made, (uint32_t)(state >> 45) % FUNCTIONS,
                 (uint32_t)(state >> 52) % LINES, now);
        }
        if (depth > 0) {
            open++;
        }
    }
    lp_recorder_settle(made.rec, now);
    for (const lp_node *node = lp_calls_tree(made.rec, &owner)->first;
         node != NULL; node = node->next) {
        CHECK((int64_t)node->self >= 0);
        sum += node->self;
    }
    CHECK(open > 0 && sum > 0);
    while (made.rec->top != made.rec->frames) {
        leave(&made, now);
    }
    {
        uint64_t outermost = 0;

        for (const lp_node *node = lp_calls_tree(made.rec, &owner)->first;
             node != NULL; node = node->next) {
            outermost +=
                node->parent->counters == NULL ? lp_node_inclusive(node) : 0;
        }
        CHECK(outermost == sum);
    }
    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        uint64_t total = 0;

        for (const lp_node *node = lp_calls_tree(made.rec, &owner)->first;
             node != NULL; node = node->next) {
            total += node->counters == made.counters[f] ? node->total : 0;
        }
        CHECK(total == made.counters[f]->total);
    }
    tear_down(&made);
}

/* The ticks of a node with all paths below it, deeper calls included. */
static uint64_t
with_below(const lp_tree *tree, const lp_node *top)
{
    uint64_t sum = 0;

    for (const lp_node *node = tree->first; node != NULL; node = node->next) {
        const lp_node *above = node;

        while (above != NULL && above != top) {
            above = above->parent;
        }
        sum += above == top && node->kind == LP_NODE_PATH ? node->self : 0;
    }
    return sum;
}

static void
edges_stay_exact_when_call_paths_are_not_kept(void)
{
    fixture made = set_up();
    lp_tree *tree;
    lp_node sum;

    call(&made, 0, 0, 0);
    tree = lp_calls_tree(made.rec, &owner);
    tree->min = tree->max = 4;
    for (uint32_t middle = 1; middle < 20; middle++) {
        call(&made, middle, 0, middle * 100);
        call(&made, 30, 1, middle * 100 + 10);
        call(&made, 31, 0, middle * 100 + 20);
        leave(&made, middle * 100 + 25);
        leave(&made, middle * 100 + 50);
        leave(&made, middle * 100 + 60);
    }
    leave(&made, 3000);
    CHECK(edge(&made, 30, 1, 31, &sum) <= 3);
    CHECK(sum.calls == 19 && sum.total == 19 * 5);
    for (uint32_t middle = 1; middle < 20; middle++) {
        CHECK(edge(&made, middle, 0, 30, &sum) >= 1);
        CHECK(sum.calls == 1 && sum.total == 40);
    }
    CHECK(tree->n_paths < 50);
    tear_down(&made);
}

/* Calls below functions 1 to 19, each of which takes 60 ticks. */
static void
time_stays_under_its_true_ancestors_when_call_paths_are_not_kept(void)
{
    fixture made = set_up();
    uint32_t deeper = 0;
    lp_tree *tree;

    call(&made, 0, 0, 0);
    tree = lp_calls_tree(made.rec, &owner);
    tree->min = tree->max = 0;
    for (uint32_t middle = 1; middle < 20; middle++) {
        for (uint32_t again = 0; again < 3; again++) {
            call(&made, middle, again, middle * 1000 + again * 100);
            call(&made, 30, 1, middle * 1000 + again * 100 + 10);
            call(&made, 30, 1, middle * 1000 + again * 100 + 20); /* recursion
                                                                   */
            call(&made, 31, 0, middle * 1000 + again * 100 + 30);
            leave(&made, middle * 1000 + again * 100 + 45);
            leave(&made, middle * 1000 + again * 100 + 50);
            leave(&made, middle * 1000 + again * 100 + 55);
            leave(&made, middle * 1000 + again * 100 + 60);
        }
    }
    leave(&made, 30000);
    for (const lp_node *node = tree->first; node != NULL; node = node->next) {
        if (node->kind == LP_NODE_DEEPER) {
            deeper++;
            CHECK(node->calls > 0 && node->parent->kind == LP_NODE_PATH);
            /* What its own and kept lines lack is the time of deeper calls. */
            CHECK(with_below(tree, node->parent) <
                  lp_node_inclusive(node->parent));
        }
        else if (node->kind == LP_NODE_PATH &&
                 node->parent == path_to(&made, 0)) {
            CHECK(node->total == 3 * 60 && node->calls == 3);
        }
    }
    CHECK(deeper > 0 && deeper < tree->n_paths);
    tear_down(&made);
}

static void
a_full_tree_takes_each_call_once_more_and_no_other_memory(void)
{
    fixture made = set_up();
    lp_tree *tree;
    uint32_t n = 0;

    call(&made, 0, 0, 0);
    tree = lp_calls_tree(made.rec, &owner);
    tree->min = tree->max = 2;
    for (uint32_t round = 0; round < 3; round++) {
        uint64_t state = 5;

        for (lp_ticks i = 1; i < 100000; i++) {
            size_t depth = (size_t)(made.rec->top - made.rec->frames);

            state = state * 6364136223846793005u + 1442695040888963407u;
            if (depth > 1 && (depth == 30 || (state >> 40) % 2)) {
                leave(&made, round * 100000 + i);
            }
            else {
                call(&made, 1 + (uint32_t)(state >> 45) % 9,
                     (uint32_t)(state >> 52) % LINES, round * 100000 + i);
            }
        }
        while (made.rec->top > made.rec->frames + 1) {
            leave(&made, round * 100000 + 100000);
        }
        CHECK(round == 0 || tree->n_nodes == n);
        n = tree->n_nodes;
    }
    leave(&made, 300000);
    /* 10 functions, 4 lines in each: so many edges, each with one path more,
     * one merged node, and one of deeper calls below each path. */
    CHECK(tree->n_paths <= 2 + 10 * LINES * 10);
    CHECK(tree->n_nodes <= 2 * tree->n_paths + 10 * LINES * 10 + 10);
    tear_down(&made);
}

static void
trees_of_one_process_share_room(void)
{
    lp_call_room room = {.used = 7, .max = 9};
    fixture made = set_up();
    uint32_t deeper = 0;
    lp_tree *tree;

    made.rec->room = &room;
    call(&made, 0, 0, 0);
    tree = lp_calls_tree(made.rec, &owner);
    tree->min = 0;
    for (uint32_t middle = 1; middle < 5; middle++) {
        call(&made, middle, 0, middle * 10);
        call(&made, 30, 0, middle * 10 + 1);
        call(&made, 31, 0, middle * 10 + 2);
        leave(&made, middle * 10 + 3);
        leave(&made, middle * 10 + 4);
        leave(&made, middle * 10 + 5);
    }
    leave(&made, 100);
    for (const lp_node *node = tree->first; node != NULL; node = node->next) {
        deeper += node->kind == LP_NODE_DEEPER;
    }
    CHECK(deeper == 3); /* below 30, as called by 2, 3 and 4 */
    CHECK(room.used == 7 + tree->n_paths);
    lp_calls_drop(made.rec, &owner);
    CHECK(room.used == 7);
    tear_down(&made);
}

static void
two_tracers_have_a_tree_each(void)
{
    fixture made = set_up();
    lp_node sum;

    call(&made, 0, 0, 0);
    call_for(&made, &other_owner, 1, 0, 5);
    call(&made, 2, 0, 10);
    leave(&made, 20);
    leave(&made, 25);
    leave(&made, 30);
    CHECK(edge(&made, 0, 0, 2, &sum) == 1 && sum.total == 10);
    CHECK(lp_calls_tree(made.rec, &other_owner)->n_nodes == 1);
    lp_calls_drop(made.rec, &owner);
    CHECK(lp_calls_tree(made.rec, &owner) == NULL);
    CHECK(lp_calls_tree(made.rec, &other_owner) != NULL);
    tear_down(&made);
}

static void
a_reset_in_the_middle_counts_from_there_on(void)
{
    fixture made = set_up();
    lp_node sum;

    call(&made, 0, 0, 0);
    call(&made, 1, 0, 10);
    lp_calls_reset(made.rec, &owner);
    lp_recorder_restart(made.rec, &owner, 50);
    leave(&made, 60);
    leave(&made, 80);
    CHECK(edge(&made, 0, 0, 1, &sum) == 1);
    CHECK(sum.calls == 0 && sum.total == 10 && sum.self == 10);
    CHECK(path_to(&made, 0)->self == 20);
    CHECK(path_to(&made, 0)->total == 30);
    tear_down(&made);
}

static void
a_frame_that_continues_after_a_pause_is_not_below_one_that_does_not(void)
{
    fixture made = set_up();
    lp_node sum;

    call(&made, 0, 0, 0);
    call(&made, 1, 0, 10);
    lp_recorder_pause(made.rec, 20);
    lp_recorder_line(made.rec, made.rec->top, 1, 50, LP_LINE_FORWARD);
    call(&made, 2, 0, 55);
    leave(&made, 60);
    leave(&made, 70);
    leave(&made, 80);
    CHECK(edge(&made, 0, 0, 1, &sum) == 1);
    CHECK(sum.calls == 1 && lp_node_inclusive(&sum) == 10 && sum.self == 10);
    CHECK(path_to(&made, 0)->self == 10);
    CHECK(lp_node_inclusive(path_to(&made, 0)) == 20);
    CHECK(made.counters[1]->total == 30);
    CHECK(edge(&made, 1, 1, 2, &sum) == 1 && lp_node_inclusive(&sum) == 5);
    tear_down(&made);
}

static void
callees_of_an_ignored_function_move_below_its_caller(void)
{
    fixture made = set_up();
    lp_node sum;

    call(&made, 0, 0, 0);
    call(&made, 1, 0, 10);
    call(&made, 2, 0, 20);
    CHECK(lp_recorder_drop_code(made.rec, &owner, &codes[1], 30) == 0);
    leave(&made, 70);
    leave(&made, 80);
    CHECK(edge(&made, 0, 0, 1, &sum) == 1);
    CHECK(lp_node_inclusive(&sum) == 20 && sum.self == 10);
    CHECK(edge(&made, 1, 0, 2, &sum) == 1 && lp_node_inclusive(&sum) == 10);
    CHECK(edge(&made, 0, 0, 2, &sum) == 1);
    CHECK(lp_node_inclusive(&sum) == 40 && sum.calls == 0);
    CHECK(path_to(&made, 0)->self == 20);
    tear_down(&made);
}

static void
a_call_of_c_ends_with_the_function_that_made_it(void)
{
    fixture made = set_up();

    call(&made, 0, 0, 0);
    call(&made, 1, 0, 10);
    call(&made, 2, 0, 20)->flags |= LP_FRAME_C_FUNCTION;
    CHECK(lp_recorder_drop_code(made.rec, &owner, &codes[1], 30) == 0);
    CHECK(made.rec->top == made.rec->frames + 1);
    CHECK(made.counters[2]->depth == 0);
    leave(&made, 40);
    tear_down(&made);
}

static void
deep_calls_of_many_functions_have_few_nodes(void)
{
    fixture made = set_up();

    for (lp_ticks i = 0; i < 100000; i++) {
        call(&made, (uint32_t)(i % FUNCTIONS), (uint32_t)(i % LINES), i);
    }
    for (lp_ticks i = 0; i < 100000; i++) {
        leave(&made, 100000 + i);
    }
    CHECK(lp_calls_tree(made.rec, &owner)->n_nodes <= FUNCTIONS * LINES * 2);
    tear_down(&made);
}

int
main(void)
{
    lines_of_a_caller_have_separate_nodes();
    each_time_of_a_node_has_its_cost();
    recursion_is_a_leaf_and_counts_once_in_the_total();
    every_tick_is_in_one_nodes_self();
    edges_stay_exact_when_call_paths_are_not_kept();
    time_stays_under_its_true_ancestors_when_call_paths_are_not_kept();
    a_full_tree_takes_each_call_once_more_and_no_other_memory();
    trees_of_one_process_share_room();
    two_tracers_have_a_tree_each();
    a_reset_in_the_middle_counts_from_there_on();
    a_frame_that_continues_after_a_pause_is_not_below_one_that_does_not();
    callees_of_an_ignored_function_move_below_its_caller();
    a_call_of_c_ends_with_the_function_that_made_it();
    deep_calls_of_many_functions_have_few_nodes();
    return check_failures;
}
