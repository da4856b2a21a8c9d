/* The open lines of a thread, event by event, with times given as numbers. */
#include "record/recorder.h"

#include <stdlib.h>

#include "check.h"

static char code_a, code_b, owner_a, owner_b;

typedef struct fixture {
    lp_arena arena;
    lp_recorder *rec;
    lp_code_counters *a; /* 10 lines from line 1 */
    lp_code_counters *b; /* 10 lines from line 101 */
} fixture;

static lp_ticks
never(void)
{
    return 0;
}

static fixture
set_up(lp_costs costs, uint32_t *statements)
{
    lp_layout a = {.code_id = 0,
                   .first_line = 1,
                   .n_lines = 10,
                   .statements = statements};
    lp_layout b = {.code_id = 70, .first_line = 101, .n_lines = 10};
    lp_clock clock;
    fixture made;

    lp_clock_set_source(&clock, never);
    lp_arena_init(&made.arena, LP_BLOCK_COUNTERS, false);
    made.rec = lp_recorder_new(&clock, &costs);
    made.a = lp_recorder_counters(made.rec, &made.arena, &a);
    made.b = lp_recorder_counters(made.rec, &made.arena, &b);
    CHECK(lp_recorder_counters(made.rec, &made.arena, &a) == made.a);
    return made;
}

static void
tear_down(fixture *made)
{
    CHECK(made->rec->top == made->rec->frames);
    lp_recorder_free(made->rec);
    lp_arena_free(&made->arena);
}

static void
enter_a(fixture *made)
{
    lp_recorder_enter(made->rec, &code_a, made->a, 1)->owner = &owner_a;
}

static void
enter_b(fixture *made)
{
    lp_recorder_enter(made->rec, &code_b, made->b, 101)->owner = &owner_b;
}

static void
line(fixture *made, uint32_t offset, lp_ticks now)
{
    lp_recorder_line(made->rec, made->rec->top, offset, now, LP_LINE_FORWARD);
}

static void
leave(fixture *made, lp_ticks now)
{
    lp_recorder_leave(made->rec, made->rec->top, false, now);
}

static void
time_goes_to_the_line_that_was_open(void)
{
    fixture made = set_up((lp_costs){0}, NULL);

    enter_a(&made);
    line(&made, 1, 100);
    line(&made, 2, 107);
    line(&made, 1, 110);
    leave(&made, 130);
    CHECK(made.a->lines[1].hits == 2 && made.a->lines[1].ticks == 27);
    CHECK(made.a->lines[2].hits == 1 && made.a->lines[2].ticks == 3);
    CHECK(made.a->total == 30 && made.a->recursed == 0);
    tear_down(&made);
}

static void
the_time_of_a_callee_is_in_its_callers_line(void)
{
    fixture made = set_up((lp_costs){0}, NULL);

    enter_a(&made);
    line(&made, 1, 0);
    enter_b(&made);
    line(&made, 4, 10);
    leave(&made, 30);
    line(&made, 2, 35);
    leave(&made, 36);
    CHECK(made.a->lines[1].ticks == 35 && made.a->lines[2].ticks == 1);
    CHECK(made.b->lines[4].ticks == 20 && made.b->lines[4].hits == 1);
    tear_down(&made);
}

static void
recursion_counts_each_frame_but_the_total_once(void)
{
    fixture made = set_up((lp_costs){0}, NULL);

    enter_a(&made);
    line(&made, 1, 0);
    enter_a(&made);
    line(&made, 1, 10);
    enter_a(&made);
    line(&made, 2, 20);
    leave(&made, 25);
    leave(&made, 30);
    leave(&made, 40);
    CHECK(made.a->lines[1].hits == 2);
    CHECK(made.a->lines[1].ticks == 40 + 20);
    CHECK(made.a->lines[2].ticks == 5);
    CHECK(made.a->total == 40 && made.a->recursed == 1);
    tear_down(&made);
}

static void
a_resumed_line_gets_time_and_no_hit(void)
{
    fixture made = set_up((lp_costs){0}, NULL);

    enter_a(&made);
    line(&made, 3, 10);
    leave(&made, 15); /* suspended until 100 */
    enter_a(&made);
    lp_recorder_open(made.rec, made.rec->top, made.a->lines + 3, 100);
    line(&made, 4, 120);
    leave(&made, 121);
    CHECK(made.a->lines[3].hits == 1 && made.a->lines[3].ticks == 25);
    CHECK(made.a->total == 5 + 21);
    tear_down(&made);
}

