/* Waits of a thread, charged to the lines that were open, with clocks given as
 * numbers: microseconds, and the thread's processor time. */
#include <stdlib.h>

#include "check.h"
#include "record/off_cpu_sampler.h"
#include "record/recorder.h"

enum { US = 1000 };

static char code_a, code_b, owner_a, owner_b;
static lp_ns processor; /* time that the thread has used */

typedef struct fixture {
    lp_arena arena;
    lp_recorder *rec;
    lp_code_counters *a; /* 10 lines from line 1 */
    lp_code_counters *b; /* 10 lines from line 101 */
} fixture;

static lp_ticks
never(void)
{
    return 0;
}

static lp_ns
used(void)
{
    return processor;
}

static const lp_ticks *next_reading; /* of the clock, in microseconds */

static lp_ticks
one_after_the_other(void)
{
    return *next_reading++ * US;
}

static fixture
set_up_with(const lp_clock *clock)
{
    lp_layout a = {.code_id = 0, .first_line = 1, .n_lines = 10};
    lp_layout b = {.code_id = 1, .first_line = 101, .n_lines = 10};
    lp_costs costs = {0};
    fixture made;

    lp_arena_init(&made.arena, LP_BLOCK_COUNTERS, false);
    made.rec = lp_recorder_new(clock, &costs);
    made.a = lp_recorder_counters(made.rec, &made.arena, &a);
    made.b = lp_recorder_counters(made.rec, &made.arena, &b);
    return made;
}

static fixture
set_up(void)
{
    lp_clock clock;
    fixture made;

    lp_clock_set_source(&clock, never);
    made = set_up_with(&clock);
    CHECK(made.rec->wait.min == LP_WAIT_NEVER);
    made.rec->wait.threshold = made.rec->wait.min = LP_WAIT_NS;
    made.rec->wait.clock = used;
    processor = 1;
    return made;
}

static void
tear_down(fixture *made)
{
    lp_off_cpu_forget(made->a);
    lp_off_cpu_forget(made->b);
    lp_recorder_free(made->rec);
    lp_arena_free(&made->arena);
}

static void
enter(fixture *made, bool b)
{
    lp_frame *frame = b ? lp_recorder_enter(made->rec, &code_b, made->b, 101)
                        : lp_recorder_enter(made->rec, &code_a, made->a, 1);

    frame->owner = b ? &owner_b : &owner_a;
}

/* A line begins at `us`; until then the thread had used so much processor
 * time. */
static void
line(fixture *made, uint32_t offset, lp_ticks us, lp_ns used_us)
{
    processor = 1 + used_us * US;
    lp_recorder_line(made->rec, made->rec->top, offset, us * US,
                     LP_LINE_FORWARD);
}

static void
leave(fixture *made, lp_ticks us, lp_ns used_us)
{
    processor = 1 + used_us * US;
    lp_recorder_leave(made->rec, made->rec->top, false, us * US);
}

/* Total of the waits of a line, in microseconds. */
static uint64_t
waited(const lp_code_counters *counters, uint32_t offset)
{
    const lp_off_cpu_lines *waits = counters->waits;
    uint64_t sum = 0;

    for (uint32_t i = 0; waits != NULL && i < waits->n; i++) {
        for (int cause = 0; cause < LP_WAIT_CAUSES; cause++) {
            sum += waits->lines[i].offset == offset
                       ? waits->lines[i].waited.ns[cause]
                       : 0;
        }
    }
    return sum / US;
}

/* The part of it that may have been before the line, in microseconds. */
static uint64_t
unsure(const lp_code_counters *counters, uint32_t offset)
{
    const lp_off_cpu_lines *waits = counters->waits;
    uint64_t sum = 0;

    for (uint32_t i = 0; waits != NULL && i < waits->n; i++) {
        sum += waits->lines[i].offset == offset ? waits->lines[i].waited.unsure
                                                : 0;
    }
    return sum / US;
}

/* The thread may be preempted between an event and the reading of the clocks.
 */
static void
a_late_reading_does_not_lower_the_threshold(void)
{
    lp_clock clock;
    fixture made;
    lp_ticks event;
    lp_ns begun;
    double per_ns;

    lp_clock_open(&clock, "auto");
    made = set_up_with(&clock);
    made.rec->wait.clock = lp_clock_monotonic; /* it never waits */
    enter(&made, false);
    lp_recorder_line(made.rec, made.rec->top, 1, lp_clock_now(&clock),
                     LP_LINE_FORWARD);
    begun = lp_clock_monotonic();
    while (lp_clock_monotonic() - begun < 300 * US) {
    }
    event = lp_clock_now(&clock);
    while (lp_clock_monotonic() - begun < 20000 * US) {
    }
    lp_recorder_line(made.rec, made.rec->top, 2, event, LP_LINE_FORWARD);
    per_ns = 4294967296.0 / (double)lp_clock_scale(&clock);
    CHECK(made.rec->wait.exact);
    CHECK((double)made.rec->wait.threshold > 0.99 * LP_WAIT_NS * per_ns);
    CHECK((double)made.rec->wait.threshold < 1.01 * LP_WAIT_NS * per_ns);
    tear_down(&made);
}

