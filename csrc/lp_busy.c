#include "lp_busy.h"

#include <stdlib.h>
#include <string.h>

void
lp_busy_free(lp_busy *busy)
{
    free(busy->spans);
    *busy = (lp_busy){0};
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
lp_busy_total(const lp_busy *busy)
{
    return busy->added + length(busy->spans, busy->n);
}

/* Add up the older half. */
static void
give_up(lp_busy *busy)
{
    size_t half = busy->n / 2;

    busy->added += length(busy->spans, half);
    busy->horizon = busy->spans[half - 1].end;
    busy->n -= half;
    memmove(busy->spans, busy->spans + half, busy->n * sizeof(lp_span));
}

static bool
has_room(lp_busy *busy)
{
    if (busy->spans == NULL) {
        busy->spans = malloc(LP_BUSY_SPANS * sizeof(lp_span));
    }
    if (busy->spans == NULL) {
        busy->inexact = true;
        return false;
    }
    if (busy->n == LP_BUSY_SPANS) {
        give_up(busy);
    }
    return true;
}

/* The first span that begins after `end`: nearly always there is none. */
static size_t
first_after(const lp_busy *busy, lp_ns end)
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
lp_busy_add(lp_busy *busy, lp_ns start, lp_ns end)
{
    size_t after, first;

    if (start >= end || !has_room(busy)) {
        return;
    }
    /* Only now: to make room may have moved it. */
    if (start < busy->horizon) {
        busy->inexact = true;
        start = busy->horizon;
        if (start >= end) {
            return;
        }
    }
    /* Spans from `first` up to `after` touch it. */
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
