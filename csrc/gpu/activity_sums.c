#include "gpu/activity_sums.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

enum { MIN_SLOTS = 256 };

void
lp_sums_init(lp_sums *sums)
{
    *sums = (lp_sums){0};
}

void
lp_sums_free(lp_sums *sums)
{
    free(sums->sums);
    *sums = (lp_sums){0};
}

static uint32_t
hash_of(const lp_sum_key *key)
{
    uint64_t a = (uint64_t)key->path << 32 | key->name;
    uint64_t b =
        (uint64_t)key->origin << 32 | (uint32_t)key->kind << 16 | key->device;
    uint64_t hash = a * 0x9E3779B97F4A7C15u;

    hash = (hash ^ (hash >> 32) ^ b) * 0xBF58476D1CE4E5B9u;
    return (uint32_t)(hash ^ (hash >> 32));
}

static lp_sum *
find(lp_sum *sums, uint32_t mask, const lp_sum_key *key)
{
    uint32_t at = hash_of(key) & mask;

    while (sums[at].key.kind != 0 &&
           memcmp(&sums[at].key, key, sizeof(*key)) != 0) {
        at = (at + 1) & mask;
    }
    return &sums[at];
}

static bool
grow(lp_sums *sums)
{
    uint32_t slots = sums->sums == NULL ? MIN_SLOTS : (sums->mask + 1) * 2;
    lp_sum *grown = calloc(slots, sizeof(lp_sum));

    if (grown == NULL) {
        return false;
    }
    for (uint32_t i = 0; sums->sums != NULL && i <= sums->mask; i++) {
        if (sums->sums[i].key.kind != 0) {
            *find(grown, slots - 1, &sums->sums[i].key) = sums->sums[i];
        }
    }
    free(sums->sums);
    sums->sums = grown;
    sums->mask = slots - 1;
    return true;
}

void
lp_sums_add(lp_sums *sums, const lp_sum_key *key, lp_ns ns, uint64_t bytes)
{
    lp_sum *sum;

    if (LP_UNLIKELY(sums->sums == NULL || sums->n > sums->mask / 2) &&
        !grow(sums) && (sums->sums == NULL || sums->n >= sums->mask)) {
        sums->lost++;
        return;
    }
    sum = find(sums->sums, sums->mask, key);
    if (LP_UNLIKELY(sum->key.kind == 0)) {
        sum->key = *key;
        sum->min = ns;
        sums->n++;
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
