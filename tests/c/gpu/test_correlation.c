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
    DEVICE = LP_CORR_SEEN
};

static uint32_t
live_pages(const lp_corr *corr)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < LP_CORR_PAGES; i++) {
        n += corr->pages[i] != NULL;
    }
    return n;
}

/* A launch and its record at once. */
static void
pass(lp_corr *corr, uint64_t id)
{
    lp_corr_entry entry;

    lp_corr_put(corr, id, (uint32_t)id, LP_CORR_EXPECTED);
    entry = lp_corr_seen(corr, id, DEVICE);
    if (!(entry.flags & LP_CORR_PUT) || entry.path != (uint32_t)id) {
        CHECK(!"the id is found");
    }
}

static void
an_unknown_id_has_no_flags(void)
{
    lp_corr corr;

    CHECK(lp_corr_init(&corr));
    CHECK(lp_corr_seen(&corr, 7, DEVICE).flags == 0);
    lp_corr_put(&corr, 8, 1, 0);
    CHECK(lp_corr_seen(&corr, 7, DEVICE).flags == 0); /* of the same page */
    CHECK(lp_corr_seen(&corr, 7, DEVICE).path == 0);
    lp_corr_unexpect(&corr, 7);
    lp_corr_unexpect(&corr, 123456789);
    CHECK(lp_corr_hold(&corr, 123456789, 5).flags == 0);
    lp_corr_tidy(&corr);
    CHECK(lp_corr_outstanding(&corr) == 0 && corr.lost == 0);
    lp_corr_free(&corr);
}

static void
a_record_finds_its_launch(void)
{
    lp_corr corr;
    lp_corr_entry entry;

    lp_corr_init(&corr);
    lp_corr_put(&corr, 7, 31, LP_CORR_EXPECTED);
    CHECK(lp_corr_outstanding(&corr) == 1);
    entry = lp_corr_seen(&corr, 7, DEVICE);
    CHECK(entry.path == 31 && entry.held == 0);
    CHECK(entry.flags == (LP_CORR_PUT | LP_CORR_EXPECTED));
    CHECK(lp_corr_outstanding(&corr) == 0);
    lp_corr_free(&corr);
}

static void
an_id_with_many_records_is_waited_for_once(void)
{
    lp_corr corr;

    lp_corr_init(&corr);
    lp_corr_put(&corr, 7, 31, LP_CORR_EXPECTED);
    lp_corr_put(&corr, 8, 32, LP_CORR_EXPECTED);
    for (int i = 0; i < 1000; i++) {
        CHECK(lp_corr_seen(&corr, 7, DEVICE).path == 31);
    }
    CHECK(lp_corr_outstanding(&corr) == 1);
    CHECK(lp_corr_seen(&corr, 8, DEVICE).path == 32);
    CHECK(lp_corr_outstanding(&corr) == 0);
    lp_corr_free(&corr);
}

static void
a_record_of_the_call_itself_is_not_the_devices(void)
{
    lp_corr corr;

    lp_corr_init(&corr);
    lp_corr_put(&corr, 7, 31, LP_CORR_EXPECTED);
    CHECK(lp_corr_seen(&corr, 7, 0).path == 31);
    CHECK(lp_corr_outstanding(&corr) == 1);
    CHECK(lp_corr_seen(&corr, 7, DEVICE).path == 31);
    CHECK(lp_corr_outstanding(&corr) == 0);
    lp_corr_free(&corr);
}

static void
what_failed_is_not_waited_for(void)
{
    lp_corr corr;

    lp_corr_init(&corr);
    lp_corr_put(&corr, 7, 31, LP_CORR_EXPECTED);
    lp_corr_unexpect(&corr, 7);
    CHECK(lp_corr_outstanding(&corr) == 0);
    lp_corr_unexpect(&corr, 7);
    CHECK(lp_corr_outstanding(&corr) == 0);
    CHECK(lp_corr_seen(&corr, 7, DEVICE).path == 31); /* it came after all */
    CHECK(lp_corr_outstanding(&corr) == 0);
    /* Nor is it after its record has come. */
    lp_corr_put(&corr, 8, 31, LP_CORR_EXPECTED);
    lp_corr_seen(&corr, 8, DEVICE);
    lp_corr_unexpect(&corr, 8);
    CHECK(lp_corr_outstanding(&corr) == 0);
    lp_corr_free(&corr);
}

