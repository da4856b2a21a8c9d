/* Counters: made from a layout, weighed by line, forgotten on reset. */
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
    lp_blocks blocks;
    lp_costs costs = {0};
    lp_layout layout = layout_of(10, 5);
    lp_counts *counts;

    lp_blocks_init(&blocks);
    counts = lp_counts_new(&blocks, &layout, &costs);
    CHECK(counts->n_lines == 5 && counts->code_id == 3);
    CHECK(lp_counts_awaits(counts) == NULL);
    for (int i = 0; i < 5; i++) {
        CHECK(counts->lines[i].hits == 0 && counts->lines[i].ticks == 0);
    }
    lp_blocks_free(&blocks);
}

static void
lines_above_256_and_long_lines_weigh_more(void)
{
    lp_blocks blocks;
    lp_costs costs = {.line = 10, .high_line = 20, .instruction = 3};
    lp_layout layout = layout_of(255, 4);
    lp_counts *counts;

    layout.instructions = calloc(4, sizeof(uint16_t));
    layout.instructions[0] = 2;
    lp_blocks_init(&blocks);
    counts = lp_counts_new(&blocks, &layout, &costs);
    CHECK(counts->lines[0].weight == 16); /* line 255, two instructions */
    CHECK(counts->lines[1].weight == 10); /* line 256 */
    CHECK(counts->lines[2].weight == 20); /* line 257 */
    lp_layout_clear(&layout);
    CHECK(layout.instructions == NULL);
    lp_blocks_free(&blocks);
}

static void
awaits_stand_behind_the_lines(void)
{
    lp_blocks blocks;
    lp_costs costs = {0};
    lp_layout layout = layout_of(1, 7);
    lp_counts *counts;
    uint64_t *awaits;

    layout.awaits = true;
    lp_blocks_init(&blocks);
    counts = lp_counts_new(&blocks, &layout, &costs);
    awaits = lp_counts_awaits(counts);
    CHECK((void *)awaits == (void *)(counts->lines + 7));
    awaits[6] = 99;
    CHECK(lp_blocks_take(&blocks, 1) >= (void *)(awaits + 7));
    lp_counts_reset(counts);
    CHECK(awaits[6] == 0);
    lp_blocks_free(&blocks);
}

static void
reset_keeps_what_is_open(void)
{
    lp_blocks blocks;
    lp_costs costs = {.line = 10};
    lp_layout layout = layout_of(1, 2);
    lp_counts *counts;

    lp_blocks_init(&blocks);
    counts = lp_counts_new(&blocks, &layout, &costs);
    counts->depth = 2;
    counts->calls = counts->total = counts->lines[1].hits = 5;
    lp_counts_reset(counts);
    CHECK(counts->depth == 2);
    CHECK(counts->calls == 0 && counts->total == 0);
    CHECK(counts->lines[1].hits == 0 && counts->lines[1].weight == 10);
    lp_blocks_free(&blocks);
}

int
main(void)
{
    counters_start_at_zero();
    lines_above_256_and_long_lines_weigh_more();
    awaits_stand_behind_the_lines();
    reset_keeps_what_is_open();
    return check_failures;
}
