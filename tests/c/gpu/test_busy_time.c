/* Busy time, compared with a union by brute force. */
#include "gpu/activity_sums.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "random.h"

static void
overlaps_count_once(void)
{
    lp_busy_time busy = {0};

    CHECK(lp_busy_time_total(&busy) == 0);
    lp_busy_time_add(&busy, 100, 200);
    lp_busy_time_add(&busy, 150, 250); /* overlaps its end */
    CHECK(lp_busy_time_total(&busy) == 150 && busy.n == 1);
    lp_busy_time_add(&busy, 50, 120); /* its start */
    CHECK(lp_busy_time_total(&busy) == 200 && busy.n == 1);
    lp_busy_time_add(&busy, 60, 70); /* lies inside */
    CHECK(lp_busy_time_total(&busy) == 200 && busy.n == 1);
    lp_busy_time_add(&busy, 250, 260); /* touches */
    CHECK(lp_busy_time_total(&busy) == 210 && busy.n == 1);
    lp_busy_time_add(&busy, 300, 310); /* is separate */
    CHECK(lp_busy_time_total(&busy) == 220 && busy.n == 2);
    lp_busy_time_add(&busy, 0, 1000); /* covers all */
    CHECK(lp_busy_time_total(&busy) == 1000 && busy.n == 1);
    CHECK(!busy.inexact);
    lp_busy_time_free(&busy);
}

static void
gaps_are_filled_out_of_order(void)
{
    lp_busy_time busy = {0};

    lp_busy_time_add(&busy, 90, 100);
    lp_busy_time_add(&busy, 10, 20);
    lp_busy_time_add(&busy, 50, 60);
    lp_busy_time_add(&busy, 30, 40);
    lp_busy_time_add(&busy, 70, 80);
    CHECK(busy.n == 5 && lp_busy_time_total(&busy) == 50);
    lp_busy_time_add(&busy, 35, 75); /* joins three */
    CHECK(busy.n == 3 && lp_busy_time_total(&busy) == 70);
    lp_busy_time_add(&busy, 20, 30); /* touches on both sides */
    CHECK(busy.n == 2 && lp_busy_time_total(&busy) == 80);
    CHECK(!busy.inexact);
    lp_busy_time_free(&busy);
}

static void
an_empty_span_adds_nothing(void)
{
    lp_busy_time busy = {0};

    lp_busy_time_add(&busy, 5, 5);
    lp_busy_time_add(&busy, 7, 3);
    lp_busy_time_add(&busy, 0, 0);
    CHECK(lp_busy_time_total(&busy) == 0 && busy.n == 0 && !busy.inexact);
    busy.horizon = 100;
    lp_busy_time_add(&busy, 5, 5);
    CHECK(!busy.inexact);
    lp_busy_time_free(&busy);
}

static void
any_order_gives_the_union(void)
{
    enum { TIME = 4000 };
    uint64_t chance = 3;

    for (int round = 0; round < 300; round++) {
        unsigned char covered[TIME] = {0};
        lp_busy_time busy = {0};
        lp_ns sum = 0;
        uint32_t longest = 1 + random_below(&chance, 60);

        for (int i = 0; i < 250; i++) {
            lp_ns start = random_below(&chance, TIME - 100);
            lp_ns end = start + random_below(&chance, longest);

            lp_busy_time_add(&busy, start, end);
            memset(covered + start, 1, end - start);
        }
        for (int i = 0; i < TIME; i++) {
            sum += covered[i];
        }
        CHECK(lp_busy_time_total(&busy) == sum && !busy.inexact);
        for (size_t i = 1; i < busy.n; i++) {
            CHECK(busy.spans[i - 1].end < busy.spans[i].start);
        }
        lp_busy_time_free(&busy);
    }
}

/* So many separate spans that the oldest are merged. */
static void
old_spans_are_added_up(void)
{
    enum { SPANS = 5 * LP_BUSY_SPANS };
    lp_busy_time busy = {0};

    for (lp_ns i = 0; i < SPANS; i++) {
        lp_busy_time_add(&busy, 10 * i, 10 * i + 3);
        if (i > 100) {
            lp_busy_time_add(&busy, 10 * (i - 100) + 5, 10 * (i - 100) + 6);
        }
    }
    CHECK(busy.n <= LP_BUSY_SPANS && busy.horizon > 0);
    CHECK(!busy.inexact);
    CHECK(lp_busy_time_total(&busy) == (lp_ns)SPANS * 3 + SPANS - 101);
    lp_busy_time_free(&busy);
}