static void
a_drivers_call_within_the_runtimes_has_its_id(void)
{
    lp_corr corr;
    lp_corr_entry entry;

    lp_corr_init(&corr);
    lp_corr_put(&corr, 7, 31, LP_CORR_RUNTIME);
    CHECK(lp_corr_outstanding(&corr) == 0);
    lp_corr_put(&corr, 7, 31, LP_CORR_EXPECTED);
    CHECK(lp_corr_outstanding(&corr) == 1);
    lp_corr_put(&corr, 7, 32, LP_CORR_EXPECTED); /* and a second one */
    CHECK(lp_corr_outstanding(&corr) == 1);
    entry = lp_corr_seen(&corr, 7, DEVICE);
    CHECK(entry.path == 32 && (entry.flags & LP_CORR_RUNTIME));
    CHECK(lp_corr_outstanding(&corr) == 0);
    lp_corr_put(&corr, 7, 33, LP_CORR_EXPECTED); /* after a record */
    CHECK(lp_corr_seen(&corr, 7, DEVICE).path == 33);
    lp_corr_unexpect(&corr, 7);
    CHECK(lp_corr_outstanding(&corr) == 0);
    /* What failed may be tried again. */
    lp_corr_put(&corr, 9, 31, LP_CORR_EXPECTED);
    lp_corr_unexpect(&corr, 9);
    lp_corr_put(&corr, 9, 31, LP_CORR_EXPECTED);
    CHECK(lp_corr_outstanding(&corr) == 1);
    lp_corr_free(&corr);
}

static void
flags_are_told(void)
{
    lp_corr corr;

    lp_corr_init(&corr);
    lp_corr_put(&corr, 7, 31, LP_CORR_EXPECTED | LP_CORR_IGNORED);
    CHECK(lp_corr_outstanding(&corr) == 1);
    CHECK(lp_corr_seen(&corr, 7, DEVICE).flags & LP_CORR_IGNORED);
    CHECK(lp_corr_outstanding(&corr) == 0);
    lp_corr_free(&corr);
}

static void
held_ticks_are_charged_once_whoever_comes_first(void)
{
    lp_corr corr;

    lp_corr_init(&corr);
    /* The call returns before its record comes, */
    lp_corr_put(&corr, 7, 31, LP_CORR_EXPECTED);
    CHECK(lp_corr_hold(&corr, 7, 500).held == 0);
    CHECK(lp_corr_seen(&corr, 7, DEVICE).held == 0); /* one of two */
    CHECK(lp_corr_seen(&corr, 7, DEVICE | LP_CORR_BLOCKED).held == 500);
    CHECK(lp_corr_seen(&corr, 7, DEVICE | LP_CORR_BLOCKED).held == 0);
    /* or after it, */
    lp_corr_put(&corr, 8, 32, LP_CORR_EXPECTED);
    CHECK(lp_corr_seen(&corr, 8, DEVICE | LP_CORR_BLOCKED).held == 0);
    CHECK(lp_corr_hold(&corr, 8, 60).held == 60);
    CHECK(lp_corr_hold(&corr, 8, 7).held == 7);
    CHECK(lp_corr_hold(&corr, 8, 7).path == 32);
    /* or twice, */
    lp_corr_put(&corr, 9, 33, LP_CORR_EXPECTED);
    lp_corr_hold(&corr, 9, 1);
    lp_corr_hold(&corr, 9, 2);
    CHECK(lp_corr_seen(&corr, 9, DEVICE | LP_CORR_BLOCKED).held == 3);
    /* and if it did not block, nobody waited. */
    lp_corr_put(&corr, 10, 33, LP_CORR_EXPECTED);
    CHECK(lp_corr_hold(&corr, 10, 500).held == 0);
    CHECK(lp_corr_seen(&corr, 10, DEVICE).held == 0);
    CHECK(lp_corr_hold(&corr, 10, 500).held == 0);
    CHECK(lp_corr_outstanding(&corr) == 0);
    lp_corr_free(&corr);
}

