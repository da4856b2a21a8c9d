/* Suspended frames: charged when they are resumed, bounded in number, dropped
 * on request. */
#include "record/suspended_frames.h"

#include "check.h"

static char frames[100000]; /* only their addresses are used */
static char code;

static lp_suspended_frame
make_frame(int frame, uint64_t *awaits, lp_ticks since)
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

    CHECK(lp_suspended_add(&suspended, make_frame(1, &awaits, 100)));
    lp_suspended_resume(&suspended, &frames[1], &code, 130);
    lp_suspended_resume(&suspended, &frames[1], &code, 200);
    CHECK(awaits == 30);
    lp_suspended_free(&suspended);
}

static void
a_resume_without_a_suspension_charges_nothing(void)
{
    lp_suspended suspended = {0};
    uint64_t awaits = 0;

    lp_suspended_resume(&suspended, &frames[1], &code, 130);
    CHECK(lp_suspended_add(&suspended, make_frame(1, &awaits, 100)));
    lp_suspended_resume(&suspended, &frames[2], &code, 130);
    lp_suspended_resume(&suspended, &frames[1], &frames[5], 130);
    CHECK(awaits == 0);
    lp_suspended_free(&suspended);
}

static void
many_frames_are_suspended_at_once(void)
{
    enum { MANY = 100000 };
    static uint64_t awaits[MANY];
    lp_suspended suspended = {0};
    int wrong = 0;

    for (int i = 0; i < MANY; i++) {
        CHECK(lp_suspended_add(&suspended,
                               make_frame(i, &awaits[i], (lp_ticks)i)));
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
resumed_frames_do_not_grow_the_table(void)
{
    lp_suspended suspended = {0};
    uint64_t awaits = 0;

    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 10000; i++) {
            CHECK(
                lp_suspended_add(&suspended, make_frame(i * 10, &awaits, 1)));
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
        CHECK(lp_suspended_add(&suspended, make_frame(i, &awaits[i], 10)));
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
the_hit_lines_of_a_statement_are_restored(void)
{
    lp_suspended suspended = {0};
    lp_suspended_frame frame = make_frame(1, NULL, 0);
    const lp_suspended_frame *resumed;

    frame.hit_mask = 5;
    frame.last_hit = 70;
    CHECK(lp_suspended_add(&suspended, frame));
    resumed = lp_suspended_resume(&suspended, &frames[1], &code, 9);
    CHECK(resumed != NULL && resumed->hit_mask == 5 &&
          resumed->last_hit == 70);
    CHECK(lp_suspended_resume(&suspended, &frames[1], &code, 9) == NULL);
    lp_suspended_free(&suspended);
}

int
main(void)
{
    a_wait_is_charged_once();
    a_resume_without_a_suspension_charges_nothing();
    many_frames_are_suspended_at_once();
    resumed_frames_do_not_grow_the_table();
    forgotten_counters_are_not_written();
    the_hit_lines_of_a_statement_are_restored();
    return check_failures;
}
