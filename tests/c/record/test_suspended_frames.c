/* Frames that wait: charged when they go on, bounded, forgotten on demand. */
#include "record/suspended_frames.h"

#include "check.h"

static char frames[100000]; /* only their addresses are of use */
static char code;

static lp_suspended_frame
suspended_frames(int frame, uint64_t *awaits, lp_ticks since)
{
    lp_suspended_frame suspended = {.key = &frames[frame],
                                    .code = &code,
                                    .awaits = awaits,
                                    .since = since};

    return suspended;
}

static void
a_wait_is_charged_once(void)
{
    lp_suspended suspended = {0};
    uint64_t awaits = 0;

    CHECK(lp_suspended_add(&suspended, suspended_frames(1, &awaits, 100)));
    lp_suspended_resume(&suspended, &frames[1], &code, 130);
    lp_suspended_resume(&suspended, &frames[1], &code, 200);
    CHECK(awaits == 30);
    lp_suspended_free(&suspended);
}

static void
nobody_waited_is_no_wait(void)
{
    lp_suspended suspended = {0};
    uint64_t awaits = 0;

    lp_suspended_resume(&suspended, &frames[1], &code, 130);
    CHECK(lp_suspended_add(&suspended, suspended_frames(1, &awaits, 100)));
    lp_suspended_resume(&suspended, &frames[2], &code, 130);
    lp_suspended_resume(&suspended, &frames[1], &frames[5], 130);
    CHECK(awaits == 0);
    lp_suspended_free(&suspended);
}

static void
many_wait_at_once(void)
{
    enum { MANY = 100000 };
    static uint64_t awaits[MANY];
    lp_suspended suspended = {0};
    int wrong = 0;

    for (int i = 0; i < MANY; i++) {
        CHECK(lp_suspended_add(&suspended,
                               suspended_frames(i, &awaits[i], (lp_ticks)i)));
    }
    for (int i = MANY - 1; i >= 0; i--) {
        lp_suspended_resume(&suspended, &frames[i], &code,
                            (lp_ticks)(2 * i + 1));
    }
    for (int i = 0; i < MANY; i++) {
        wrong += awaits[i] != (uint64_t)(i + 1);
    }
    CHECK(wrong == 0);
    lp_suspended_free(&suspended);
}

static void
those_that_went_on_leave_no_weight(void)
{
    lp_suspended suspended = {0};
    uint64_t awaits = 0;

    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 10000; i++) {
            CHECK(lp_suspended_add(&suspended,
                                   suspended_frames(i * 10, &awaits, 1)));
            lp_suspended_resume(&suspended, &frames[i * 10], &code, 2);
        }
    }
    CHECK(awaits == 500000);
    CHECK(suspended.capacity <= 65536);
    lp_suspended_free(&suspended);
}

static void
forgotten_counters_are_not_written(void)
{
    uint64_t awaits[4] = {0, 0, 0, 0};
    lp_suspended suspended = {0};

    for (int i = 0; i < 4; i++) {
        CHECK(
            lp_suspended_add(&suspended, suspended_frames(i, &awaits[i], 10)));
    }
    lp_suspended_forget(&suspended, &awaits[1], &awaits[3]);
    for (int i = 0; i < 4; i++) {
        lp_suspended_resume(&suspended, &frames[i], &code, 11);
    }
    CHECK(awaits[0] == 1 && awaits[1] == 0);
    CHECK(awaits[2] == 0 && awaits[3] == 1);
    lp_suspended_free(&suspended);
}

static void
what_was_seen_of_a_statement_comes_back(void)
{
    lp_suspended suspended = {0};
    lp_suspended_frame frame = suspended_frames(1, NULL, 0);
    const lp_suspended_frame *kept;

    frame.hit_mask = 5;
    frame.last_hit = 70;
    CHECK(lp_suspended_add(&suspended, frame));
    kept = lp_suspended_resume(&suspended, &frames[1], &code, 9);
    CHECK(kept != NULL && kept->hit_mask == 5 && kept->last_hit == 70);
    CHECK(lp_suspended_resume(&suspended, &frames[1], &code, 9) == NULL);
    lp_suspended_free(&suspended);
}

int
main(void)
{
    a_wait_is_charged_once();
    nobody_waited_is_no_wait();
    many_wait_at_once();
    those_that_went_on_leave_no_weight();
    forgotten_counters_are_not_written();
    what_was_seen_of_a_statement_comes_back();
    return check_failures;
}