static void
a_line_outside_the_code_is_not_counted(void)
{
    fixture made = set_up((lp_costs){0}, NULL);

    enter_a(&made);
    line(&made, 1, 0);
    line(&made, 10, 5);
    line(&made, (uint32_t)-3, 6);
    leave(&made, 7);
    CHECK(made.a->lines[1].ticks == 7 && made.a->lines[9].hits == 0);
    tear_down(&made);
}

static void
costs_are_counted_by_line(void)
{
    lp_costs costs = {.line = 100, .max_small_int = 256};
    fixture made = set_up(costs, NULL);

    enter_a(&made);
    line(&made, 1, 0);
    enter_b(&made);
    line(&made, 1, 10);
    line(&made, 2, 20);
    leave(&made, 30);
    leave(&made, 40);
    CHECK(lp_line_cost(&made.b->lines[1]) == 100);
    CHECK(lp_line_cost(&made.b->lines[2]) == 100);
    /* Two events of the callee, and one of the line. */
    CHECK(lp_line_cost(&made.a->lines[1]) == 300);
    CHECK(made.b->total_cost == 200);
    CHECK(made.a->total_cost == 300);
    CHECK(made.rec->cost == 300);
    tear_down(&made);
}

/* Lines 2 to 4 (offsets 1 to 3) are one statement. */
static uint32_t *
one_statement(void)
{
    uint32_t *statements = calloc(10, sizeof(uint32_t));

    statements[1] = statements[2] = statements[3] = 2;
    return statements;
}

static void
a_statement_of_several_lines_counts_once(void)
{
    uint32_t *statements = one_statement();
    fixture made = set_up((lp_costs){0}, statements);
    static const uint32_t path[] = {0, 1, 2, 3, 2, 1, 4, 2, 3, 1};

    enter_a(&made);
    for (lp_ticks i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
        line(&made, path[i], i * 10);
    }
    leave(&made, 100);
    CHECK(made.a->lines[1].hits == 2); /* twice, once begun inside */
    CHECK(made.a->lines[2].hits == 2 && made.a->lines[3].hits == 2);
    CHECK(made.a->lines[1].ticks == 30);
    CHECK(made.a->lines[2].ticks == 30 && made.a->lines[3].ticks == 20);
    free(statements);
    tear_down(&made);
}

static void
a_jump_back_begins_a_new_execution_of_a_statement(void)
{
    uint32_t *statements = one_statement();
    fixture made = set_up((lp_costs){0}, statements);

    enter_a(&made);
    line(&made, 1, 0);
    line(&made, 2, 1);
    lp_recorder_line(made.rec, made.rec->top, 1, 2, LP_LINE_LOOP_BACK);
    line(&made, 2, 3);
    lp_recorder_line(made.rec, made.rec->top, 1, 4, LP_LINE_COMPREHENSION);
    leave(&made, 5);
    CHECK(made.a->lines[1].hits == 2 && made.a->lines[2].hits == 2);
    free(statements);
    tear_down(&made);
}

static void
a_statement_longer_than_a_word_counts_once(void)
{
    enum { LINES = 200 };
    uint32_t *statements = calloc(LINES, sizeof(uint32_t));
    lp_layout layout = {.code_id = 5,
                        .first_line = 1,
                        .n_lines = LINES,
                        .statements = statements};
    fixture made = set_up((lp_costs){0}, NULL);
    lp_code_counters *counters;
    int wrong = 0;

    for (int i = 0; i < LINES; i++) {
        statements[i] = 1;
    }
    counters = lp_recorder_counters(made.rec, &made.arena, &layout);
    lp_recorder_enter(made.rec, &code_a, counters, 1)->owner = &owner_a;
    for (uint32_t i = 0; i < LINES; i++) {
        line(&made, i, i);
    }
    line(&made, 150, LINES);
    line(&made, 0, LINES);
    leave(&made, LINES);
    for (int i = 0; i < LINES; i++) {
        wrong += counters->lines[i].hits != 1;
    }
    CHECK(wrong == 0);
    free(statements);
    tear_down(&made);
}

