#include "arithmetic/slice_selection.h"

#include <stdlib.h>

#include "record/growing_array.h"

/* The slices around the next one of a thread, outermost first. */
typedef struct lp_open_slice {
    uint64_t end;
    bool shown;
} lp_open_slice;

struct lp_open_slices {
    lp_open_slice *open; /* owned */
    size_t depth, capacity;
    uint64_t summed_until; /* end of the thread's last sum */
};

bool
lp_slice_selection_begin(lp_slice_selection *self, const lp_slice_rule *rule,
                         uint32_t n_threads)
{
    *self = (lp_slice_selection){.rule = *rule, .n_threads = n_threads};
    self->threads = calloc((size_t)n_threads + 1, sizeof(lp_open_slices));
    return self->threads != NULL;
}

/* -- sums of folded slices ------------------------------------------------ */

/* Keys are the first fields: the thread and the function. */
static const lp_record_size SUM = {sizeof(lp_trace_slice),
                                   offsetof(lp_trace_slice, line)};

/* Make room for another sum; false if memory is out. */
static bool
reserve_sum(lp_slot_sums *self)
{
    lp_trace_slice *sums =
        lp_array_reserve(self->sums, self->n, &self->capacity, sizeof(*sums));

    if (sums == NULL) {
        return false;
    }
    self->sums = sums;
    return lp_hash_index_reserve(&self->index, sums, SUM, 0, self->n);
}

/* Append the sums of the slot to those of the slots before, one after the
 * other on each thread.  As the slices do not overlap, the sums end with the
 * last of them at the latest. */
static bool
end_slot(lp_slice_selection *self)
{
    lp_slot_sums *slot = &self->slot_sums;

    for (size_t i = 0; i < slot->n; i++) {
        lp_trace_slice sum = slot->sums[i];
        lp_open_slices *thread = &self->threads[sum.thread];
        lp_trace_slice *sums = lp_array_reserve(
            self->sums, self->n_sums, &self->sums_capacity, sizeof(sum));

        if (sums == NULL) {
            return false;
        }
        self->sums = sums;
        if (sum.start < thread->summed_until) {
            sum.start = thread->summed_until;
        }
        thread->summed_until = sum.start + sum.ns;
        self->sums[self->n_sums++] = sum;
    }
    if (slot->n > 0) {
        slot->n = 0;
        lp_hash_index_clear(&slot->index);
    }
    return true;
}

/* Add a folded slice, around which there is none. */
static bool
add_to_sum(lp_slice_selection *self, const lp_trace_slice *slice)
{
    lp_slot_sums *sums = &self->slot_sums;
    uint64_t slot = (slice->start - self->rule.low) / self->rule.slot_ns;
    uint32_t *at;

    if (slice->ns == 0) {
        return true;
    }
    if (slot != self->slot && !end_slot(self)) {
        return false;
    }
    self->slot = slot;
    if (!reserve_sum(sums)) {
        return false;
    }
    at = lp_hash_index_slot(&sums->index, sums->sums, SUM, slice);
    if (*at != 0) {
        sums->sums[*at - 1].ns += slice->ns;
        return true;
    }
    sums->sums[sums->n++] = *slice;
    *at = (uint32_t)sums->n;
    return true;
}

/* -- slices --------------------------------------------------------------- */

/* Whether a slice of this length is shown, if the one around it is. */
static bool
is_long(lp_slice_rule *rule, uint64_t ns)
{
    if (ns != rule->min_ns) {
        return ns > rule->min_ns;
    }
    rule->credit += rule->shown_ties;
    if (rule->credit < rule->ties) {
        return false;
    }
    rule->credit -= rule->ties;
    return true;
}

lp_selected
lp_slice_selection_add(lp_slice_selection *self, lp_trace_slice *slice)
{
    lp_slice_rule *rule = &self->rule;
    uint64_t start = slice->start;
    uint64_t end =
        slice->ns > UINT64_MAX - start ? UINT64_MAX : start + slice->ns;
    lp_open_slices *thread;
    lp_open_slice *open;
    bool is_outermost, is_in_shown;

    if (slice->thread >= self->n_threads) {
        return LP_SLICE_NO_THREAD;
    }
    if (start < self->last_start) {
        return LP_SLICE_UNORDERED;
    }
    self->last_start = start;
    if (start >= rule->high || (end <= rule->low && start < rule->low)) {
        return LP_SLICE_OUTSIDE;
    }
    start = start < rule->low ? rule->low : start;
    end = end > rule->high ? rule->high : end;
    thread = &self->threads[slice->thread];
    while (thread->depth > 0 && thread->open[thread->depth - 1].end <= start) {
        thread->depth--;
    }
    is_outermost = thread->depth == 0;
    is_in_shown = true;
    if (!is_outermost) {
        const lp_open_slice *around = &thread->open[thread->depth - 1];

        is_in_shown = around->shown;
        end = end > around->end ? around->end : end;
    }
    open = lp_array_reserve(thread->open, thread->depth, &thread->capacity,
                            sizeof(*open));
    if (open == NULL) {
        return LP_SLICE_NO_MEMORY;
    }
    thread->open = open;
    open += thread->depth++;
    slice->start = start;
    slice->ns = end - start;
    *open = (lp_open_slice){.end = end,
                            .shown = is_in_shown && is_long(rule, slice->ns)};
    if (open->shown) {
        return LP_SLICE_SHOWN;
    }
    return is_outermost && !add_to_sum(self, slice) ? LP_SLICE_NO_MEMORY
                                                    : LP_SLICE_FOLDED;
}

bool
lp_slice_selection_end(lp_slice_selection *self)
{
    return end_slot(self);
}

void
lp_slice_selection_free(lp_slice_selection *self)
{
    for (uint32_t i = 0; self->threads != NULL && i < self->n_threads; i++) {
        free(self->threads[i].open);
    }
    free(self->threads);
    free(self->slot_sums.sums);
    lp_hash_index_free(&self->slot_sums.index);
    free(self->sums);
}

enum { EXACT_BITS = 11 };

uint32_t
lp_length_class(uint64_t ns)
{
    uint32_t shift = 0;

    while ((ns >> shift) >> (EXACT_BITS + 1) != 0) {
        shift++;
    }
    return (shift << EXACT_BITS) + (uint32_t)(ns >> shift);
}
