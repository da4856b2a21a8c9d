/* Call times: nodes are joined by function, and add up to the lines. */
#include "arithmetic/call_times.h"

#include <stdlib.h>

#include "check.h"
#include "random.h"
#include "record/call_tree.h"

enum { F, G, H, C, FUNCTIONS, LINES = 8, MANY = 3000 };

static const lp_tick_scale ns = {
    .ns_per_tick = UINT64_C(1) << 32, .cost_one = 10, .cost_share = 1.0};

/* Serials 1, 2 and 3 are F, G and H, 4 is F again, 5 a C function. */
static const int32_t function_of[] = {LP_NOT_SHOWN, F, G, H, F, C};

static lp_call_row
row(int64_t parent, int64_t line, int64_t serial, int64_t self, int64_t total)
{
    return (lp_call_row){.parent = parent,
                         .line = line,
                         .serial = serial,
                         .calls = 1,
                         .primitive = 1,
                         .self = self,
                         .total = total,
                         .inclusive = total};
}

static lp_call_times
given(const lp_call_row *rows, size_t n, lp_call_function *functions)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        functions[i] = (lp_call_function){.flags = 0};
    }
    functions[F].flags = LP_CALL_SEVERAL;
    functions[C].flags = LP_CALL_OF_C;
    return (lp_call_times){.scale = ns,
                           .rows = rows,
                           .n_rows = n,
                           .function_of = function_of,
                           .n_serials =
                               sizeof(function_of) / sizeof(*function_of),
                           .functions = functions,
                           .n_functions = FUNCTIONS};
}

static void
code_objects_of_one_function_are_one_and_hidden_ones_are_their_callers(void)
{
    const lp_call_row rows[] = {
        row(-1, 0, 1, 1, 111),   row(0, 2, 9, 2, 110), row(1, 31, 2, 8, 108),
        row(2, 12, 4, 100, 100), row(3, 2, 2, 0, 0),
    };
    lp_call_function functions[FUNCTIONS];
    lp_call_times times = given(rows, 5, functions);

    CHECK(lp_call_times_join(&times) && lp_call_times_fit(&times));
    CHECK(times.n_nodes == 3);
    CHECK(times.nodes[0].function == F && times.nodes[0].self == 3);
    CHECK(times.nodes[1].function == G && times.nodes[1].line == 2);
    CHECK(times.nodes[1].calls == 2); /* G below F again counts at the first */
    CHECK(times.nodes[2].function == F && times.nodes[2].parent == 1);
    lp_call_times_free(&times);
}

static void
lines_get_more_so_that_their_callees_fit(void)
{
    const lp_call_row rows[] = {row(-1, 0, 1, 1, 50), row(0, 2, 2, 49, 49)};
    lp_call_line lines[] = {
        {.function = F, .line = 2, .ns = 40, .raw = 50},
        {.function = G, .line = 12, .ns = 49, .raw = 49},
    };
    lp_call_function functions[FUNCTIONS];
    lp_call_times times = given(rows, 2, functions);

    functions[F].flags |= LP_CALL_ONCE;
    functions[G].flags |= LP_CALL_ONCE;
    times.lines = lines;
    times.n_lines = 2;
    CHECK(lp_call_times_join(&times) && lp_call_times_fit(&times));
    CHECK(lines[0].more == 9 && lines[1].more == 0);
    CHECK(times.nodes[0].inclusive == 49 && times.nodes[0].self == 0);
    CHECK(times.nodes[1].inclusive == 49 && times.nodes[1].self == 49);
    lp_call_times_free(&times);
}

/* F calls G from two lines; below one of the two H has its path, below the
 * other only its time. */
