/* Correlation ids: found again, counted while they are waited for, and kept
 * in bounded memory however long a program runs. */
#include "gpu/correlation.h"

#include <stdlib.h>

#include "check.h"
#include "random.h"

enum {
    IDS = 4096,       /* of a page */
    KEPT = 64,        /* pages behind the newest that are kept anyway */
    A_FEW = KEPT + 4, /* pages, where all goes well */
    DEVICE = LP_CORRELATION_MATCHED
};

static uint32_t
live_pages(const lp_correlation *correlations)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < LP_CORRELATION_PAGES; i++) {
        n += correlations->pages[i] != NULL;
    }
    return n;
}

/* A launch and its record at once. */
static void
pass(lp_correlation *correlations, uint64_t id)
{
    lp_correlation_entry entry;

    lp_correlation_insert(correlations, id, (uint32_t)id,
                          LP_CORRELATION_EXPECTED);
    entry = lp_correlation_matched(correlations, id, DEVICE);
    if (!(entry.flags & LP_CORRELATION_INSERTED) ||
        entry.path != (uint32_t)id) {
        CHECK(!"the id is found");
    }
}

static void
an_unknown_id_has_no_flags(void)
{
    lp_correlation correlations;

    CHECK(lp_correlation_init(&correlations));
    CHECK(lp_correlation_matched(&correlations, 7, DEVICE).flags == 0);
    lp_correlation_insert(&correlations, 8, 1, 0);
    CHECK(lp_correlation_matched(&correlations, 7, DEVICE).flags ==
          0); /* of the same page */
    CHECK(lp_correlation_matched(&correlations, 7, DEVICE).path == 0);
    lp_correlation_unexpect(&correlations, 7);
    lp_correlation_unexpect(&correlations, 123456789);
    CHECK(lp_correlation_returned(&correlations, 123456789, 5).flags == 0);
    lp_correlation_reclaim(&correlations);
    CHECK(lp_correlation_outstanding(&correlations) == 0 &&
          correlations.lost == 0);
    lp_correlation_free(&correlations);
}

static void
a_record_finds_its_launch(void)
{
    lp_correlation correlations;
    lp_correlation_entry entry;

    lp_correlation_init(&correlations);
    lp_correlation_insert(&correlations, 7, 31, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_outstanding(&correlations) == 1);
    entry = lp_correlation_matched(&correlations, 7, DEVICE);
    CHECK(entry.path == 31 && entry.wait_ticks == 0);
    CHECK(entry.flags == (LP_CORRELATION_INSERTED | LP_CORRELATION_EXPECTED));
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_free(&correlations);
}

static void
an_id_with_many_records_is_waited_for_once(void)
{
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    lp_correlation_insert(&correlations, 7, 31, LP_CORRELATION_EXPECTED);
    lp_correlation_insert(&correlations, 8, 32, LP_CORRELATION_EXPECTED);
    for (int i = 0; i < 1000; i++) {
        CHECK(lp_correlation_matched(&correlations, 7, DEVICE).path == 31);
    }
    CHECK(lp_correlation_outstanding(&correlations) == 1);
    CHECK(lp_correlation_matched(&correlations, 8, DEVICE).path == 32);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_free(&correlations);
}

static void
a_record_of_the_call_itself_is_not_the_devices(void)
{
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    lp_correlation_insert(&correlations, 7, 31, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_matched(&correlations, 7, 0).path == 31);
    CHECK(lp_correlation_outstanding(&correlations) == 1);
    CHECK(lp_correlation_matched(&correlations, 7, DEVICE).path == 31);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_free(&correlations);
}

static void
what_failed_is_not_waited_for(void)
{
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    lp_correlation_insert(&correlations, 7, 31, LP_CORRELATION_EXPECTED);
    lp_correlation_unexpect(&correlations, 7);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_unexpect(&correlations, 7);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    CHECK(lp_correlation_matched(&correlations, 7, DEVICE).path ==
          31); /* it came after all */
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    /* Nor is it after its record has come. */
    lp_correlation_insert(&correlations, 8, 31, LP_CORRELATION_EXPECTED);
    lp_correlation_matched(&correlations, 8, DEVICE);
    lp_correlation_unexpect(&correlations, 8);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_free(&correlations);
}