static void
millions_of_ids_take_a_few_pages(void)
{
    lp_corr corr;

    lp_corr_init(&corr);
    for (uint64_t id = 1; id <= 5000000; id++) {
        pass(&corr, id);
        if (id % 5000 == 0) {
            lp_corr_tidy(&corr);
        }
        if (id % 500000 == 0) {
            CHECK(live_pages(&corr) <= A_FEW);
        }
    }
    CHECK(lp_corr_outstanding(&corr) == 0 && corr.n_late == 0);
    CHECK(lp_corr_seen(&corr, 1, DEVICE).flags == 0); /* long given up */
    CHECK(lp_corr_seen(&corr, 5000000, DEVICE).path == 5000000);
    lp_corr_free(&corr);
}

static void
calls_that_bring_no_record_take_no_more(void)
{
    lp_corr corr;

    lp_corr_init(&corr);
    for (uint64_t id = 1; id <= 2000000; id++) {
        lp_corr_put(&corr, id, 1, id % 2 ? LP_CORR_RUNTIME : LP_CORR_EXPECTED);
        if (id % 2 == 0) {
            lp_corr_unexpect(&corr, id);
        }
        if (id % 5000 == 0) {
            lp_corr_seen(&corr, id, DEVICE);
            lp_corr_tidy(&corr);
            CHECK(live_pages(&corr) <= A_FEW);
        }
    }
    CHECK(lp_corr_outstanding(&corr) == 0);
    lp_corr_free(&corr);
}

static void
a_late_record_finds_its_launch(void)
{
    lp_corr corr;

    lp_corr_init(&corr);
    lp_corr_put(&corr, 5, 77, LP_CORR_EXPECTED);
    lp_corr_put(&corr, 6, 78, 0);
    for (uint64_t id = IDS; id < 500 * IDS; id++) {
        pass(&corr, id);
        lp_corr_tidy(&corr);
    }
    CHECK(lp_corr_outstanding(&corr) == 1);
    CHECK(live_pages(&corr) <= A_FEW + 1);
    CHECK(lp_corr_seen(&corr, 6, 0).path == 78);
    CHECK(lp_corr_seen(&corr, 5, DEVICE).path == 77);
    CHECK(lp_corr_outstanding(&corr) == 0);
    lp_corr_free(&corr);
}

/* One record of each page never comes. */
static void
pages_that_wait_for_ever_are_given_up_one_day(void)
{
    enum { PAGES = 3000 };
    lp_corr corr;
    uint64_t last = (uint64_t)PAGES * IDS;

    lp_corr_init(&corr);
    for (uint64_t id = 0; id < last; id += 64) {
        if (id % IDS == 0) {
            lp_corr_put(&corr, id, 1, LP_CORR_EXPECTED);
        }
        else {
            pass(&corr, id);
        }
        if (id % 50000 < 64) {
            lp_corr_tidy(&corr);
        }
    }
    lp_corr_tidy(&corr);
    CHECK(live_pages(&corr) <= LP_CORR_LATE + A_FEW);
    CHECK(lp_corr_outstanding(&corr) == PAGES);
    CHECK(corr.expired >= PAGES - LP_CORR_LATE - A_FEW);
    /* Those of late still find theirs; what comes too late finds nothing. */
    CHECK(lp_corr_seen(&corr, 0, DEVICE).flags == 0);
    CHECK(lp_corr_seen(&corr, last - 500 * IDS, DEVICE).path == 1);
    lp_corr_free(&corr);
}

/* A slow device's records come a long while after a quick one's: its pages
 * wait, and go as soon as they are done. */
static void
late_pages_that_are_done_make_room(void)
{
    enum { PAGES = 5000, BEHIND = 900 };
    lp_corr corr;

    lp_corr_init(&corr);
    for (uint64_t page = 0; page < PAGES; page++) {
        uint64_t id = page * IDS;

        lp_corr_put(&corr, id, (uint32_t)page, LP_CORR_EXPECTED);
        pass(&corr, id + 1);
        if (page >= BEHIND) {
            lp_corr_entry entry =
                lp_corr_seen(&corr, id - (uint64_t)BEHIND * IDS, DEVICE);

            CHECK(entry.flags != 0 && entry.path == page - BEHIND);
        }
        lp_corr_tidy(&corr);
    }
    CHECK(corr.expired == 0 && lp_corr_outstanding(&corr) == BEHIND);
    CHECK(live_pages(&corr) <= LP_CORR_LATE + A_FEW);
    lp_corr_free(&corr);
}