static void
time_before_the_horizon_is_dropped(void)
{
    lp_busy_time busy = {0};
    lp_ns before, horizon;

    for (lp_ns i = 0; i <= LP_BUSY_SPANS; i++) {
        lp_busy_time_add(&busy, 100 + 10 * i, 103 + 10 * i);
    }
    before = lp_busy_time_total(&busy);
    horizon = busy.horizon;
    CHECK(before == 3 * (LP_BUSY_SPANS + 1) && !busy.inexact);
    lp_busy_time_add(&busy, 50, 60);
    CHECK(busy.inexact && lp_busy_time_total(&busy) == before);
    lp_busy_time_add(&busy, horizon - 50, horizon + 2); /* half of it counts */
    CHECK(lp_busy_time_total(&busy) == before + 2 && busy.horizon == horizon);
    lp_busy_time_free(&busy);
}

/* The horizon is the end of the last span that was merged. */
static void
time_from_the_horizon_on_stays_exact(void)
{
    lp_busy_time busy = {0};
    lp_ns merged_end = 100 + 10 * (LP_BUSY_SPANS / 2 - 1) + 3;

    for (lp_ns i = 0; i <= LP_BUSY_SPANS; i++) {
        lp_busy_time_add(&busy, 100 + 10 * i, 103 + 10 * i);
    }
    lp_busy_time_add(&busy, merged_end, merged_end + 2);
    CHECK(lp_busy_time_total(&busy) == 3 * (LP_BUSY_SPANS + 1) + 2);
    CHECK(!busy.inexact && busy.horizon == merged_end);
    lp_busy_time_free(&busy);
}

/* The record that makes the spans too many may itself be an old one. */
static void
making_room_counts_nothing_twice(void)
{
    lp_busy_time busy = {0};
    lp_ns truth = 3 * LP_BUSY_SPANS;

    for (lp_ns i = 0; i < LP_BUSY_SPANS; i++) {
        lp_busy_time_add(&busy, 100 + 10 * i, 103 + 10 * i);
    }
    CHECK(busy.n == LP_BUSY_SPANS && lp_busy_time_total(&busy) == truth);
    lp_busy_time_add(&busy, 100, 1003); /* 630 of them were idle */
    CHECK(lp_busy_time_total(&busy) >= truth);
    CHECK(lp_busy_time_total(&busy) <= truth + 630);
    CHECK(busy.inexact || lp_busy_time_total(&busy) == truth + 630);
    lp_busy_time_free(&busy);
}

static void
busy_time_is_never_too_long(void)
{
    enum { TIME = 6000000 };
    unsigned char *covered = calloc(TIME, 1);
    uint64_t chance = 11;
    lp_busy_time busy = {0};
    lp_ns sum = 0;

    for (uint32_t i = 0; i < 1000000; i++) {
        /* Two streams, one of which is far behind at times. */
        uint32_t behind =
            i % 2 * random_below(&chance, i % 100000 < 95000 ? 10 : 900000);
        lp_ns start = i * 5 > behind ? i * 5 - behind : 0;
        lp_ns end = start + random_below(&chance, 4);

        lp_busy_time_add(&busy, start, end);
        memset(covered + start, 1, end - start);
    }
    for (int i = 0; i < TIME; i++) {
        sum += covered[i];
    }
    CHECK(lp_busy_time_total(&busy) <= sum);
    CHECK(busy.inexact || lp_busy_time_total(&busy) == sum);
    CHECK(busy.inexact);
    free(covered);
    lp_busy_time_free(&busy);
    CHECK(busy.spans == NULL);
}

int
main(void)
{
    overlaps_count_once();
    gaps_are_filled_out_of_order();
    an_empty_span_adds_nothing();
    any_order_gives_the_union();
    old_spans_are_added_up();
    time_before_the_horizon_is_dropped();
    time_from_the_horizon_on_stays_exact();
    making_room_counts_nothing_twice();
    busy_time_is_never_too_long();
    return check_failures;
}