static void
deeper_calls_have_the_rest_of_the_kept_node_above_them(void)
{
    lp_call_row rows[] = {
        row(-1, 0, 1, 10, 160), row(0, 2, 2, 5, 45),   row(1, 12, 3, 40, 40),
        row(0, 3, 2, 5, 105),   row(3, 0, 0, 0, 0),    row(3, 0, 2, 0, 0),
        row(5, 12, 3, 60, 60),  row(5, 13, 3, 40, 40),
    };
    lp_call_function functions[FUNCTIONS];
    lp_call_times times = given(rows, 8, functions);

    functions[F].flags = 0;
    rows[4].kind = LP_NODE_DEEPER;
    rows[5].kind = LP_NODE_CALLER;
    rows[5].calls = rows[5].primitive = 0;
    rows[6].kind = rows[7].kind = LP_NODE_MERGED;
    CHECK(lp_call_times_join(&times) && lp_call_times_fit(&times));
    CHECK(times.n_nodes == 8);
    for (size_t i = 0; i < times.n_nodes; i++) {
        const lp_call_node *node = &times.nodes[i];

        if (node->kind == LP_NODE_DEEPER) {
            CHECK(node->parent == 3 && node->self == 100);
            CHECK(node->inclusive == 100 && node->calls == 1);
        }
        else if (node->kind == LP_NODE_MERGED) {
            CHECK(times.nodes[node->parent].function == G);
            CHECK(node->inclusive == (node->line == 12 ? 60 : 40));
        }
    }
    CHECK(times.nodes[0].self == 10 && times.nodes[3].self == 5);
    lp_call_times_free(&times);
}

/* Whatever the numbers are, no time is below 0 and callees fit. */
static void
random_trees_are_fitted_without_a_time_below_0(void)
{
    lp_call_row *rows = calloc(MANY, sizeof(*rows));
    lp_call_line *lines = calloc(FUNCTIONS * LINES, sizeof(*lines));
    uint64_t state = 7;

    CHECK(rows != NULL && lines != NULL);
    for (int kinds = 1; kinds <= 4; kinds += 3) {
        lp_call_function functions[FUNCTIONS];
        lp_call_times times = given(rows, MANY, functions);

        for (size_t i = 0; i < MANY; i++) {
            int64_t parent = (int64_t)(random_next(&state) % (i + 1)) - 1;

            rows[i] = row(parent, (int64_t)(random_next(&state) % LINES),
                          (int64_t)(random_next(&state) % 7),
                          (int64_t)(random_next(&state) % 1000),
                          (int64_t)(random_next(&state) % 5000));
            rows[i].self_cost = (int64_t)(random_next(&state) % 9000);
            rows[i].inclusive_cost = (int64_t)(random_next(&state) % 9000);
            rows[i].kind = (int64_t)(random_next(&state) % (uint64_t)kinds);
        }
        for (size_t i = 0; i < FUNCTIONS * LINES; i++) {
            lines[i] = (lp_call_line){.function = (int64_t)(i / LINES),
                                      .line = (int64_t)(i % LINES),
                                      .ns = (int64_t)(i * 1000),
                                      .raw = (int64_t)(i * 1500)};
        }
        times.lines = lines;
        times.n_lines = FUNCTIONS * LINES;
        CHECK(lp_call_times_join(&times) && lp_call_times_fit(&times));
        for (size_t i = 0; i < times.n_nodes; i++) {
            const lp_call_node *node = &times.nodes[i];

            CHECK(node->parent < (int64_t)i);
            CHECK(node->self >= 0 && node->total >= 0);
            CHECK(node->total <= node->inclusive);
            CHECK(node->function >= 0 || node->kind == LP_NODE_DEEPER);
        }
        lp_call_times_free(&times);
    }
    free(rows);
    free(lines);
}

int
main(void)
{
    deeper_calls_have_the_rest_of_the_kept_node_above_them();
    code_objects_of_one_function_are_one_and_hidden_ones_are_their_callers();
    lines_get_more_so_that_their_callees_fit();
    random_trees_are_fitted_without_a_time_below_0();
    return 0;
}