static void
ids_go_round(void)
{
    lp_corr corr;
    uint64_t round = (uint64_t)1 << 32;

    lp_corr_init(&corr);
    lp_corr_put(&corr, round - 2000000, 9, LP_CORR_EXPECTED); /* for ever */
    for (uint64_t id = round - 1999000; id < round + 2000000; id++) {
        /* As CUPTI counts, in 32 bits, or as others do. */
        uint64_t seen = id % 3 == 0 ? id : (uint32_t)id;

        lp_corr_put(&corr, id % 2 == 0 ? id : (uint32_t)id, (uint32_t)id,
                    LP_CORR_EXPECTED);
        if (lp_corr_seen(&corr, seen, DEVICE).path != (uint32_t)id) {
            CHECK(!"the id is found");
        }
        if (id % 5000 == 0) {
            lp_corr_tidy(&corr);
            CHECK(live_pages(&corr) <= A_FEW + 1);
        }
    }
    CHECK(lp_corr_seen(&corr, round - 2000000, DEVICE).path == 9);
    CHECK(lp_corr_outstanding(&corr) == 0 && corr.lost == 0);
    lp_corr_free(&corr);
}

/* Programs make many calls that nobody hears of: ids jump, by any distance,
 * and come by the place of a page that waits for ever. */
static void
ids_jump(void)
{
    lp_corr corr;
    uint64_t chance = 1, id = 1;

    lp_corr_init(&corr);
    lp_corr_put(&corr, 0, 1, LP_CORR_EXPECTED);
    for (int i = 0; i < 3000; i++) {
        /* Up to 2 * 10**9 at once. */
        id += 1 + random_next(&chance) % 2000000000;
        for (int k = 0; k < 3; k++) {
            pass(&corr, id + (uint64_t)k * IDS);
        }
        lp_corr_tidy(&corr);
        CHECK(live_pages(&corr) <= A_FEW + 1);
    }
    CHECK(corr.lost == 0 && lp_corr_outstanding(&corr) == 1);
    CHECK(corr.expired == 1);
    lp_corr_free(&corr);
}

static void
a_place_that_is_taken_takes_no_other(void)
{
    lp_corr corr;
    uint64_t lap = (uint64_t)LP_CORR_PAGES * IDS;

    lp_corr_init(&corr);
    lp_corr_put(&corr, 5, 1, LP_CORR_EXPECTED);
    lp_corr_put(&corr, 5 + lap, 2, LP_CORR_EXPECTED);
    CHECK(corr.lost == 1 && lp_corr_outstanding(&corr) == 1);
    CHECK(lp_corr_seen(&corr, 5 + lap, DEVICE).flags == 0);
    CHECK(lp_corr_seen(&corr, 5, DEVICE).path == 1);
    lp_corr_free(&corr);
}

/* A thread that was slow puts an id of a page that was given up. */
static void
a_page_comes_back_for_a_slow_thread(void)
{
    lp_corr corr;

    lp_corr_init(&corr);
    for (uint64_t id = 0; id < 1000 * IDS; id += 100) {
        pass(&corr, id);
        lp_corr_tidy(&corr);
    }
    lp_corr_put(&corr, 5, 44, LP_CORR_EXPECTED);
    CHECK(lp_corr_seen(&corr, 5, DEVICE).path == 44);
    /* It does not stay for ever. */
    for (uint64_t id = 1000 * IDS; id < (uint64_t)70000 * IDS; id += IDS) {
        pass(&corr, id);
        lp_corr_tidy(&corr);
    }
    CHECK(live_pages(&corr) <= A_FEW);
    CHECK(lp_corr_outstanding(&corr) == 0 && corr.lost == 0);
    lp_corr_free(&corr);
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
