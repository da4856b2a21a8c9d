#include "record/line_counters.h"

#include <stdlib.h>

enum {
    LINE_RECORDS = sizeof(lp_line) / LP_RECORD_BYTES,
    HEADER_RECORDS = sizeof(lp_code_counters) / LP_RECORD_BYTES
};

_Static_assert(sizeof(lp_line) % LP_RECORD_BYTES == 0, "whole records");
_Static_assert(sizeof(lp_code_counters) % LP_RECORD_BYTES == 0,
               "whole records");

void
lp_layout_clear(lp_layout *layout)
{
    free(layout->statements);
    free(layout->instructions);
    free(layout->specialized);
    free(layout->high);
    free(layout->has_code);
    layout->statements = NULL;
    layout->instructions = NULL;
    layout->specialized = NULL;
    layout->high = NULL;
    layout->has_code = NULL;
}

static bool
has_bit(const uint8_t *bits, uint32_t offset)
{
    return (bits[offset / 8] & 1u << offset % 8) != 0;
}

static uint32_t
weight_of(const lp_layout *layout, const lp_costs *costs, uint32_t offset)
{
    uint32_t weight;

    if (layout->by_instruction) {
        weight = layout->high != NULL && has_bit(layout->high, offset)
                     ? costs->high_by_instruction
                     : costs->by_instruction;
    }
    else {
        weight = layout->first_line + offset > costs->max_small_int
                     ? costs->high_line
                     : costs->line;
    }
    if (layout->instructions != NULL) {
        weight += costs->instruction * layout->instructions[offset];
    }
    if (layout->specialized != NULL) {
        weight += costs->specialized * layout->specialized[offset];
    }
    return weight;
}

static bool
has_code(const lp_layout *layout, uint32_t offset)
{
    return layout->has_code == NULL || has_bit(layout->has_code, offset);
}

static void
begin_line(lp_line *line, const lp_layout *layout, const lp_costs *costs,
           uint32_t offset)
{
    line->weight = weight_of(layout, costs, offset);
    line->min = LP_NO_MIN;
    if (layout->statements != NULL) {
        line->statement = layout->statements[offset];
    }
}

lp_code_counters *
lp_code_counters_new(lp_arena *arena, const lp_layout *layout,
                     const lp_costs *costs)
{
    size_t per_record = LP_RECORD_BYTES / sizeof(uint64_t);
    size_t records = HEADER_RECORDS + LINE_RECORDS * (size_t)layout->n_lines;
    lp_code_counters *counters;

    if (layout->awaits || layout->switches) {
        records += (layout->n_lines + per_record - 1) / per_record;
    }
    counters = lp_arena_alloc(arena, records);
    if (counters == NULL) {
        return NULL;
    }
    counters->code_id = layout->code_id;
    counters->n_lines = layout->n_lines;
    counters->awaits = (uint8_t)((layout->awaits ? LP_AWAITS : 0) |
                                 (layout->switches ? LP_SWITCHES : 0));
    counters->is_live = arena->is_live;
    for (uint32_t i = 0; i < layout->n_lines; i++) {
        lp_line *line = &counters->lines[i];

        if (!has_code(layout, i)) {
            continue;
        }
        begin_line(line, layout, costs, i);
        if (line->statement != 0) { /* gets the hits of all its lines */
            uint32_t first = line->statement - 1;

            begin_line(&counters->lines[first], layout, costs, first);
        }
    }
    if (layout->calls_only) {
        lp_line_has_no_events(&counters->lines[0]);
    }
    /* From now on a reader of the live file sees them. */
    __atomic_store_n(&counters->serial, layout->serial, __ATOMIC_RELEASE);
    return counters;
}

void
lp_code_counters_reset(lp_code_counters *counters)
{
    uint64_t *awaits = lp_code_counters_awaits(counters);

    counters->calls = counters->resumes = 0;
    counters->total = counters->total_cost = 0;
    counters->recursed = false;
    counters->dropped_slices = 0;
    for (uint32_t i = 0; i < counters->n_lines; i++) {
        lp_line *line = &counters->lines[i];

        if (line->min == 0 && line->hits == 0 && line->ticks == 0) {
            continue; /* perhaps a line without code */
        }
        line->hits = line->ticks = line->cost = line->max = 0;
        line->min = LP_NO_MIN;
        if (awaits != NULL) {
            awaits[i] = 0;
        }
    }
}