static void
a_drivers_call_within_the_runtimes_has_its_id(void)
{
    lp_correlation correlations;
    lp_correlation_entry entry;

    lp_correlation_init(&correlations);
    lp_correlation_insert(&correlations, 7, 31, LP_CORRELATION_RUNTIME);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_insert(&correlations, 7, 31, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_outstanding(&correlations) == 1);
    lp_correlation_insert(&correlations, 7, 32,
                          LP_CORRELATION_EXPECTED); /* and a second one */
    CHECK(lp_correlation_outstanding(&correlations) == 1);
    entry = lp_correlation_matched(&correlations, 7, DEVICE);
    CHECK(entry.path == 32 && (entry.flags & LP_CORRELATION_RUNTIME));
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_insert(&correlations, 7, 33,
                          LP_CORRELATION_EXPECTED); /* after a record */
    CHECK(lp_correlation_matched(&correlations, 7, DEVICE).path == 33);
    lp_correlation_unexpect(&correlations, 7);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    /* What failed may be tried again. */
    lp_correlation_insert(&correlations, 9, 31, LP_CORRELATION_EXPECTED);
    lp_correlation_unexpect(&correlations, 9);
    lp_correlation_insert(&correlations, 9, 31, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_outstanding(&correlations) == 1);
    lp_correlation_free(&correlations);
}

static void
flags_are_told(void)
{
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    lp_correlation_insert(&correlations, 7, 31,
                          LP_CORRELATION_EXPECTED | LP_CORRELATION_IGNORED);
    CHECK(lp_correlation_outstanding(&correlations) == 1);
    CHECK(lp_correlation_matched(&correlations, 7, DEVICE).flags &
          LP_CORRELATION_IGNORED);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_free(&correlations);
}

static void
held_ticks_are_charged_once_whoever_comes_first(void)
{
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    /* The call returns before its record comes, */
    lp_correlation_insert(&correlations, 7, 31, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_returned(&correlations, 7, 500).wait_ticks == 0);
    CHECK(lp_correlation_matched(&correlations, 7, DEVICE).wait_ticks ==
          0); /* one of two */
    CHECK(lp_correlation_matched(&correlations, 7,
                                 DEVICE | LP_CORRELATION_BLOCKED)
              .wait_ticks == 500);
    CHECK(lp_correlation_matched(&correlations, 7,
                                 DEVICE | LP_CORRELATION_BLOCKED)
              .wait_ticks == 0);
    /* or after it, */
    lp_correlation_insert(&correlations, 8, 32, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_matched(&correlations, 8,
                                 DEVICE | LP_CORRELATION_BLOCKED)
              .wait_ticks == 0);
    CHECK(lp_correlation_returned(&correlations, 8, 60).wait_ticks == 60);
    CHECK(lp_correlation_returned(&correlations, 8, 7).wait_ticks == 7);
    CHECK(lp_correlation_returned(&correlations, 8, 7).path == 32);
    /* or twice, */
    lp_correlation_insert(&correlations, 9, 33, LP_CORRELATION_EXPECTED);
    lp_correlation_returned(&correlations, 9, 1);
    lp_correlation_returned(&correlations, 9, 2);
    CHECK(lp_correlation_matched(&correlations, 9,
                                 DEVICE | LP_CORRELATION_BLOCKED)
              .wait_ticks == 3);
    /* and if it did not block, nobody waited. */
    lp_correlation_insert(&correlations, 10, 33, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_returned(&correlations, 10, 500).wait_ticks == 0);
    CHECK(lp_correlation_matched(&correlations, 10, DEVICE).wait_ticks == 0);
    CHECK(lp_correlation_returned(&correlations, 10, 500).wait_ticks == 0);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_free(&correlations);
}

static void
millions_of_ids_take_a_few_pages(void)
{
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    for (uint64_t id = 1; id <= 5000000; id++) {
        pass(&correlations, id);
        if (id % 5000 == 0) {
            lp_correlation_reclaim(&correlations);
        }
        if (id % 500000 == 0) {
            CHECK(live_pages(&correlations) <= A_FEW);
        }
    }
    CHECK(lp_correlation_outstanding(&correlations) == 0 &&
          correlations.n_overdue == 0);
    CHECK(lp_correlation_matched(&correlations, 1, DEVICE).flags ==
          0); /* long given up */
    CHECK(lp_correlation_matched(&correlations, 5000000, DEVICE).path ==
          5000000);
    lp_correlation_free(&correlations);
}

