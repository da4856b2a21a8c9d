/* Slices from the times of a thread's frames, with times given as numbers.
 */
#include "record/trace_query.h"

#include <stdlib.h>

#include "check.h"

static char code_a, code_b, owner_a, owner_b;

typedef struct fixture {
    lp_arena arena;
    lp_recorder *rec;
    lp_code_counters *a; /* serial 1, 10 lines from line 1 */
    lp_code_counters *b; /* serial 2, 10 lines from line 101 */
} fixture;

static lp_ticks
never(void)
{
    return 0;
}

static fixture
set_up(lp_ticks min_line_ticks)
{
    lp_layout a = {.code_id = 0, .serial = 1, .first_line = 1, .n_lines = 10};
    lp_layout b = {
        .code_id = 70, .serial = 2, .first_line = 101, .n_lines = 10};
    lp_costs costs = {.line = 3 * LP_COST_ONE,
                      .call = 5 * LP_COST_ONE,
                      .max_small_int = 256};
    lp_clock clock;
    fixture made;

    lp_the_trace_pool = (lp_trace_pool){.full_at = LP_NOT_FULL};
    lp_trace_pool_begin(1 << 20, min_line_ticks, 0);
    lp_clock_set_source(&clock, never);
    lp_arena_init(&made.arena, LP_BLOCK_COUNTERS, false);
    made.rec = lp_recorder_new(&clock, &costs);
    made.a = lp_recorder_counters(made.rec, &made.arena, &a);
    made.b = lp_recorder_counters(made.rec, &made.arena, &b);
    return made;
}

