/* The open lines of greenlets, switch by switch, with times given as numbers.
 */
#include "record/greenlet_stacks.h"

#include <string.h>

#include "check.h"
#include "record/calls.h"

enum { LINES = 4, MANY = 1000 };

static char code, owner;
static char keys[MANY];

typedef struct fixture {
    lp_arena arena;
    lp_recorder *rec;
    lp_code_counters *counters; /* LINES lines from line 1 */
} fixture;

static lp_ticks
never(void)
{
    return 0;
}

static fixture
set_up(void)
{
    lp_layout layout = {.first_line = 1, .n_lines = LINES, .switches = true};
    lp_costs costs = {0};
    lp_clock clock;
    fixture made;

    lp_clock_set_source(&clock, never);
    lp_arena_init(&made.arena, LP_BLOCK_COUNTERS, false);
    made.rec = lp_recorder_new(&clock, &costs);
    made.counters = lp_recorder_counters(made.rec, &made.arena, &layout);
    return made;
}

static void
tear_down(fixture *made)
{
    lp_recorder_free(made->rec);
    lp_arena_free(&made->arena);
}

/* The greenlet with this number begins, on its first line. */
static void
begin(fixture *made, size_t number, lp_ticks now)
{
    CHECK(lp_stacks_switch(made->rec, &keys[number], now));
    lp_recorder_enter(made->rec, &code, made->counters, 1)->owner = &owner;
    lp_recorder_line(made->rec, made->rec->top, 0, now, LP_LINE_FORWARD);
}

static void
go_on(fixture *made, size_t number, lp_ticks now)
{
    CHECK(lp_stacks_switch(made->rec, &keys[number], now));
    CHECK(made->rec->stack_key == &keys[number]);
}

static void
the_clock_of_a_greenlet_stands_while_others_run(void)
{
    fixture made = set_up();
    const lp_line *line = made.counters->lines;
    const uint64_t *awaits = lp_code_counters_awaits(made.counters);

    begin(&made, 0, 100);
    CHECK(!lp_stacks_any(made.rec));
    begin(&made, 1, 107);
    CHECK(lp_stacks_has(made.rec, &keys[0]));
    CHECK(!lp_stacks_has(made.rec, &keys[1]));
    CHECK(line->ticks == 7);
    go_on(&made, 0, 1107);
    CHECK(line->ticks == 1007 && awaits[0] == 1000);
    CHECK(made.counters->depth == 1 && !made.counters->recursed);
    lp_recorder_leave(made.rec, made.rec->top, false, 1110);
    CHECK(line->ticks == 1010);
    CHECK(made.counters->total == 1010);
    /* The other one never comes back. */
    lp_recorder_settle(made.rec, 99999);
    CHECK(line->ticks == 1010 && awaits[0] == 1000);
    CHECK(line->max == 0); /* no execution was complete */
    tear_down(&made);
}

static void
drop(lp_recorder *rec, lp_ticks now, void *arg)
{
    *(uint32_t *)arg += (uint32_t)(rec->top - rec->frames);
    lp_recorder_drop(rec, &owner, now);
}

static void
stacks_are_visited_and_used_again(void)
{
    fixture made = set_up();
    uint32_t frames = 0;

    for (size_t i = 0; i < MANY; i++) {
        begin(&made, i, i);
    }
    for (size_t i = 0; i < MANY; i++) {
        go_on(&made, i, MANY);
    }
    CHECK(made.counters->depth == 1);
    lp_stacks_visit(made.rec, drop, &frames);
    CHECK(frames == MANY - 1 && !lp_stacks_any(made.rec));
    CHECK(made.counters->depth == 1);
    CHECK(made.rec->stack_key == &keys[MANY - 1]);
    for (size_t i = 0; i < MANY - 1; i++) {
        const lp_block *blocks = made.rec->more_frames;

        begin(&made, i, 2 * MANY);
        CHECK(made.rec->more_frames == blocks);
    }
    tear_down(&made);
}

static void
a_deep_stack_grows_by_itself(void)
{
    fixture made = set_up();
    size_t depth = 500;

    begin(&made, 0, 0);
    begin(&made, 1, 0);
    for (size_t i = 1; i < depth; i++) {
        lp_recorder_enter(made.rec, &code, made.counters, 1)->owner = &owner;
        lp_recorder_line(made.rec, made.rec->top, 1, i, LP_LINE_FORWARD);
    }
    go_on(&made, 0, depth);
    CHECK(made.rec->top - made.rec->frames == 1);
    CHECK(made.counters->depth == 1);
    go_on(&made, 1, 2 * depth);
    CHECK(made.rec->top - made.rec->frames == (ptrdiff_t)depth);
    CHECK(made.counters->depth == depth);
    tear_down(&made);
}

int
main(void)
{
    the_clock_of_a_greenlet_stands_while_others_run();
    stacks_are_visited_and_used_again();
    a_deep_stack_grows_by_itself();
    return check_failures;
}