static void
calls_that_bring_no_record_take_no_more(void)
{
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    for (uint64_t id = 1; id <= 2000000; id++) {
        lp_correlation_insert(&correlations, id, 1,
                              id % 2 ? LP_CORRELATION_RUNTIME
                                     : LP_CORRELATION_EXPECTED);
        if (id % 2 == 0) {
            lp_correlation_unexpect(&correlations, id);
        }
        if (id % 5000 == 0) {
            lp_correlation_matched(&correlations, id, DEVICE);
            lp_correlation_reclaim(&correlations);
            CHECK(live_pages(&correlations) <= A_FEW);
        }
    }
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_free(&correlations);
}

static void
a_late_record_finds_its_launch(void)
{
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    lp_correlation_insert(&correlations, 5, 77, LP_CORRELATION_EXPECTED);
    lp_correlation_insert(&correlations, 6, 78, 0);
    for (uint64_t id = IDS; id < 500 * IDS; id++) {
        pass(&correlations, id);
        lp_correlation_reclaim(&correlations);
    }
    CHECK(lp_correlation_outstanding(&correlations) == 1);
    CHECK(live_pages(&correlations) <= A_FEW + 1);
    CHECK(lp_correlation_matched(&correlations, 6, 0).path == 78);
    CHECK(lp_correlation_matched(&correlations, 5, DEVICE).path == 77);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_free(&correlations);
}

/* One record of each page never comes. */
static void
pages_that_wait_for_ever_are_given_up_one_day(void)
{
    enum { PAGES = 3000 };
    lp_correlation correlations;
    uint64_t last = (uint64_t)PAGES * IDS;

    lp_correlation_init(&correlations);
    for (uint64_t id = 0; id < last; id += 64) {
        if (id % IDS == 0) {
            lp_correlation_insert(&correlations, id, 1,
                                  LP_CORRELATION_EXPECTED);
        }
        else {
            pass(&correlations, id);
        }
        if (id % 50000 < 64) {
            lp_correlation_reclaim(&correlations);
        }
    }
    lp_correlation_reclaim(&correlations);
    CHECK(live_pages(&correlations) <= LP_CORRELATION_OVERDUE + A_FEW);
    CHECK(lp_correlation_outstanding(&correlations) == PAGES);
    CHECK(correlations.expired >= PAGES - LP_CORRELATION_OVERDUE - A_FEW);
    /* Those of late still find theirs; what comes too late finds nothing. */
    CHECK(lp_correlation_matched(&correlations, 0, DEVICE).flags == 0);
    CHECK(
        lp_correlation_matched(&correlations, last - 500 * IDS, DEVICE).path ==
        1);
    lp_correlation_free(&correlations);
}

/* A slow device's records come a long while after a quick one's: its pages
 * wait, and go as soon as they are done. */
static void
late_pages_that_are_done_make_room(void)
{
    enum { PAGES = 5000, BEHIND = 900 };
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    for (uint64_t page = 0; page < PAGES; page++) {
        uint64_t id = page * IDS;

        lp_correlation_insert(&correlations, id, (uint32_t)page,
                              LP_CORRELATION_EXPECTED);
        pass(&correlations, id + 1);
        if (page >= BEHIND) {
            lp_correlation_entry entry = lp_correlation_matched(
                &correlations, id - (uint64_t)BEHIND * IDS, DEVICE);

            CHECK(entry.flags != 0 && entry.path == page - BEHIND);
        }
        lp_correlation_reclaim(&correlations);
    }
    CHECK(correlations.expired == 0 &&
          lp_correlation_outstanding(&correlations) == BEHIND);
    CHECK(live_pages(&correlations) <= LP_CORRELATION_OVERDUE + A_FEW);
    lp_correlation_free(&correlations);
}

