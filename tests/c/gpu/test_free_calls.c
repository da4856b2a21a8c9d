/* Calls that free, and the work that each of them waited for. */
#include "gpu/free_calls.h"

#include <pthread.h>

#include "check.h"
#include "gpu/own_paths.h"

static lp_call_paths *paths;
static lp_wait_log wait_log;
static lp_load_times loads;
static lp_free_calls calls;

enum { FACTOR = 3 }; /* ticks a ns */

static void
set_up(void)
{
    paths = own_paths();
    for (uint32_t line = 1; line < 10; line++) { /* paths 2 to 10 */
        lp_call_paths_child(paths, lp_call_paths_root(paths, 0, false), 1,
                            line);
    }
    CHECK(lp_wait_log_init(&wait_log, 4 * LP_FREE_CALLS));
    CHECK(lp_load_times_init(&loads));
    CHECK(lp_free_calls_init(&calls, paths, &wait_log, &loads));
}

static void
tear_down(void)
{
    lp_free_calls_free(&calls);
    lp_load_times_free(&loads);
    lp_wait_log_free(&wait_log);
}

/* A call of context 1 and any device; times in ns. */
static uint64_t
begin(uint32_t path, lp_ns start)
{
    lp_free_call call = {.start = start * FACTOR,
                         .start_ns = start,
                         .path = path,
                         .context = 1,
                         .device = LP_ANY_DEVICE};

    return lp_free_calls_begin(&calls, &call);
}

static void
end(uint64_t number, lp_ns now)
{
    lp_free_calls_end(&calls, number, now * FACTOR, now, true, false);
}

static void
work(lp_ns launched, lp_ns start, lp_ns stop)
{
    lp_free_work one = {.launched = launched * FACTOR,
                        .start = start,
                        .end = stop,
                        .context = 1};

    lp_free_calls_add(&calls, &one);
}

/* Settle; true if the path has waited so often and for so many ns. */
static bool
waited(uint32_t path, uint32_t times, lp_ns ns)
{
    const lp_call_path *one = lp_call_paths_at(paths, path);

    lp_free_calls_settle(&calls);
    return one->waits == times && one->wait_ticks == ns * FACTOR;
}

static void
a_call_waits_until_earlier_work_ends_and_no_longer(void)
{
    uint64_t idle, short_work, long_work, later;

    set_up();
    idle = begin(2, 100);
    end(idle, 150);
    short_work = begin(3, 200);
    end(short_work, 300);
    long_work = begin(4, 400);
    end(long_work, 450);
    later = begin(5, 500);
    end(later, 600);
    work(10, 10, 90);    /* it has ended before all calls */
    work(160, 170, 220); /* the second waits for 20 ns, */
    work(160, 180, 230); /* for 30 ns */
    work(160, 180, 225);
    work(390, 390, 470); /* the third for all of its time */
    work(510, 510, 590); /* launched after the start of the last */
    CHECK(waited(2, 0, 0));
    CHECK(waited(3, 1, 30));
    CHECK(waited(4, 1, 50));
    CHECK(waited(5, 0, 0));
    CHECK(lp_wait_log_entries(&wait_log) == 2);
    CHECK(lp_wait_log_at(&wait_log, 0).start == 200 * FACTOR);
    CHECK(lp_wait_log_at(&wait_log, 0).ticks == 30 * FACTOR);
    tear_down();
}

static void
records_that_come_late_extend_a_wait(void)
{
    uint64_t call;

    set_up();
    call = begin(2, 200);
    work(100, 100, 240); /* it has ended while the call goes on */
    CHECK(waited(2, 0, 0));
    end(call, 300);
    CHECK(waited(2, 1, 40));
    CHECK(waited(2, 1, 40));
    work(100, 240, 270);
    work(100, 240, 250);
    CHECK(waited(2, 1, 70));
    CHECK(lp_call_paths_at(paths, 2)->max_wait_ticks == 70 * FACTOR);
    CHECK(lp_wait_log_entries(&wait_log) == 2);
    CHECK(lp_wait_log_at(&wait_log, 1).start == 240 * FACTOR);
    CHECK(lp_wait_log_at(&wait_log, 1).ticks == 30 * FACTOR);
    tear_down();
}

static void
work_of_unknown_launch_was_launched_before_it_began(void)
{
    set_up();
    end(begin(2, 200), 300);
    work(0, 210, 290);
    work(0, 200, 290);
    CHECK(waited(2, 0, 0));
    work(0, 199, 260);
    CHECK(waited(2, 1, 60));
    tear_down();
}