static void
time_on_a_line_without_a_hit_has_a_cost(void)
{
    uint32_t *statements = one_statement();
    lp_costs costs = {.line = 100, .max_small_int = 256};
    fixture made = set_up(costs, statements);

    enter_a(&made);
    lp_recorder_open(made.rec, made.rec->top, made.a->lines + 5, 0);
    /* a statement: its first line, the next, and the first again */
    line(&made, 1, 10);
    line(&made, 2, 20);
    line(&made, 1, 30);
    lp_recorder_settle(made.rec, 35);
    leave(&made, 40);
    CHECK(lp_line_cost(&made.a->lines[5]) == 100);
    CHECK(lp_line_cost(&made.a->lines[1]) == 200);
    CHECK(lp_line_cost(&made.a->lines[2]) == 100);
    CHECK(made.a->total_cost == 400 && made.rec->cost == 400);
    free(statements);
    tear_down(&made);
}

static void
settling_loses_and_doubles_nothing(void)
{
    fixture made = set_up((lp_costs){0}, NULL);

    enter_a(&made);
    line(&made, 1, 0);
    enter_b(&made);
    line(&made, 2, 10);
    lp_recorder_settle(made.rec, 15);
    CHECK(made.a->lines[1].ticks == 15 && made.b->lines[2].ticks == 5);
    CHECK(made.a->total == 15);
    lp_recorder_settle(made.rec, 20);
    leave(&made, 30);
    leave(&made, 40);
    CHECK(made.a->lines[1].ticks == 40 && made.b->lines[2].ticks == 20);
    CHECK(made.a->total == 40 && made.b->total == 20);
    tear_down(&made);
}

static void
frames_of_one_owner_can_be_dropped(void)
{
    fixture made = set_up((lp_costs){0}, NULL);

    enter_a(&made);
    line(&made, 1, 0);
    enter_b(&made);
    line(&made, 2, 10);
    enter_a(&made);
    line(&made, 3, 20);
    made.rec->top->flags |= LP_FRAME_ACTIVATES_TRACER;
    CHECK(lp_recorder_drop(made.rec, &owner_a, 30) == 1);
    CHECK(made.a->depth == 0 && made.b->depth == 1);
    CHECK(made.a->lines[1].ticks == 30 && made.a->lines[3].ticks == 10);
    CHECK(made.rec->top->code == &code_b);
    leave(&made, 50);
    CHECK(made.b->lines[2].ticks == 40);
    tear_down(&made);
}

static void
a_dropped_frame_leaves_its_shared_frame_unshared(void)
{
    fixture made = set_up((lp_costs){0}, NULL);

    enter_a(&made);
    enter_b(&made);
    made.rec->top->flags |= LP_FRAME_SHARED;
    lp_recorder_drop(made.rec, &owner_a, 0);
    CHECK(!(made.rec->top->flags & LP_FRAME_SHARED));
    leave(&made, 1);
    tear_down(&made);
}

/* The frame is in the middle of the stack, below a frame of other code. */
static void
a_shared_frame_can_be_inserted_on_an_open_frame(void)
{
    lp_layout again = {.code_id = 5, .first_line = 1, .n_lines = 10};
    fixture made = set_up((lp_costs){0}, NULL);
    lp_code_counters *counters =
        lp_recorder_counters(made.rec, &made.arena, &again);
    lp_frame *shared;

    enter_a(&made);
    line(&made, 1, 0);
    enter_b(&made);
    line(&made, 2, 10);
    shared = lp_recorder_insert(made.rec, made.rec->top - 1, counters);
    CHECK(shared == made.rec->top - 1 && shared->code == &code_a);
    CHECK((shared->flags & LP_FRAME_SHARED) && shared->line == NULL);
    CHECK(made.rec->top->code == &code_b);
    shared->owner = &owner_b;
    leave(&made, 20);
    line(&made, 3, 30);
    lp_recorder_line(made.rec, made.rec->top - 1, 3, 30, LP_LINE_FORWARD);
    leave(&made, 35);
    leave(&made, 35);
    CHECK(counters->lines[3].hits == 1 && counters->lines[3].ticks == 5);
    CHECK(made.a->lines[1].ticks == 30 && made.a->lines[3].ticks == 5);
    CHECK(made.b->lines[2].ticks == 10 && counters->depth == 0);
    tear_down(&made);
}