static void
ids_go_round(void)
{
    lp_correlation correlations;
    uint64_t round = (uint64_t)1 << 32;

    lp_correlation_init(&correlations);
    lp_correlation_insert(&correlations, round - 2000000, 9,
                          LP_CORRELATION_EXPECTED); /* for ever */
    for (uint64_t id = round - 1999000; id < round + 2000000; id++) {
        /* As CUPTI counts, in 32 bits, or as others do. */
        uint64_t seen = id % 3 == 0 ? id : (uint32_t)id;

        lp_correlation_insert(&correlations, id % 2 == 0 ? id : (uint32_t)id,
                              (uint32_t)id, LP_CORRELATION_EXPECTED);
        if (lp_correlation_matched(&correlations, seen, DEVICE).path !=
            (uint32_t)id) {
            CHECK(!"the id is found");
        }
        if (id % 5000 == 0) {
            lp_correlation_reclaim(&correlations);
            CHECK(live_pages(&correlations) <= A_FEW + 1);
        }
    }
    CHECK(
        lp_correlation_matched(&correlations, round - 2000000, DEVICE).path ==
        9);
    CHECK(lp_correlation_outstanding(&correlations) == 0 &&
          correlations.lost == 0);
    lp_correlation_free(&correlations);
}

/* Programs make many calls that nobody hears of: ids jump, by any distance,
 * and come by the place of a page that waits for ever. */
static void
ids_jump(void)
{
    lp_correlation correlations;
    uint64_t chance = 1, id = 1;

    lp_correlation_init(&correlations);
    lp_correlation_insert(&correlations, 0, 1, LP_CORRELATION_EXPECTED);
    for (int i = 0; i < 3000; i++) {
        /* Up to 2 * 10**9 at once. */
        id += 1 + random_next(&chance) % 2000000000;
        for (int k = 0; k < 3; k++) {
            pass(&correlations, id + (uint64_t)k * IDS);
        }
        lp_correlation_reclaim(&correlations);
        CHECK(live_pages(&correlations) <= A_FEW + 1);
    }
    CHECK(correlations.lost == 0 &&
          lp_correlation_outstanding(&correlations) == 1);
    CHECK(correlations.expired == 1);
    lp_correlation_free(&correlations);
}

static void
a_place_that_is_taken_takes_no_other(void)
{
    lp_correlation correlations;
    uint64_t lap = (uint64_t)LP_CORRELATION_PAGES * IDS;

    lp_correlation_init(&correlations);
    lp_correlation_insert(&correlations, 5, 1, LP_CORRELATION_EXPECTED);
    lp_correlation_insert(&correlations, 5 + lap, 2, LP_CORRELATION_EXPECTED);
    CHECK(correlations.lost == 1 &&
          lp_correlation_outstanding(&correlations) == 1);
    CHECK(lp_correlation_matched(&correlations, 5 + lap, DEVICE).flags == 0);
    CHECK(lp_correlation_matched(&correlations, 5, DEVICE).path == 1);
    lp_correlation_free(&correlations);
}

/* A thread that was slow puts an id of a page that was given up. */
static void
a_page_comes_back_for_a_slow_thread(void)
{
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    for (uint64_t id = 0; id < 1000 * IDS; id += 100) {
        pass(&correlations, id);
        lp_correlation_reclaim(&correlations);
    }
    lp_correlation_insert(&correlations, 5, 44, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_matched(&correlations, 5, DEVICE).path == 44);
    /* It does not stay for ever. */
    for (uint64_t id = 1000 * IDS; id < (uint64_t)70000 * IDS; id += IDS) {
        pass(&correlations, id);
        lp_correlation_reclaim(&correlations);
    }
    CHECK(live_pages(&correlations) <= A_FEW);
    CHECK(lp_correlation_outstanding(&correlations) == 0 &&
          correlations.lost == 0);
    lp_correlation_free(&correlations);
}

int
main(void)
{
    an_unknown_id_has_no_flags();
    a_record_finds_its_launch();
    an_id_with_many_records_is_waited_for_once();
    a_record_of_the_call_itself_is_not_the_devices();
    what_failed_is_not_waited_for();
    a_drivers_call_within_the_runtimes_has_its_id();
    flags_are_told();
    held_ticks_are_charged_once_whoever_comes_first();
    millions_of_ids_take_a_few_pages();
    calls_that_bring_no_record_take_no_more();
    a_late_record_finds_its_launch();
    pages_that_wait_for_ever_are_given_up_one_day();
    late_pages_that_are_done_make_room();
    ids_go_round();
    ids_jump();
    a_place_that_is_taken_takes_no_other();
    a_page_comes_back_for_a_slow_thread();
    return check_failures;
}
