/* Work of lineprof's own inside a line, with clocks given as numbers:
 * microseconds, and the thread's processor time. */
#include "record/own_work.h"

#include <sys/resource.h>
#include <time.h>

#include "check.h"

enum { US = 1000 };

static char code_a, code_b, owner;
static lp_ticks now_us;
static lp_ns used_us;

static lp_ticks
now(void)
{
    return now_us * US;
}

static lp_ns
used(void)
{
    return 1 + used_us * US;
}

typedef struct fixture {
    lp_arena arena;
    lp_recorder *rec;
    lp_code_counters *a; /* 10 lines from line 1, */
    lp_code_counters *b; /* and from line 101 */
} fixture;

static fixture
set_up(void)
{
    lp_layout a = {.code_id = 0, .first_line = 1, .n_lines = 10};
    lp_layout b = {.code_id = 1, .first_line = 101, .n_lines = 10};
    lp_costs costs = {0};
    lp_clock clock;
    fixture made;

    now_us = 1000; /* so that clocks are read at the first line */
    used_us = 0;
    lp_clock_set_source(&clock, now);
    lp_arena_init(&made.arena, LP_BLOCK_COUNTERS, false);
    made.rec = lp_recorder_new(&clock, &costs);
    made.rec->wait.threshold = made.rec->wait.min = LP_WAIT_NS;
    made.rec->wait.clock = used;
    made.a = lp_recorder_counters(made.rec, &made.arena, &a);
    made.b = lp_recorder_counters(made.rec, &made.arena, &b);
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
pass(lp_ticks us, lp_ns on_processor_us)
{
    now_us += us;
    used_us += on_processor_us;
}

static void
enter(fixture *made, bool b)
{
    lp_frame *frame = b ? lp_recorder_enter(made->rec, &code_b, made->b, 101)
                        : lp_recorder_enter(made->rec, &code_a, made->a, 1);

    frame->owner = &owner;
}

static void
line(fixture *made, uint32_t offset)
{
    lp_recorder_line(made->rec, made->rec->top, offset, now(),
                     LP_LINE_FORWARD);
}

static void
leave(fixture *made)
{
    lp_recorder_leave(made->rec, made->rec->top, false, now());
}

/* The thread gives its processor up of its own accord.  A sleep does not if
 * its timer has run out before the thread is off the processor. */
static void
block(void)
{
    const struct timespec moment = {0, 1000 * 1000};
#ifdef RUSAGE_THREAD
    struct rusage before, after;

    getrusage(RUSAGE_THREAD, &before);
    do {
        nanosleep(&moment, NULL);
        getrusage(RUSAGE_THREAD, &after);
    } while (after.ru_nvcsw == before.ru_nvcsw);
#else
    nanosleep(&moment, NULL);
#endif
}

/* Work that takes so long. */
static lp_own_time
work(fixture *made, lp_ticks us, lp_ns on_processor_us, bool blocks)
{
    lp_own_work self;

    lp_own_work_begin(&self, made->rec);
    pass(us, on_processor_us);
    if (blocks) {
        block();
    }
    return lp_own_work_end(&self);
}

static uint64_t
waited_us(const lp_code_counters *counters, uint32_t offset)
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
    return (sum + US / 2) / US;
}

static uint64_t
raw_us(const lp_line *line)
{
    return (line->ticks + US / 2) / US;
}

static uint64_t
net_us(const lp_line *line)
{
    return (line->ticks - lp_line_cost(line) / LP_COST_ONE + US / 2) / US;
}