static void
a_wait_is_wall_time_less_processor_time(void)
{
    fixture made = set_up();

    enter(&made, false);
    line(&made, 3, 1000, 1000);
    line(&made, 1, 1100, 1010);
    line(&made, 2, 1300, 1210);
    line(&made, 9, 1400, 1250);
    leave(&made, 1401, 1251);
    CHECK(waited(made.a, 3) == 90);
    CHECK(waited(made.a, 1) == 0);
    CHECK(waited(made.a, 2) == 60);
    CHECK(waited(made.a, 9) == 0);
    CHECK(made.a->waits->n == 2 && made.a->waits->lines[0].offset == 2);
    CHECK(unsure(made.a, 3) == 0 && unsure(made.a, 2) == 0);
    tear_down(&made);
}

/* The thread is preempted where it measures a wait. */
static void
the_time_of_a_long_reading_is_its_line_s(void)
{
    static const lp_ticks before[] = {1001, 1004},
                          first[] = {1101, 5101, 5102};
    static const lp_ticks second[] = {6002, 6005},
                          third[] = {8002, 9002, 9004};
    fixture made = set_up();

    lp_clock_set_source(&made.rec->clock, one_after_the_other);
    enter(&made, false);
    next_reading = before; /* a reading of 3 us, before any line */
    line(&made, 3, 1000, 1000);
    next_reading = first;
    line(&made, 1, 1100, 1010);
    CHECK(made.a->lines[3].ticks == 4101 * US && waited(made.a, 3) == 4091);
    CHECK(made.rec->top->since == 5101 * US);
    next_reading = second;
    line(&made, 2, 6001, 1910);
    CHECK(made.a->lines[1].ticks == 900 * US && waited(made.a, 1) == 0);
    enter(&made, true);
    next_reading = third; /* a call, the line before which waited */
    line(&made, 4, 8001, 3910);
    CHECK(made.rec->top->began == 9002 * US);
    leave(&made, 9003, 3911);
    CHECK(made.b->lines[4].ticks == 1 * US);
    leave(&made, 9004, 3912);
    CHECK(made.a->lines[2].ticks == 3003 * US && waited(made.a, 2) == 1001);
    CHECK(made.rec->wait.cost == (3 + 1 + 3 + 2) * US * LP_COST_ONE);
    tear_down(&made);
}

/* The thread is preempted in a short event, and finds on its return that the
 * sampler has asked for a reading. */
static void
a_wait_in_an_event_is_its_line_s(void)
{
    static const lp_ticks before[] = {1001, 1004},
                          first[] = {5003, 5004, 5005};
    fixture made = set_up();

    lp_clock_set_source(&made.rec->clock, one_after_the_other);
    enter(&made, false);
    next_reading = before;
    line(&made, 3, 1000, 1000);
    made.rec->wait.reading_requested = true;
    made.rec->wait.min = 0;
    next_reading = first;
    line(&made, 1, 1002, 1003);
    CHECK(made.a->lines[3].ticks == 4003 * US && waited(made.a, 3) == 4000);
    CHECK(made.rec->top->since == 5003 * US);
    tear_down(&made);
}

static void
a_wait_is_also_charged_to_its_caller(void)
{
    fixture made = set_up();

    enter(&made, false);
    line(&made, 1, 1000, 0);
    enter(&made, true);
    line(&made, 4, 1001, 1);
    line(&made, 5, 1501, 101);
    leave(&made, 1502, 102);
    enter(&made, true);
    line(&made, 4, 1503, 103);
    leave(&made, 1703, 103);
    line(&made, 2, 1704, 104);
    leave(&made, 1705, 105);
    CHECK(waited(made.b, 4) == 600 && waited(made.b, 5) == 0);
    CHECK(waited(made.a, 1) == 600 && waited(made.a, 2) == 0);
    CHECK(made.rec->wait.n_pending == 0);
    tear_down(&made);
}

static void
a_wait_before_a_call_is_charged_only_to_the_caller(void)
{
    fixture made = set_up();

    enter(&made, false);
    line(&made, 1, 1000, 0);
    enter(&made, true);
    line(&made, 4, 1500, 0);
    leave(&made, 1501, 1);
    line(&made, 2, 2001, 1);
    leave(&made, 2002, 2);
    CHECK(waited(made.b, 4) == 0);
    CHECK(waited(made.a, 1) == 1000 && waited(made.a, 2) == 0);
    tear_down(&made);
}