static void
a_call_waits_for_its_own_context_or_device(void)
{
    lp_free_call of_device = {
        .start = 200 * FACTOR, .start_ns = 200, .path = 2, .device = 1};
    lp_free_call of_all = {.start = 200 * FACTOR,
                           .start_ns = 200,
                           .path = 3,
                           .device = LP_ANY_DEVICE};
    lp_free_work one = {.launched = 100, .start = 100, .end = 250};

    set_up();
    end(lp_free_calls_begin(&calls, &of_device), 300);
    end(lp_free_calls_begin(&calls, &of_all), 300);
    end(begin(4, 200), 300);
    one.context = 2;
    one.device = 1;
    lp_free_calls_add(&calls, &one);
    CHECK(waited(2, 1, 50) && waited(3, 1, 50) && waited(4, 0, 0));
    one.context = 1;
    one.device = 0;
    one.end = 260;
    lp_free_calls_add(&calls, &one);
    CHECK(waited(2, 1, 50) && waited(3, 1, 60) && waited(4, 1, 60));
    tear_down();
}

static void
a_call_that_is_not_wanted_or_of_another_session_has_no_wait(void)
{
    uint64_t call;

    set_up();
    lp_free_calls_end(&calls, 0, 0, 0, true, false);
    lp_free_calls_end(&calls, UINT64_MAX, 0, 0, true, false);
    call = begin(2, 200);
    lp_free_calls_end(&calls, call, 300 * FACTOR, 300, false, true);
    lp_free_calls_end(&calls, call, 300 * FACTOR, 300, true, false);
    work(100, 100, 300);
    CHECK(waited(2, 0, 0));
    tear_down();
}

/* The load of a path, in ns. */
static lp_ns
loaded(uint32_t path, uint32_t times)
{
    lp_load_time found = {0};

    lp_free_calls_settle(&calls);
    for (uint32_t i = 0; i < LP_LOAD_TIMES; i++) {
        lp_load_time one = lp_load_times_at(&loads, i);

        found = one.calls != 0 && one.path == path ? one : found;
    }
    CHECK(found.calls == times);
    return found.ticks / FACTOR;
}

static void
the_rest_of_a_call_that_loaded_is_its_load(void)
{
    uint64_t call;

    set_up();
    call = begin(2, 200);
    work(100, 100, 220);
    lp_free_calls_end(&calls, call, 300 * FACTOR, 300, true, true);
    end(begin(3, 200), 300);
    CHECK(loaded(2, 1) == 80 && loaded(3, 0) == 0);
    work(100, 100, 250);
    CHECK(loaded(2, 1) == 50 && waited(2, 1, 50));
    work(100, 100, 300);
    CHECK(loaded(2, 1) == 0 && waited(2, 1, 100));
    tear_down();
}

static void
numbers_need_not_be_in_the_order_of_the_starts(void)
{
    set_up();
    for (lp_ns start = 100; start < 1100; start += 10) {
        end(begin(2, start + 5), start + 6);
        end(begin(3, start), start + 1);
    }
    for (lp_ns start = 100; start < 1100; start += 10) {
        work(start - 1, start - 1, start + 1);
        work(start + 4, start + 4, start + 6);
    }
    CHECK(waited(2, 100, 100));
    CHECK(waited(3, 100, 100));
    tear_down();
}

static void
calls_are_not_lost_when_the_ring_is_full(void)
{
    uint64_t open, n = 2 * LP_FREE_CALLS + 7;

    set_up();
    open = begin(4, 10);
    for (uint64_t i = 1; i <= n; i++) {
        end(begin(2, 100 * i), 100 * i + 50);
        work(100 * i - 10, 100 * i, 100 * i + 20);
    }
    CHECK(waited(2, (uint32_t)n, n * 20));
    work(5, 5, 30);
    end(open, 40);          /* a call keeps its place as long as it goes on */
    CHECK(waited(4, 0, 0)); /* but its work is looked for no longer */
    tear_down();
}

enum { THREADS = 4, EACH = 20000 };

static void *
free_often(void *arg)
{
    uint32_t path = *(const uint32_t *)arg;

    for (lp_ns i = 1; i <= EACH; i++) {
        uint64_t number = begin(path, i * 100);

        end(number, i * 100 + 50);
    }
    return NULL;
}

static void
threads_free_while_records_come(void)
{
    static uint32_t own[THREADS] = {2, 3, 4, 5};
    pthread_t threads[THREADS];

    set_up();
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, free_often, &own[i]) == 0);
    }
    for (lp_ns i = 1; i <= EACH; i++) {
        work(i * 100 - 10, i * 100, i * 100 + 20);
        if (i % 1000 == 0) {
            lp_free_calls_settle(&calls);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        const lp_call_path *one;

        pthread_join(threads[i], NULL);
        lp_free_calls_settle(&calls);
        one = lp_call_paths_at(paths, own[i]);
        CHECK(one->waits <= EACH && one->wait_ticks <= one->waits * 50 * 3);
    }
    tear_down();
}

int
main(void)
{
    a_call_waits_until_earlier_work_ends_and_no_longer();
    records_that_come_late_extend_a_wait();
    work_of_unknown_launch_was_launched_before_it_began();
    a_call_waits_for_its_own_context_or_device();
    a_call_that_is_not_wanted_or_of_another_session_has_no_wait();
    the_rest_of_a_call_that_loaded_is_its_load();
    numbers_need_not_be_in_the_order_of_the_starts();
    calls_are_not_lost_when_the_ring_is_full();
    threads_free_while_records_come();
    return check_failures;
}