static void
work_that_blocks_vanishes_from_time_and_wait(void)
{
    fixture made = set_up();
    lp_own_time took;

    enter(&made, false);
    line(&made, 1);
    pass(1000, 600);
    took = work(&made, 5000, 50, true);
    CHECK(took.cost / US == 50 && took.hidden / US == 4950);
    CHECK(took.cpu_ns == 50 * US);
    pass(1000, 600);
    line(&made, 2);
    CHECK(raw_us(&made.a->lines[1]) == 2050);
    CHECK(net_us(&made.a->lines[1]) == 2000);
    CHECK(waited_us(made.a, 1) == 800);
    CHECK(made.a->lines[1].max / US == 2000);
    pass(100, 100);
    leave(&made);
    CHECK(net_us(&made.a->lines[2]) == 100 && waited_us(made.a, 2) == 0);
    CHECK(made.a->total / US == 2150); /* with the cost */
    tear_down(&made);
}

static void
a_preemption_that_falls_into_work_is_the_line_s(void)
{
    fixture made = set_up();
    lp_own_time took;

    enter(&made, false);
    line(&made, 1);
    pass(1000, 1000);
    took = work(&made, 5000, 50, false);
    CHECK(took.cost / US == 50 && took.hidden == 0);
    pass(1000, 1000);
    line(&made, 2);
    CHECK(raw_us(&made.a->lines[1]) == 7000);
    CHECK(net_us(&made.a->lines[1]) == 6950);
    CHECK(waited_us(made.a, 1) == 4950);
    leave(&made);
    tear_down(&made);
}

static void
callers_lose_the_same_as_their_callees(void)
{
    fixture made = set_up();

    enter(&made, false);
    line(&made, 1);
    pass(10, 10);
    enter(&made, true);
    line(&made, 4);
    (void)work(&made, 5000, 50, true);
    (void)work(&made, 400, 100, false);
    pass(1000, 700);
    leave(&made);
    pass(10, 10);
    leave(&made);
    CHECK(net_us(&made.b->lines[4]) == 1300 && waited_us(made.b, 4) == 600);
    CHECK(net_us(&made.a->lines[1]) == 1320 && waited_us(made.a, 1) == 600);
    CHECK(raw_us(&made.a->lines[1]) == 1320 + 150);
    tear_down(&made);
}

static void
work_outside_of_lines_is_none_of_the_next_line(void)
{
    fixture made = set_up();

    enter(&made, false);
    (void)work(&made, 5000, 50, true);
    line(&made, 1);
    pass(100, 100);
    leave(&made);
    CHECK(raw_us(&made.a->lines[1]) == 100 &&
          net_us(&made.a->lines[1]) == 100);
    CHECK(waited_us(made.a, 1) == 0);
    tear_down(&made);
}

static void
a_clock_of_tests_has_no_processor_time(void)
{
    fixture made = set_up();

    made.rec->wait.clock = NULL;
    enter(&made, false);
    line(&made, 1);
    pass(10, 0);
    (void)work(&made, 5000, 0, true);
    pass(10, 0);
    line(&made, 2);
    CHECK(raw_us(&made.a->lines[1]) == 5020 &&
          net_us(&made.a->lines[1]) == 20);
    leave(&made);
    tear_down(&made);
}

static void
short_work_has_a_limit_beyond_which_it_was_preempted(void)
{
    fixture made = set_up();

    enter(&made, false);
    line(&made, 1);
    pass(5000, 10);
    lp_own_work_was_short(made.rec, 4000 * US);
    line(&made, 2);
    CHECK(net_us(&made.a->lines[1]) == 5000 - LP_WAIT_NS / US);
    CHECK(waited_us(made.a, 1) == 4990);
    leave(&made);
    tear_down(&made);
}

static void
a_thread_without_lines_may_work(void)
{
    lp_own_work self;

    lp_own_work_begin(&self, NULL);
    block();
    CHECK(lp_own_work_end(&self).cost == 0);
}

int
main(void)
{
    work_that_blocks_vanishes_from_time_and_wait();
    a_preemption_that_falls_into_work_is_the_line_s();
    callers_lose_the_same_as_their_callees();
    work_outside_of_lines_is_none_of_the_next_line();
    a_clock_of_tests_has_no_processor_time();
    short_work_has_a_limit_beyond_which_it_was_preempted();
    a_thread_without_lines_may_work();
    return check_failures;
}
