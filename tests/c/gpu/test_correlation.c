/* Correlation ids: found again, counted while their records are expected, and
 * kept in bounded memory however long a program runs. */
#include "gpu/correlation.h"

#include <stdlib.h>

#include "check.h"
#include "random.h"

enum {
    IDS = 4096,       /* per page */
    KEPT = 64,        /* pages behind the newest that are always kept */
    A_FEW = KEPT + 4, /* max pages if all records come */
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

/* A launch, immediately followed by its record. */
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
an_id_with_many_records_is_expected_once(void)
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
a_record_of_the_call_itself_is_not_the_expected_one(void)
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
a_failed_call_expects_no_record(void)
{
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    lp_correlation_insert(&correlations, 7, 31, LP_CORRELATION_EXPECTED);
    lp_correlation_unexpect(&correlations, 7);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_unexpect(&correlations, 7);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    CHECK(lp_correlation_matched(&correlations, 7, DEVICE).path ==
          31); /* the record came nevertheless */
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    /* The same after its record has come. */
    lp_correlation_insert(&correlations, 8, 31, LP_CORRELATION_EXPECTED);
    lp_correlation_matched(&correlations, 8, DEVICE);
    lp_correlation_unexpect(&correlations, 8);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_free(&correlations);
}

static void
a_driver_call_inside_a_runtime_call_has_its_id(void)
{
    lp_correlation correlations;
    lp_correlation_entry entry;

    lp_correlation_init(&correlations);
    lp_correlation_insert(&correlations, 7, 31, LP_CORRELATION_RUNTIME);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_insert(&correlations, 7, 31, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_outstanding(&correlations) == 1);
    /* and a second one */
    lp_correlation_insert(&correlations, 7, 32, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_outstanding(&correlations) == 1);
    entry = lp_correlation_matched(&correlations, 7, DEVICE);
    CHECK(entry.path == 32 && (entry.flags & LP_CORRELATION_RUNTIME));
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    /* after a record */
    lp_correlation_insert(&correlations, 7, 33, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_matched(&correlations, 7, DEVICE).path == 33);
    lp_correlation_unexpect(&correlations, 7);
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    /* A failed call may be repeated. */
    lp_correlation_insert(&correlations, 9, 31, LP_CORRELATION_EXPECTED);
    lp_correlation_unexpect(&correlations, 9);
    lp_correlation_insert(&correlations, 9, 31, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_outstanding(&correlations) == 1);
    lp_correlation_free(&correlations);
}

static void
flags_are_returned(void)
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
wait_ticks_are_charged_once_in_either_order(void)
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
    /* and without a wait if it did not block. */
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
          0); /* retired long ago */
    CHECK(lp_correlation_matched(&correlations, 5000000, DEVICE).path ==
          5000000);
    lp_correlation_free(&correlations);
}

static void
calls_without_a_record_take_no_more_pages(void)
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
an_overdue_record_finds_its_launch(void)
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
pages_whose_record_never_comes_are_retired(void)
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
    /* Recent records still find their launch; older ones do not. */
    CHECK(lp_correlation_matched(&correlations, 0, DEVICE).flags == 0);
    CHECK(
        lp_correlation_matched(&correlations, last - 500 * IDS, DEVICE).path ==
        1);
    lp_correlation_free(&correlations);
}

/* Records of a slow device come long after those of a quick one: the pages of
 * the slow one are overdue, and retired when they are complete. */
