/* Calls that can block their thread, logged by several threads at once. */
#include "gpu/wait_log.h"

#include <pthread.h>

#include "check.h"

static void
entries_come_back_and_the_rest_has_a_start(void)
{
    lp_wait_log log;

    CHECK(lp_wait_log_init(&log, 2));
    CHECK(lp_wait_log_entries(&log) == 0);
    lp_wait_log_add(&log, 3, 100, 7);
    lp_wait_log_add(&log, 4, 200, 0);
    CHECK(log.cut == UINT64_MAX);
    lp_wait_log_add(&log, 5, 400, 9);
    lp_wait_log_add(&log, 5, 300, 9);
    lp_wait_log_add(&log, 5, 500, 9);
    CHECK(lp_wait_log_entries(&log) == 2);
    CHECK(lp_wait_log_at(&log, 0).path == 3);
    CHECK(lp_wait_log_at(&log, 0).start == 100);
    CHECK(lp_wait_log_at(&log, 0).ticks == 7);
    CHECK(lp_wait_log_at(&log, 1).start == 200);
    CHECK(log.cut == 300);
    lp_wait_log_free(&log);
}

enum { THREADS = 4, EACH = 3 * LP_WAITS_PER_CHUNK };

static void *
add_many(void *to)
{
    for (uint32_t i = 1; i <= EACH; i++) {
        lp_wait_log_add(to, i, i, i);
    }
    return NULL;
}

static void
threads_add_without_a_lock(void)
{
    uint64_t sum = 0, n = (uint64_t)THREADS * EACH;
    pthread_t threads[THREADS];
    lp_wait_log log;

    CHECK(lp_wait_log_init(&log, n));
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, add_many, &log) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(lp_wait_log_entries(&log) == n);
    for (uint64_t i = 0; i < n; i++) {
        lp_logged_wait wait = lp_wait_log_at(&log, i);

        CHECK(wait.start == wait.ticks && wait.start == wait.path);
        sum += wait.start;
    }
    CHECK(sum == (uint64_t)THREADS * EACH * (EACH + 1) / 2);
    lp_wait_log_free(&log);
}

int
main(void)
{
    entries_come_back_and_the_rest_has_a_start();
    threads_add_without_a_lock();
    return check_failures;
}
