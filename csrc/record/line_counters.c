#include "record/line_counters.h"

#include <stdlib.h>

enum {
    LINE_RECORDS = sizeof(lp_line) / LP_RECORD_BYTES,
    HEADER_RECORDS = sizeof(lp_counts) / LP_RECORD_BYTES
};

_Static_assert(sizeof(lp_line) % LP_RECORD_BYTES == 0, "whole records");
_Static_assert(sizeof(lp_counts) % LP_RECORD_BYTES == 0, "whole records");

/* The interpreter keeps the numbers up to 256 ready made and builds an
 * object for each larger one that it hands to a callback. */
enum { LAST_READY_NUMBER = 256 };

void
lp_layout_clear(lp_layout *layout)
{
    free(layout->statements);
    free(layout->instructions);
    layout->statements = NULL;
    layout->instructions = NULL;
}

static uint32_t
weight_of(const lp_layout *layout, const lp_costs *costs, uint32_t offset)
{
    /* (An event of an instruction takes what one of a low line does.) */
    uint32_t weight =
        layout->first_line + offset > LAST_READY_NUMBER && !layout->far
            ? costs->high_line
            : costs->line;

    if (layout->instructions != NULL) {
        weight += costs->instruction * layout->instructions[offset];
    }
    return weight;
}

lp_counts *
lp_counts_new(lp_blocks *blocks, const lp_layout *layout,
              const lp_costs *costs)
{
    size_t per_record = LP_RECORD_BYTES / sizeof(uint64_t);
    size_t records = HEADER_RECORDS + LINE_RECORDS * (size_t)layout->n_lines;
    lp_counts *counts;

    if (layout->awaits) {
        records += (layout->n_lines + per_record - 1) / per_record;
    }
    counts = lp_blocks_take(blocks, records);
    if (counts == NULL) {
        return NULL;
    }
    counts->code_id = layout->code_id;
    counts->serial = layout->serial;
    counts->n_lines = layout->n_lines;
    counts->awaits = layout->awaits;
    for (uint32_t i = 0; i < layout->n_lines; i++) {
        counts->lines[i].weight = weight_of(layout, costs, i);
        counts->lines[i].least = LP_NEVER;
        if (layout->statements != NULL) {
            counts->lines[i].statement = layout->statements[i];
        }
    }
    return counts;
}

void
lp_counts_reset(lp_counts *counts)
{
    uint64_t *awaits = lp_counts_awaits(counts);

    counts->calls = counts->resumes = 0;
    counts->total = counts->total_cost = 0;
    counts->recursed = 0;
    counts->left_out = 0;
    for (uint32_t i = 0; i < counts->n_lines; i++) {
        lp_line *line = &counts->lines[i];

        line->hits = line->ticks = line->cost = line->most = 0;
        line->least = LP_NEVER;
        if (awaits != NULL) {
            awaits[i] = 0;
        }
    }
}
