#include "arithmetic/idle_sums.h"

#include <stdlib.h>

#include "record/growing_array.h"

/* A slice around the time that is charged next. */
struct lp_idle_open {
    uint64_t end;
    size_t sum;          /* index in the track's sums */
    uint64_t own_ns;     /* in no slice inside, so far, */
    uint64_t own_idle;   /* and the part of it in gaps */
    uint64_t inner_idle; /* in slices inside, in gaps */
    uint64_t wait;       /* off-CPU time of a line, */
    uint64_t inner_wait; /* and of the line slices inside; */
    uint64_t unsure;     /* the unsure parts of both */
    uint64_t inner_unsure;
    bool is_line;
};

void
lp_idle_track_begin(lp_idle_track *self)
{
    self->gap = 0;
    self->now = 0;
    self->open = NULL;
    self->depth = self->open_capacity = 0;
    self->sums = NULL;
    self->n_sums = self->sums_capacity = 0;
    self->index = (lp_hash_index){0};
}

void
lp_idle_track_free(lp_idle_track *self)
{
    free(self->open);
    free(self->sums);
    lp_hash_index_free(&self->index);
    lp_idle_track_begin(self);
}

static uint64_t
min_of(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static uint64_t
less(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

/* -- sums ----------------------------------------------------------------- */

/* Keys are the first fields: the function and the line. */
static const lp_record_size SUM = {sizeof(lp_idle_sum),
                                   offsetof(lp_idle_sum, open)};

/* Return the index of the sum of a line, added if needed; false if memory is
 * out. */
static bool
find_sum(lp_idle_track *self, uint32_t function, uint32_t line, size_t *found)
{
    lp_idle_sum sum = {.function = function, .line = line};
    lp_idle_sum *sums = lp_array_reserve(self->sums, self->n_sums,
                                         &self->sums_capacity, sizeof(*sums));
    uint32_t *at;

    if (sums == NULL) {
        return false;
    }
    self->sums = sums;
    if (!lp_hash_index_reserve(&self->index, sums, SUM, 0, self->n_sums)) {
        return false;
    }
    at = lp_hash_index_slot(&self->index, sums, SUM, &sum);
    if (*at == 0) {
        self->sums[self->n_sums++] = sum;
        *at = (uint32_t)self->n_sums;
    }
    *found = *at - 1;
    return true;
}

/* -- the sweep ------------------------------------------------------------ */

/* Charge the time up to `until` to the innermost open slice. */
static void
advance(lp_idle_track *self, uint64_t until)
{
    uint64_t idle = 0;

    if (until <= self->now) {
        return;
    }
    while (self->gap < self->n_gaps) {
        uint64_t start = self->starts[self->gap], end = self->ends[self->gap];

        if (start < self->now) {
            start = self->now;
        }
        if (start >= until) {
            break;
        }
        idle += less(min_of(end, until), start);
        if (end > until) {
            break;
        }
        self->gap++;
    }
    if (self->depth > 0) {
        lp_idle_open *top = &self->open[self->depth - 1];

        top->own_ns += until - self->now;
        top->own_idle += idle;
    }
    self->now = until;
}

/* Split a slice's own idle time by cause. */
static void
charge(lp_idle_sum *sum, const lp_idle_open *slice, bool short_lines)
{
    uint64_t idle = slice->own_idle;
    uint64_t waited =
        min_of(less(slice->wait, slice->inner_wait), slice->own_ns);
    uint64_t sure = less(waited, less(slice->unsure, slice->inner_unsure));
    /* It waited for that long in the gaps, at least and at most. */
    uint64_t low = less(sure, slice->own_ns - idle);
    uint64_t high = min_of(waited, idle);

    if (!slice->is_line && !short_lines) {
        low = 0;
        high = idle;
    }
    sum->waiting += low;
    sum->computing += idle - high;
    sum->unknown += high - low;
}

/* End the innermost open slice. */
static void
end_slice(lp_idle_track *self, bool short_lines)
{
    lp_idle_open *slice = &self->open[self->depth - 1];
    lp_idle_sum *sum = &self->sums[slice->sum];
    uint64_t inclusive;

    advance(self, slice->end);
    charge(sum, slice, short_lines);
    inclusive = slice->own_idle + slice->inner_idle;
    if (--sum->open == 0) {
        sum->inclusive += inclusive;
    }
    self->depth--;
    if (self->depth > 0) {
        lp_idle_open *around = &self->open[self->depth - 1];

        around->inner_idle += inclusive;
        around->inner_wait += slice->is_line ? slice->wait : slice->inner_wait;
        around->inner_unsure +=
            slice->is_line ? slice->unsure : slice->inner_unsure;
    }
}

bool
lp_idle_track_add(lp_idle_track *self, const lp_trace_slice *slice,
                  uint64_t wait, uint64_t unsure, bool short_lines)
{
    uint64_t end = slice->start + slice->ns;
    lp_idle_open *open;
    size_t sum;

    while (self->depth > 0 &&
           self->open[self->depth - 1].end <= slice->start) {
        end_slice(self, short_lines);
    }
    advance(self, slice->start);
    if (self->depth > 0) {
        end = min_of(end, self->open[self->depth - 1].end);
    }
    open = lp_array_reserve(self->open, self->depth, &self->open_capacity,
                            sizeof(*open));
    if (open == NULL) {
        return false;
    }
    self->open = open;
    if (!find_sum(self, slice->function, slice->line, &sum)) {
        return false;
    }
    self->sums[sum].open++;
    self->open[self->depth++] = (lp_idle_open){
        .end = end,
        .sum = sum,
        .wait = wait,
        .unsure = unsure,
        .is_line = slice->line != 0,
    };
    return true;
}

void
lp_idle_track_end(lp_idle_track *self, bool short_lines)
{
    while (self->depth > 0) {
        end_slice(self, short_lines);
    }
}
