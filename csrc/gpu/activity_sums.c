#include "gpu/activity_sums.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "record/growing_array.h"

void
lp_busy_time_free(lp_busy_time *busy)
{
    free(busy->spans);
    *busy = (lp_busy_time){0};
}

static lp_ns
length(const lp_span *spans, size_t n)
{
    lp_ns sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += spans[i].end - spans[i].start;
    }
    return sum;
}

lp_ns
lp_busy_time_total(const lp_busy_time *busy)
{
    return busy->merged + length(busy->spans, busy->n);
}

/* Merge the older half of the spans into their sum. */
static void
merge_oldest(lp_busy_time *busy)
{
    size_t half = busy->n / 2;

    busy->merged += length(busy->spans, half);
    busy->horizon = busy->spans[half - 1].end;
    busy->n -= half;
    memmove(busy->spans, busy->spans + half, busy->n * sizeof(lp_span));
}

static bool
reserve(lp_busy_time *busy)
{
    if (busy->spans == NULL) {
        busy->spans = malloc(LP_BUSY_SPANS * sizeof(lp_span));
    }
    if (busy->spans == NULL) {
        busy->inexact = true;
        return false;
    }
    if (busy->n == LP_BUSY_SPANS) {
        merge_oldest(busy);
    }
    return true;
}

/* Return the first span that begins after `end`; nearly always none does. */
static size_t
first_after(const lp_busy_time *busy, lp_ns end)
{
    const lp_span *spans = busy->spans;
    size_t low = busy->n, high = busy->n;

    for (size_t step = 1; low > 0 && spans[low - 1].start > end; step *= 2) {
        high = low - 1;
        low = low > step ? low - step : 0;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (spans[middle].start > end) {
            high = middle;
        }
        else {
            low = middle + 1;
        }
    }
    return high;
}

void
lp_busy_time_add(lp_busy_time *busy, lp_ns start, lp_ns end)
{
    size_t after, first;

    if (start >= end || !reserve(busy)) {
        return;
    }
    /* After reserve(), which may have moved the horizon. */
    if (start < busy->horizon) {
        busy->inexact = true;
        start = busy->horizon;
        if (start >= end) {
            return;
        }
    }
    /* Spans from `first` up to `after` touch the new one. */
    after = first_after(busy, end);
    first = after;
    while (first > 0 && busy->spans[first - 1].end >= start) {
        first--;
    }
    if (first == after) {
        memmove(busy->spans + first + 1, busy->spans + first,
                (busy->n - first) * sizeof(lp_span));
        busy->spans[first] = (lp_span){start, end};
        busy->n++;
        return;
    }
    if (busy->spans[first].start < start) {
        start = busy->spans[first].start;
    }
    if (busy->spans[after - 1].end > end) {
        end = busy->spans[after - 1].end;
    }
    busy->spans[first] = (lp_span){start, end};
    memmove(busy->spans + first + 1, busy->spans + after,
            (busy->n - after) * sizeof(lp_span));
    busy->n -= after - first - 1;
}

void
lp_sums_init(lp_sums *sums)
{
    *sums = (lp_sums){0};
}

void
lp_sums_free(lp_sums *sums)
{
    free(sums->sums);
    lp_hash_index_free(&sums->index);
    *sums = (lp_sums){0};
}

static const lp_record_size SUM = {sizeof(lp_sum), sizeof(lp_sum_key)};

/* Return the sum of a key that has none yet; NULL if memory is out. */
static lp_sum *
new_sum(lp_sums *sums, const lp_sum_key *key)
{
    lp_sum *grown =
        lp_array_reserve(sums->sums, sums->n, &sums->capacity, sizeof(*grown));
    lp_sum *sum;

    if (grown == NULL) {
        return NULL;
    }
    sums->sums = grown;
    if (!lp_hash_index_reserve(&sums->index, grown, SUM, 0, sums->n)) {
        return NULL;
    }
    sum = &grown[sums->n++];
    *sum = (lp_sum){.key = *key, .min = UINT64_MAX};
    *lp_hash_index_slot(&sums->index, grown, SUM, key) = (uint32_t)sums->n;
    return sum;
}

void
lp_sums_add(lp_sums *sums, const lp_sum_key *key, lp_ns ns, uint64_t bytes)
{
    uint32_t position = 0;
    lp_sum *sum;

    if (LP_LIKELY(sums->n > 0)) {
        position = *lp_hash_index_slot(&sums->index, sums->sums, SUM, key);
    }
    if (LP_LIKELY(position != 0)) {
        sum = &sums->sums[position - 1];
    }
    else {
        sum = new_sum(sums, key);
        if (sum == NULL) {
            sums->lost++;
            return;
        }
    }
    sum->count++;
    sum->ns += ns;
    sum->bytes += bytes;
    if (ns < sum->min) {
        sum->min = ns;
    }
    if (ns > sum->max) {
        sum->max = ns;
    }
}
