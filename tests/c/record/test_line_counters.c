/* Counters: created from a layout, with a weight per line, reset. */
#include "record/line_counters.h"

#include <stdlib.h>

#include "check.h"

static lp_layout
layout_of(uint32_t first_line, uint32_t n_lines)
{
    lp_layout layout = {
        .code_id = 3, .first_line = first_line, .n_lines = n_lines};

    return layout;
}

static void
counters_start_at_zero(void)
{
    lp_arena arena;
    lp_costs costs = {0};
    lp_layout layout = layout_of(10, 5);
    lp_code_counters *counters;

    lp_arena_init(&arena, LP_BLOCK_COUNTERS, false);
    counters = lp_code_counters_new(&arena, &layout, &costs);
    CHECK(counters->n_lines == 5 && counters->code_id == 3);
    CHECK(lp_code_counters_awaits(counters) == NULL);
    for (int i = 0; i < 5; i++) {
        CHECK(counters->lines[i].hits == 0 && counters->lines[i].ticks == 0);
    }
    lp_arena_free(&arena);
}

static void
lines_above_256_and_long_lines_weigh_more(void)
{
    lp_arena arena;
    lp_costs costs = {.line = 10,
                      .high_line = 20,
                      .instruction = 3,
                      .specialized = 4,
                      .by_instruction = 5,
                      .high_by_instruction = 7,
                      .max_small_int = 256};
    lp_layout layout = layout_of(255, 4);
    lp_code_counters *counters;

    layout.instructions = calloc(4, sizeof(uint16_t));
    layout.instructions[0] = 2;
    layout.specialized = calloc(4, sizeof(uint16_t));
    layout.specialized[0] = 1;
    lp_arena_init(&arena, LP_BLOCK_COUNTERS, false);
    counters = lp_code_counters_new(&arena, &layout, &costs);
    /* line 255, two instructions, one of them specialized */
    CHECK(counters->lines[0].weight == 20);
    CHECK(counters->lines[1].weight == 10); /* line 256 */
    CHECK(counters->lines[2].weight == 20); /* line 257 */
    free(layout.instructions);              /* the others cost nothing then */
    layout.instructions = NULL;
    layout.by_instruction = true;
    counters = lp_code_counters_new(&arena, &layout, &costs);
    CHECK(counters->lines[0].weight == 9); /* a specialized one */
    CHECK(counters->lines[2].weight == 5);
    layout.high = calloc(1, 1);
    layout.high[0] = 1 << 2;
    counters = lp_code_counters_new(&arena, &layout, &costs);
    CHECK(counters->lines[1].weight == 5 && counters->lines[2].weight == 7);
    lp_layout_clear(&layout);
    CHECK(layout.specialized == NULL);
    lp_arena_free(&arena);
}

static void
awaits_are_stored_after_the_lines(void)
{
    lp_arena arena;
    lp_costs costs = {0};
    lp_layout layout = layout_of(1, 7);
    lp_code_counters *counters;
    uint64_t *awaits;

    layout.awaits = true;
    lp_arena_init(&arena, LP_BLOCK_COUNTERS, false);
    counters = lp_code_counters_new(&arena, &layout, &costs);
    awaits = lp_code_counters_awaits(counters);
    CHECK((void *)awaits == (void *)(counters->lines + 7));
    awaits[6] = 99;
    CHECK(lp_arena_alloc(&arena, 1) >= (void *)(awaits + 7));
    lp_code_counters_reset(counters);
    CHECK(awaits[6] == 0);
    lp_arena_free(&arena);
}

static void
a_reset_keeps_the_depth_of_open_frames(void)
{
    lp_arena arena;
    lp_costs costs = {.line = 10, .max_small_int = 256};
    lp_layout layout = layout_of(1, 2);
    lp_code_counters *counters;

    lp_arena_init(&arena, LP_BLOCK_COUNTERS, false);
    counters = lp_code_counters_new(&arena, &layout, &costs);
    counters->depth = 2;
    counters->calls = counters->total = counters->lines[1].hits = 5;
    lp_code_counters_reset(counters);
    CHECK(counters->depth == 2);
    CHECK(counters->calls == 0 && counters->total == 0);
    CHECK(counters->lines[1].hits == 0 && counters->lines[1].weight == 10);
    lp_arena_free(&arena);
}

int
main(void)
{
    counters_start_at_zero();
    lines_above_256_and_long_lines_weigh_more();
    awaits_are_stored_after_the_lines();
    a_reset_keeps_the_depth_of_open_frames();
    return check_failures;
}