static void
time_before_the_outermost_frame_is_not_charged(void)
{
    fixture made = set_up();

    enter(&made, false);
    line(&made, 1, 1000, 0);
    leave(&made, 1001, 1);
    enter(&made, false);
    line(&made, 1, 9000, 2);
    leave(&made, 9400, 402);
    CHECK(waited(made.a, 1) == 0);
    tear_down(&made);
}

static void
a_wait_is_no_longer_than_its_gap(void)
{
    fixture made = set_up();

    enter(&made, false);
    line(&made, 1, 1000, 0);
    for (lp_ticks us = 1020; us <= 2000; us += 20) {
        line(&made, us % 40 == 0 ? 1 : 2, us, 0); /* each too short */
    }
    line(&made, 3, 2020, 0);
    line(&made, 4, 2060, 40);
    leave(&made, 2061, 41);
    CHECK(waited(made.a, 1) == 0 && waited(made.a, 2) == 0);
    CHECK(waited(made.a, 3) <= 40 && unsure(made.a, 3) == waited(made.a, 3));
    tear_down(&made);
}

static void
a_wait_may_have_been_in_short_lines_before(void)
{
    fixture made = set_up();

    enter(&made, false);
    line(&made, 1, 1000, 0);
    line(&made, 2, 1100, 100);
    enter(&made, true);
    line(&made, 3, 1120, 120); /* up to 40 us of short lines; */
    line(&made, 4, 1140, 140);
    line(&made, 5, 1240, 180); /* 60 of 140 us off the processor */
    line(&made, 6, 1540, 180); /* and right after it 300 of 300 */
    CHECK(waited(made.b, 4) == 60 && unsure(made.b, 4) == 40);
    CHECK(waited(made.b, 5) == 300 && unsure(made.b, 5) == 0);
    leave(&made, 1541, 181);
    line(&made, 7, 1542, 182);
    CHECK(waited(made.a, 2) == 360 && unsure(made.a, 2) == 40);
    leave(&made, 1543, 183);
    tear_down(&made);
}

static void
a_report_charges_open_lines(void)
{
    fixture made = set_up();

    enter(&made, false);
    line(&made, 1, 1000, 0);
    enter(&made, true);
    line(&made, 4, 1001, 1);
    lp_recorder_settle(made.rec, 1401 * US);
    CHECK(waited(made.b, 4) == 400 && waited(made.a, 1) == 400);
    line(&made, 5, 1501, 1);
    lp_off_cpu_forget(made.a); /* a reset */
    leave(&made, 1502, 2);
    leave(&made, 1503, 3);
    CHECK(waited(made.b, 4) == 500 && waited(made.a, 1) == 100);
    tear_down(&made);
}

static void
frames_that_are_dropped_keep_their_waits(void)
{
    fixture made = set_up();

    enter(&made, false);
    line(&made, 1, 1000, 0);
    enter(&made, true);
    line(&made, 4, 1001, 1);
    line(&made, 5, 1501, 1);
    lp_recorder_drop(made.rec, &owner_a, 1502 * US);
    CHECK(waited(made.a, 1) == 500 && waited(made.b, 4) == 500);
    leave(&made, 1903, 3);
    CHECK(waited(made.a, 1) == 500 && waited(made.b, 5) == 400);
    tear_down(&made);
}

static void
shared_frames_are_both_charged(void)
{
    fixture made = set_up();
    lp_frame *shared;

    enter(&made, false);
    line(&made, 1, 1000, 0);
    enter(&made, true);
    line(&made, 4, 1001, 1);
    line(&made, 5, 1501, 1);
    shared = lp_recorder_insert(made.rec, made.rec->top, made.a);
    shared->owner = &owner_b;
    CHECK(waited(made.a, 1) == 500); /* frames moved */
    lp_recorder_line(made.rec, made.rec->top, 2, 1502 * US, LP_LINE_FORWARD);
    processor = 1 + 2 * US;
    for (lp_frame *at = made.rec->top; at >= made.rec->top - 1; at--) {
        lp_recorder_line(made.rec, at, 6, 2002 * US, LP_LINE_FORWARD);
    }
    CHECK(waited(made.a, 2) >= 499 && waited(made.b, 5) >= 499);
    tear_down(&made);
}

static void
deep_recursion_is_charged_to_every_level_once(void)
{
    enum { DEPTH = 1000 };
    fixture made = set_up();
    lp_ticks us = 1000;

    for (int i = 0; i < DEPTH; i++) {
        enter(&made, false);
        line(&made, 1, us, 0);
    }
    for (int i = 0; i < DEPTH; i++) {
        us += 100;
        leave(&made, us, 0);
        CHECK(made.rec->wait.n_pending <= 1);
    }
    CHECK(waited(made.a, 1) == 100 * DEPTH * (DEPTH + 1) / 2);
    tear_down(&made);
}

