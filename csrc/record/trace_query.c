#include "record/trace_query.h"

#include <stdlib.h>
#include <string.h>

#include "record/growing_array.h"

uint32_t
lp_trace_query_number(const lp_trace_query *self, uint32_t serial)
{
    uint32_t number = 0;

    if (serial < self->n_serials) {
        memcpy(&number, self->wanted + serial * sizeof(number),
               sizeof(number));
    }
    return number;
}

static bool
reserve(lp_trace_query *self)
{
    lp_found *found = lp_array_reserve(self->found, self->n, &self->capacity,
                                       sizeof(*found));

    if (found == NULL) {
        self->failed = true;
        return false;
    }
    self->found = found;
    return true;
}

/* Add a slice if it is wanted. */
static void
add_slice(lp_trace_query *self, const lp_slice *slice)
{
    uint32_t number = lp_trace_query_number(self, slice->serial);

    if (number == 0 || slice->start < self->low ||
        slice->start >= self->high || slice->start > self->until ||
        !reserve(self)) {
        return;
    }
    self->found[self->n] = (lp_found){
        .start = slice->start,
        .end = slice->end < self->until ? slice->end : self->until,
        .thread = self->thread,
        .order = (uint32_t)self->n,
        .function = number - 1,
        .line = slice->place == 0
                    ? 0
                    : self->first_lines[slice->serial] + slice->place - 1,
        .wait = slice->wait,
        .unsure = slice->unsure,
    };
    self->n++;
}

static void
add_open_slice(void *to, lp_code_counters *counters, const lp_slice *slice)
{
    (void)counters;
    add_slice(to, slice);
}

/* Find all slices that started in the window, ended or open. */
static void
find_slices(lp_trace_query *self)
{
    for (lp_recorder *rec = self->recorders; rec != NULL; rec = rec->next) {
        lp_trace_reader reader;
        lp_slice slice;

        self->thread = rec->number;
        lp_trace_reader_open(&reader, &rec->slices, self->low, self->high);
        while (!self->failed && lp_trace_reader_next(&reader, &slice)) {
            add_slice(self, &slice);
        }
        if (rec->traced) {
            lp_recorder_open_slices(rec, NULL, NULL, self->until,
                                    add_open_slice, self);
        }
    }
}

/* Earlier start first, then longer ones; of two equal slices, the one that was
 * recorded later encloses the other. */
static int
compare(const void *one, const void *other)
{
    const lp_found *a = one, *b = other;

    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    if (a->end != b->end) {
        return a->end > b->end ? -1 : 1;
    }
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    return a->order > b->order ? -1 : 1;
}

bool
lp_trace_query_sample(const lp_trace_query *self, lp_ticks **starts, size_t *n)
{
    size_t n_wanted = 0, capacity = 0;

    for (lp_recorder *rec = self->recorders; rec != NULL; rec = rec->next) {
        lp_trace_reader reader;
        lp_slice slice;

        lp_trace_reader_open(&reader, &rec->slices, 0, UINT64_MAX);
        while (lp_trace_reader_next(&reader, &slice)) {
            if (lp_trace_query_number(self, slice.serial) == 0 ||
                n_wanted++ % LP_TRACE_SAMPLE != 0) {
                continue;
            }
            lp_ticks *grown =
                lp_array_reserve(*starts, *n, &capacity, sizeof(*grown));

            if (grown == NULL) {
                return false;
            }
            *starts = grown;
            (*starts)[(*n)++] = slice.start;
        }
    }
    return true;
}

bool
lp_trace_query_window(lp_trace_query *self)
{
    self->n = 0;
    find_slices(self);
    if (!self->failed && self->n > 0) {
        qsort(self->found, self->n, sizeof(lp_found), compare);
    }
    return !self->failed;
}

void
lp_trace_query_free(lp_trace_query *self)
{
    free(self->found);
    free(self->first_lines);
}