static void
a_restart_drops_the_time_on_the_open_line(void)
{
    fixture made = set_up((lp_costs){0}, NULL);

    enter_a(&made);
    line(&made, 1, 0);
    lp_code_counters_reset(made.a);
    lp_recorder_restart(made.rec, &owner_a, 100);
    leave(&made, 105);
    CHECK(made.a->lines[1].ticks == 5 && made.a->total == 5);
    tear_down(&made);
}

static void
a_frame_below_the_top_can_leave(void)
{
    fixture made = set_up((lp_costs){0}, NULL);

    enter_a(&made);
    line(&made, 1, 0);
    enter_b(&made);
    line(&made, 2, 10);
    lp_recorder_leave(made.rec, made.rec->top - 1, false, 20);
    CHECK(made.a->lines[1].ticks == 20);
    CHECK(made.rec->top->code == &code_b);
    leave(&made, 30);
    CHECK(made.b->lines[2].ticks == 20);
    tear_down(&made);
}

static void
min_and_max_executions_are_recorded(void)
{
    lp_costs costs = {.line = 2 * LP_COST_ONE, .max_small_int = 256};
    fixture made = set_up(costs, NULL);

    CHECK(made.a->lines[1].min == LP_NO_MIN && made.a->lines[1].max == 0);
    enter_a(&made);
    line(&made, 1, 0);
    line(&made, 2, 7);
    line(&made, 1, 8);
    enter_b(&made); /* its one event costs 2 ticks, which do not belong to a
                       line */
    line(&made, 5, 9);
    leave(&made, 17);
    line(&made, 1, 28);
    leave(&made, 32);
    CHECK(made.a->lines[1].min == 4 && made.a->lines[1].max == 18);
    CHECK(made.a->lines[2].min == 1 && made.a->lines[2].max == 1);
    lp_code_counters_reset(made.a);
    CHECK(made.a->lines[1].min == LP_NO_MIN && made.a->lines[1].max == 0);
    tear_down(&made);
}

/* The statement returns to its first line for the call. */
static void
the_time_of_a_statement_is_that_of_all_its_lines(void)
{
    uint32_t *statements = one_statement();
    fixture made = set_up((lp_costs){0}, statements);

    enter_a(&made);
    line(&made, 1, 0);
    line(&made, 2, 1);
    line(&made, 1, 2);
    line(&made, 5, 42);
    line(&made, 1, 50);
    line(&made, 2, 53);
    line(&made, 1, 55);
    leave(&made, 65);
    CHECK(made.a->lines[1].hits == 2 && made.a->lines[1].ticks == 54);
    CHECK(made.a->lines[1].min == 13 && made.a->lines[1].max == 41);
    CHECK(made.a->lines[2].min == LP_NO_MIN);
    tear_down(&made);
    free(statements);
}

static void
an_execution_with_a_suspension_has_no_length(void)
{
    fixture made = set_up((lp_costs){0}, NULL);
    lp_frame *frame;

    enter_a(&made);
    line(&made, 1, 0);
    lp_recorder_leave(made.rec, made.rec->top, true, 50);
    enter_a(&made);
    frame = made.rec->top;
    lp_recorder_open(made.rec, frame, frame->lines + 1, 100);
    line(&made, 2, 103);
    leave(&made, 105);
    CHECK(made.a->lines[1].ticks == 53);
    CHECK(made.a->lines[1].min == LP_NO_MIN && made.a->lines[1].max == 0);
    CHECK(made.a->lines[2].min == 2);
    tear_down(&made);
}

static void
a_report_in_the_middle_splits_an_execution(void)
{
    fixture made = set_up((lp_costs){0}, NULL);

    enter_a(&made);
    line(&made, 1, 0);
    lp_recorder_settle(made.rec, 50);
    line(&made, 1, 60);
    leave(&made, 65);
    CHECK(made.a->lines[1].ticks == 65);
    CHECK(made.a->lines[1].min == 5 && made.a->lines[1].max == 5);
    tear_down(&made);
}

static void
the_stack_grows_deep(void)
{
    enum { DEPTH = 50000 };
    fixture made = set_up((lp_costs){0}, NULL);

    for (lp_ticks i = 0; i < DEPTH; i++) {
        enter_a(&made);
        line(&made, 1, i);
    }
    for (lp_ticks i = 0; i < DEPTH; i++) {
        leave(&made, DEPTH + i);
    }
    CHECK(made.a->lines[1].hits == DEPTH);
    CHECK(made.a->total == 2 * DEPTH - 1);
    CHECK(made.rec->lost == 0);
    tear_down(&made);
}