static void
tear_down(fixture *made)
{
    lp_recorder_free(made->rec);
    lp_arena_free(&made->arena);
    CHECK(lp_the_trace_pool.used == 0);
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
leave(fixture *made, bool suspended, lp_ticks now)
{
    lp_recorder_leave(made->rec, made->rec->top, suspended, now);
}

/* True if these are all the slices in [low, high) at `until`, in that order.
 * Each is start, end, function, line; the list ends with a function of 0. */
static bool
are_between(fixture *made, lp_ticks until, lp_ticks low, lp_ticks high,
            const lp_ticks (*expected)[4])
{
    const uint32_t wanted[] = {0, 1, 2};
    lp_trace_query search = {
        .recorders = made->rec,
        .wanted = (const unsigned char *)wanted,
        .first_lines = malloc(3 * sizeof(uint32_t)),
        .n_serials = 3,
        .until = until,
        .low = low,
        .high = high,
    };
    size_t n = 0;
    bool right;

    search.first_lines[1] = 1;
    search.first_lines[2] = 101;
    right = lp_trace_query_window(&search);
    for (; expected[n][2] != 0; n++) {
        const lp_found *found = &search.found[n];

        right = right && n < search.n && found->start == expected[n][0] &&
                found->end == expected[n][1] &&
                found->function + 1 == expected[n][2] &&
                found->line == expected[n][3];
    }
    right = right && n == search.n;
    for (size_t i = 0; !right && i < search.n; i++) {
        fprintf(stderr, "found %d-%d %d:%d\n", (int)search.found[i].start,
                (int)search.found[i].end, (int)search.found[i].function + 1,
                (int)search.found[i].line);
    }
    lp_trace_query_free(&search);
    return right;
}

static bool
are(fixture *made, lp_ticks until, const lp_ticks (*expected)[4])
{
    return are_between(made, until, 0, UINT64_MAX, expected);
}

static void
calls_and_lines_nest(void)
{
    const lp_ticks all[][4] = {{10, 60, 1, 0},   {10, 20, 1, 1},
                               {20, 60, 1, 3},   {30, 50, 2, 0},
                               {30, 50, 2, 102}, {0, 0, 0, 0}};
    fixture made = set_up(0);

    enter_a(&made);
    line(&made, 0, 10);
    line(&made, 2, 20);
    enter_b(&made);
    line(&made, 1, 30);
    leave(&made, false, 50);
    leave(&made, false, 60);
    CHECK(are(&made, 100, all));
    CHECK(are_between(&made, 100, 11, 31, all + 2));
    tear_down(&made);
}

static void
short_lines_have_no_slice_and_short_functions_have_one(void)
{
    const lp_ticks all[][4] = {{10, 41, 1, 0}, {20, 30, 1, 2}, {0, 0, 0, 0}};
    fixture made = set_up(10);

    enter_a(&made);
    line(&made, 0, 11);
    made.rec->top->began = 10; /* as if there had been a line */
    line(&made, 1, 20);
    line(&made, 2, 30);
    line(&made, 3, 39);
    leave(&made, false, 41);
    CHECK(are(&made, 100, all));
    tear_down(&made);
}

static void
nothing_is_recorded_while_slices_are_off(void)
{
    const lp_ticks none[][4] = {{0, 0, 0, 0}};
    fixture made;

    lp_the_trace_pool = (lp_trace_pool){.min_line_ticks = LP_NO_LINE_SLICES};
    made = set_up(0);
    lp_the_trace_pool.on = false;
    lp_the_trace_pool.min_line_ticks = LP_NO_LINE_SLICES;
    lp_recorder_trace(made.rec);
    enter_a(&made);
    line(&made, 0, 10);
    line(&made, 1, UINT64_MAX - 10);
    leave(&made, false, UINT64_MAX - 9);
    CHECK(are(&made, UINT64_MAX - 1, none));
    tear_down(&made);
}

static void
open_slices_end_now_and_are_complete_later(void)
{
    const lp_ticks at_40[][4] = {
        {10, 40, 1, 0}, {10, 40, 1, 1}, {30, 40, 2, 0}, {0, 0, 0, 0}};
    const lp_ticks at_80[][4] = {
        {10, 70, 1, 0}, {10, 60, 1, 1}, {30, 50, 2, 0}, {0, 0, 0, 0}};
    fixture made = set_up(25);

    enter_a(&made);
    line(&made, 0, 10);
    enter_b(&made);
    line(&made, 0, 30);
    lp_recorder_settle(made.rec, 40);
    CHECK(are(&made, 40, at_40));
    lp_recorder_settle(made.rec, 45);
    leave(&made, false, 50);
    lp_recorder_settle(made.rec, 55);
    line(&made, 1, 60);
    lp_recorder_settle(made.rec, 62);
    leave(&made, false, 70);
    CHECK(are(&made, 80, at_80));
    /* The same as at that time. */
    CHECK(are(&made, 40, at_40));
    tear_down(&made);
}

static void
steps_of_a_generator_are_separate_slices(void)
{
    const lp_ticks all[][4] = {
        {10, 20, 1, 0}, {10, 20, 1, 1}, {50, 61, 1, 0},
        {50, 60, 1, 1}, {60, 61, 1, 2}, {0, 0, 0, 0},
    };
    fixture made = set_up(0);

    enter_a(&made);
    line(&made, 0, 10);
    lp_recorder_settle(made.rec, 15);
    leave(&made, true, 20);
    enter_a(&made);
    lp_recorder_open(made.rec, made.rec->top, made.a->lines, 50);
    lp_recorder_settle(made.rec, 55);
    line(&made, 1, 60);
    leave(&made, false, 61);
    CHECK(are(&made, 100, all));
    tear_down(&made);
}

static void
recursion_nests(void)
{
    const lp_ticks all[][4] = {
        {10, 40, 1, 0}, {20, 30, 1, 0}, {22, 28, 1, 0}, {0, 0, 0, 0}};
    fixture made = set_up(LP_NO_LINE_SLICES);

    enter_a(&made);
    line(&made, 0, 10);
    enter_a(&made);
    line(&made, 0, 20);
    enter_a(&made);
    line(&made, 0, 22);
    leave(&made, false, 28);
    leave(&made, false, 30);
    leave(&made, false, 40);
    CHECK(are(&made, 100, all));
    tear_down(&made);
}

static void
of_equal_slices_the_enclosing_one_comes_first(void)
{
    /* Line 2 also encloses the function that it calls. */
    const lp_ticks all[][4] = {{10, 10, 1, 0}, {10, 10, 1, 2},
                               {10, 10, 2, 0}, {10, 10, 2, 101},
                               {10, 10, 1, 1}, {0, 0, 0, 0}};
    fixture made = set_up(0);

    enter_a(&made);
    line(&made, 0, 10);
    line(&made, 1, 10);
    enter_b(&made);
    line(&made, 0, 10);
    leave(&made, false, 10);
    leave(&made, false, 10);
    CHECK(are(&made, 100, all));
    tear_down(&made);
}

static void
frames_that_are_dropped_or_paused_end_there(void)
{
    const lp_ticks dropped[][4] = {{10, 50, 1, 0},
                                   {10, 50, 1, 1},
                                   {20, 40, 2, 0},
                                   {20, 40, 2, 101},
                                   {0, 0, 0, 0}};
    const lp_ticks paused[][4] = {{10, 20, 1, 0},
                                  {10, 20, 1, 1},
                                  {50, 60, 1, 0},
                                  {50, 60, 1, 2},
                                  {0, 0, 0, 0}};
    fixture made = set_up(0);

    enter_a(&made);
    line(&made, 0, 10);
    enter_b(&made);
    line(&made, 0, 20);
    lp_recorder_drop(made.rec, &owner_b, 40);
    leave(&made, false, 50);
    CHECK(are(&made, 100, dropped));
    tear_down(&made);
    made = set_up(0);
    enter_a(&made);
    line(&made, 0, 10);
    lp_recorder_pause(made.rec, 20);
    line(&made, 1, 50);
    leave(&made, false, 60);
    CHECK(are(&made, 100, paused));
    tear_down(&made);
}

static void
only_the_slices_of_an_ignored_code_end(void)
{
    const lp_ticks all[][4] = {{10, 50, 1, 0}, {20, 40, 2, 0}, {0, 0, 0, 0}};
    fixture made = set_up(LP_NO_LINE_SLICES);

    enter_a(&made);
    line(&made, 0, 10);
    lp_recorder_enter(made.rec, &code_b, made.b, 101)->owner = &owner_a;
    line(&made, 0, 20);
    lp_recorder_drop_code(made.rec, &owner_a, &code_b, 40);
    leave(&made, false, 50);
    CHECK(are(&made, 100, all));
    tear_down(&made);
}

static void
a_restart_drops_the_time_of_open_frames(void)
{
    const lp_ticks all[][4] = {
        {40, 50, 1, 0}, {40, 45, 1, 1}, {45, 50, 1, 2}, {0, 0, 0, 0}};
    fixture made = set_up(0);

    enter_a(&made);
    line(&made, 0, 10);
    lp_recorder_settle(made.rec, 20);
    lp_recorder_restart(made.rec, &owner_a, 40);
    line(&made, 1, 45);
    leave(&made, false, 50);
    CHECK(are(&made, 100, all));
    tear_down(&made);
}

static void
slices_without_room_are_counted(void)
{
    fixture made = set_up(LP_NO_LINE_SLICES);

    lp_the_trace_pool.max = 0;
    for (lp_ticks i = 0; i < 3; i++) {
        enter_a(&made);
        line(&made, 0, 10 * i);
        leave(&made, false, 10 * i + 1);
    }
    CHECK(made.a->dropped_slices == 3 && made.b->dropped_slices == 0);
    lp_code_counters_reset(made.a);
    CHECK(made.a->dropped_slices == 0);
    tear_down(&made);
}

static void
a_sample_has_every_64th_start(void)
{
    const uint32_t wanted[] = {0, 1};
    fixture made = set_up(LP_NO_LINE_SLICES);
    lp_trace_query search = {.recorders = made.rec,
                             .wanted = (const unsigned char *)wanted,
                             .n_serials = 2};
    lp_ticks *starts = NULL;
    size_t n = 0;

    for (lp_ticks i = 0; i < 640; i++) {
        enter_a(&made);
        line(&made, 0, 10 * i);
        enter_b(&made);
        line(&made, 0, 10 * i);
        leave(&made, false, 10 * i + 1);
        leave(&made, false, 10 * i + 1);
    }
    CHECK(lp_trace_query_sample(&search, &starts, &n) && n == 10);
    for (size_t i = 0; i < n; i++) {
        CHECK(starts[i] == 640 * i);
    }
    free(starts);
    tear_down(&made);
}

int
main(void)
{
    calls_and_lines_nest();
    short_lines_have_no_slice_and_short_functions_have_one();
    nothing_is_recorded_while_slices_are_off();
    open_slices_end_now_and_are_complete_later();
    steps_of_a_generator_are_separate_slices();
    recursion_nests();
    of_equal_slices_the_enclosing_one_comes_first();
    frames_that_are_dropped_or_paused_end_there();
    only_the_slices_of_an_ignored_code_end();
    a_restart_drops_the_time_of_open_frames();
    slices_without_room_are_counted();
    a_sample_has_every_64th_start();
    return check_failures;
}