static void
another_thread_reuses_the_recorder(void)
{
    fixture made = set_up();

    enter(&made, false);
    line(&made, 1, 1000, 5000);
    leave(&made, 1001, 5001);
    lp_off_cpu_attach(made.rec);
    enter(&made, false);
    line(&made, 1, 2000, 0); /* its own clock */
    leave(&made, 2500, 100);
    CHECK(waited(made.a, 1) == 400);
    tear_down(&made);
}

static void
waits_are_split_by_samples(void)
{
    uint64_t samples[LP_WAIT_CAUSES] = {0};
    lp_waited split;

    lp_off_cpu_split(&split, 1000, 2000, 1, 0, samples);
    CHECK(split.ns[LP_WAIT_UNSEEN] == 1000);
    lp_off_cpu_split(&split, 1000, 2000, 0, 3, samples);
    CHECK(split.ns[LP_WAIT_RUNNABLE] == 1000 && split.ns[LP_WAIT_UNSEEN] == 0);
    samples[LP_WAIT_LOCK] = 30;
    samples[LP_WAIT_IO] = 10;
    lp_off_cpu_split(&split, 1000, 2000, 5, 1, samples);
    CHECK(split.ns[LP_WAIT_LOCK] == 750 && split.ns[LP_WAIT_IO] == 250);
    /* Blocked for a quarter of the gap, and off the processor for half of it.
     */
    samples[LP_WAIT_RUNNABLE] = 120;
    lp_off_cpu_split(&split, 1000, 2000, 5, 1, samples);
    CHECK(split.ns[LP_WAIT_RUNNABLE] == 500);
    CHECK(split.ns[LP_WAIT_LOCK] == 375 && split.ns[LP_WAIT_IO] == 125);
    lp_off_cpu_split(&split, 1000, 2000, 5, 0, samples);
    CHECK(split.ns[LP_WAIT_RUNNABLE] == 0 && split.ns[LP_WAIT_LOCK] == 750);
    lp_off_cpu_split(&split, 1001, 2000, 5, 0, samples);
    CHECK(split.ns[LP_WAIT_LOCK] + split.ns[LP_WAIT_IO] +
              split.ns[LP_WAIT_OTHER] ==
          1001);
}

#ifdef __linux__
#  include <stdio.h>
#  include <sys/syscall.h>

static lp_cause
cause(long call, unsigned long first, unsigned long second)
{
    char text[128];

    snprintf(text, sizeof(text), "%ld 0x%lx 0x%lx 0x0 0x0 0x0 0x0 0x1 0x2\n",
             call, first, second);
    return lp_sampler_cause(text, 4096, 8192);
}

static void
causes_come_from_the_system_call(void)
{
    CHECK(lp_sampler_cause("running\n", 0, 0) == LP_WAIT_RUNNABLE);
    CHECK(cause(SYS_futex, 4096, 0x189) == LP_WAIT_GIL);
    CHECK(cause(SYS_futex, 8191, 0x189) == LP_WAIT_GIL);
    CHECK(cause(SYS_futex, 8192, 0x189) == LP_WAIT_LOCK);
    CHECK(cause(SYS_clock_nanosleep, 1, 1) == LP_WAIT_SLEEP);
    CHECK(cause(SYS_pselect6, 0, 0) == LP_WAIT_SLEEP);
    CHECK(cause(SYS_pselect6, 4, 9) == LP_WAIT_IO);
    CHECK(cause(SYS_ppoll, 0x7000, 0) == LP_WAIT_SLEEP);
    CHECK(cause(SYS_ppoll, 0x7000, 1) == LP_WAIT_IO);
    CHECK(cause(SYS_read, 3, 9) == LP_WAIT_IO);
    CHECK(cause(SYS_wait4, 3, 9) == LP_WAIT_OTHER);
    CHECK(lp_sampler_cause("-1 0x7ffc 0x7f00\n", 0, 0) == LP_WAIT_IO);
}
#else
static void
causes_come_from_the_system_call(void)
{
}
#endif

int
main(void)
{
    a_late_reading_does_not_lower_the_threshold();
    a_wait_is_wall_time_less_processor_time();
    the_time_of_a_long_reading_is_its_line_s();
    a_wait_in_an_event_is_its_line_s();
    a_wait_is_also_charged_to_its_caller();
    a_wait_before_a_call_is_charged_only_to_the_caller();
    time_before_the_outermost_frame_is_not_charged();
    a_wait_is_no_longer_than_its_gap();
    a_wait_may_have_been_in_short_lines_before();
    a_report_charges_open_lines();
    frames_that_are_dropped_keep_their_waits();
    shared_frames_are_both_charged();
    deep_recursion_is_charged_to_every_level_once();
    another_thread_reuses_the_recorder();
    waits_are_split_by_samples();
    causes_come_from_the_system_call();
    return check_failures;
}