static void
lines_that_a_forked_child_inherits_end_at_the_fork(void)
{
    lp_costs costs = {.line = 8};
    fixture made = set_up(costs, NULL);

    enter_a(&made);
    line(&made, 1, 0);
    enter_b(&made);
    line(&made, 4, 10);
    lp_recorder_inherit(made.rec, 30);
    enter_a(&made);
    CHECK(made.rec->top->flags & LP_FRAME_OUTERMOST);
    line(&made, 2, 100);
    leave(&made, 107);
    CHECK(made.a->total == 30 + 7);
    lp_recorder_inherit(made.rec, 200); /* a fork in the child */
    lp_recorder_return_to(made.rec, made.rec->top, 1000);
    line(&made, 5, 1000);
    leave(&made, 1001);
    CHECK(made.b->lines[4].ticks == 20 && made.b->lines[4].hits == 1);
    CHECK(made.b->lines[5].ticks == 1 && made.b->lines[5].hits == 1);
    CHECK(made.b->total == 21 && made.b->depth == 0);
    leave(&made, 5000); /* it comes to no other line */
    CHECK(made.a->lines[1].ticks == 30 && made.a->total == 37);
    CHECK(made.a->depth == 0 && !made.a->recursed && !made.b->recursed);
    tear_down(&made);
}

static void
a_statement_goes_on_after_a_fork(void)
{
    uint32_t *statements = one_statement();
    fixture made = set_up((lp_costs){0}, statements);

    enter_a(&made);
    line(&made, 1, 0);
    line(&made, 2, 10);
    lp_recorder_inherit(made.rec, 30);
    lp_recorder_return_to(made.rec, made.rec->top, 100);
    line(&made, 3, 100);
    line(&made, 5, 107);
    leave(&made, 108);
    CHECK(made.a->lines[1].hits == 1 && made.a->lines[1].ticks == 10);
    CHECK(made.a->lines[2].hits == 1 && made.a->lines[2].ticks == 20);
    CHECK(made.a->lines[3].hits == 1 && made.a->lines[3].ticks == 7);
    tear_down(&made);
    free(statements);
}

static void
frames_that_a_child_never_returns_to_can_be_dropped(void)
{
    fixture made = set_up((lp_costs){0}, NULL);

    enter_a(&made);
    line(&made, 1, 0);
    enter_b(&made);
    line(&made, 4, 10);
    lp_recorder_inherit(made.rec, 30);
    lp_recorder_drop(made.rec, &owner_b, 40);
    lp_recorder_drop(made.rec, &owner_a, 40);
    CHECK(made.a->depth == 0 && made.b->depth == 0);
    CHECK(made.a->lines[1].ticks == 30 && made.b->lines[4].ticks == 20);
    tear_down(&made);
}

int
main(void)
{
    time_goes_to_the_line_that_was_open();
    the_time_of_a_callee_is_in_its_callers_line();
    recursion_counts_each_frame_but_the_total_once();
    a_resumed_line_gets_time_and_no_hit();
    a_line_outside_the_code_is_not_counted();
    costs_are_counted_by_line();
    a_statement_of_several_lines_counts_once();
    a_jump_back_begins_a_new_execution_of_a_statement();
    a_statement_longer_than_a_word_counts_once();
    time_on_a_line_without_a_hit_has_a_cost();
    settling_loses_and_doubles_nothing();
    frames_of_one_owner_can_be_dropped();
    a_dropped_frame_leaves_its_shared_frame_unshared();
    a_shared_frame_can_be_inserted_on_an_open_frame();
    a_restart_drops_the_time_on_the_open_line();
    a_frame_below_the_top_can_leave();
    min_and_max_executions_are_recorded();
    the_time_of_a_statement_is_that_of_all_its_lines();
    an_execution_with_a_suspension_has_no_length();
    a_report_in_the_middle_splits_an_execution();
    the_stack_grows_deep();
    lines_that_a_forked_child_inherits_end_at_the_fork();
    a_statement_goes_on_after_a_fork();
    frames_that_a_child_never_returns_to_can_be_dropped();
    return check_failures;
}