static void
overdue_pages_that_are_complete_make_room(void)
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
ids_wrap_around(void)
{
    lp_correlation correlations;
    uint64_t round = (uint64_t)1 << 32;

    lp_correlation_init(&correlations);
    /* never has a record */
    lp_correlation_insert(&correlations, round - 2000000, 9,
                          LP_CORRELATION_EXPECTED);
    for (uint64_t id = round - 1999000; id < round + 2000000; id++) {
        /* In 32 bits, as CUPTI counts, or in more. */
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

/* Programs make many calls without callbacks: ids jump, by any distance, and
 * reach the slot of a page whose record never comes. */
static void
ids_jump(void)
{
    lp_correlation correlations;
    uint64_t chance = 1, id = 1;

    lp_correlation_init(&correlations);
    lp_correlation_insert(&correlations, 0, 1, LP_CORRELATION_EXPECTED);
    for (int i = 0; i < 3000; i++) {
        /* Up to 2 * 10**9 in one step. */
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
an_occupied_slot_takes_no_other_page(void)
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

/* A slow thread inserts an id of a page that was retired. */
static void
a_slow_thread_adds_its_page_again(void)
{
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    for (uint64_t id = 0; id < 1000 * IDS; id += 100) {
        pass(&correlations, id);
        lp_correlation_reclaim(&correlations);
    }
    lp_correlation_insert(&correlations, 5, 44, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_matched(&correlations, 5, DEVICE).path == 44);
    /* The page is retired again. */
    for (uint64_t id = 1000 * IDS; id < (uint64_t)70000 * IDS; id += IDS) {
        pass(&correlations, id);
        lp_correlation_reclaim(&correlations);
    }
    CHECK(live_pages(&correlations) <= A_FEW);
    CHECK(lp_correlation_outstanding(&correlations) == 0 &&
          correlations.lost == 0);
    lp_correlation_free(&correlations);
}

/* Launches whose records never come, as when another tool takes them, until
 * some come again. */
static void
inserting_stops_while_no_record_comes(void)
{
    enum { MANY = 1500000, BUFFERED = 100000 };
    lp_correlation correlations;
    lp_correlation_tail tail;
    uint64_t id;

    lp_correlation_init(&correlations);
    pass(&correlations, 1);
    for (id = 2; id < MANY; id++) {
        lp_correlation_insert(&correlations, id, 1, LP_CORRELATION_EXPECTED);
    }
    CHECK(live_pages(&correlations) < 300);
    CHECK(lp_correlation_outstanding(&correlations) == MANY - 2);
    tail = lp_correlation_since_newest(&correlations);
    CHECK(tail.expected == MANY - 2 && correlations.stopped);
    /* A call that has no record after all: it failed, or was captured. */
    lp_correlation_insert(&correlations, id, 1, LP_CORRELATION_EXPECTED);
    CHECK(lp_correlation_since_newest(&correlations).mark != tail.mark);
    lp_correlation_unexpect(&correlations, id);
    CHECK(lp_correlation_outstanding(&correlations) == MANY - 2);
    /* All records come, in their order. */
    for (id = 2; id < MANY; id++) {
        uint32_t flags =
            lp_correlation_matched(&correlations, id, DEVICE).flags;

        if ((flags != 0) != (id < 1000000)) {
            CHECK(id >= 1000000 && id < 1200000); /* around the stop */
        }
    }
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    CHECK(lp_correlation_since_newest(&correlations).expected == 0);
    for (; id < MANY + BUFFERED; id++) {
        pass(&correlations, id);
    }
    CHECK(lp_correlation_outstanding(&correlations) == 0);
    lp_correlation_free(&correlations);
}

/* The buffers of many threads are filled at the same time. */
static void
records_that_buffers_hold_back_do_not_stop_inserting(void)
{
    enum { MANY = 1500000 };
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    correlations.held_back = MANY;
    for (uint64_t id = 0; id < MANY; id++) {
        lp_correlation_insert(&correlations, id, 1, LP_CORRELATION_EXPECTED);
    }
    CHECK(!correlations.stopped);
    CHECK(lp_correlation_matched(&correlations, MANY - 1, DEVICE).flags != 0);
    /* Older ids are not after the newest record. */
    CHECK(lp_correlation_since_newest(&correlations).expected == 0);
    CHECK(lp_correlation_outstanding(&correlations) == MANY - 1);
    lp_correlation_free(&correlations);
}

static void
few_launches_among_many_calls_do_not_stop_inserting(void)
{
    lp_correlation correlations;

    lp_correlation_init(&correlations);
    for (uint64_t page = 0; page < 2000; page++) {
        lp_correlation_insert(&correlations, page * IDS, 1,
                              LP_CORRELATION_EXPECTED);
    }
    CHECK(!correlations.stopped);
    lp_correlation_free(&correlations);
}

int
main(void)
{
    inserting_stops_while_no_record_comes();
    records_that_buffers_hold_back_do_not_stop_inserting();
    few_launches_among_many_calls_do_not_stop_inserting();
    an_unknown_id_has_no_flags();
    a_record_finds_its_launch();
    an_id_with_many_records_is_expected_once();
    a_record_of_the_call_itself_is_not_the_expected_one();
    a_failed_call_expects_no_record();
    a_driver_call_inside_a_runtime_call_has_its_id();
    flags_are_returned();
    wait_ticks_are_charged_once_in_either_order();
    millions_of_ids_take_a_few_pages();
    calls_without_a_record_take_no_more_pages();
    an_overdue_record_finds_its_launch();
    pages_whose_record_never_comes_are_retired();
    overdue_pages_that_are_complete_make_room();
    ids_wrap_around();
    ids_jump();
    an_occupied_slot_takes_no_other_page();
    a_slow_thread_adds_its_page_again();
    return check_failures;
}
