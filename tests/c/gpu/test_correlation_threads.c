/* Correlation ids: launching threads take them alternately, so far from each
 * other that pages are added and retired quickly; a device answers out of
 * order; its reader reclaims pages.
 */
#include "gpu/correlation.h"

#include <pthread.h>
#include <sched.h>

#include "check.h"
#include "random.h"

enum {
    DEVICE = LP_CORRELATION_MATCHED,
    MAX_PAGES = LP_CORRELATION_OVERDUE + 68,
    INSERTERS = 4,
    LAUNCHES = 60000, /* per thread */
    STEP = 50,        /* from id to id */
    QUEUE = 256
};

typedef struct inserter {
    uint64_t number;
    uint64_t queue[QUEUE]; /* ids whose records are expected */
    uint64_t put, taken;   /* atomic */
    uint64_t failed, unanswered, ticks, charged;
} inserter;

static uint32_t
live_pages(const lp_correlation *correlations)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < LP_CORRELATION_PAGES; i++) {
        n += correlations->pages[i] != NULL;
    }
    return n;
}

static lp_correlation shared;
static uint64_t next_id = (uint64_t)-20000000; /* also wraps around */
static inserter inserters[INSERTERS];

static uint32_t
path_of(uint64_t id)
{
    return (uint32_t)(id * 2654435761u);
}

/* An API call, which has a record, or fails, or never has a record. */
static void
launch(inserter *self, uint64_t *chance)
{
    uint64_t id = __atomic_fetch_add(&next_id, STEP, __ATOMIC_RELAXED);
    uint32_t choice = random_below(chance, 100);

    if (choice == 0) {
        sched_yield(); /* other threads make many calls meanwhile */
    }
    lp_correlation_insert(&shared, id, path_of(id),
                          choice < 50 ? LP_CORRELATION_RUNTIME
                                      : LP_CORRELATION_EXPECTED);
    if (choice < 50) {
        lp_correlation_insert(&shared, id, path_of(id),
                              LP_CORRELATION_EXPECTED);
    }
    if (choice == 1) {
        self->unanswered++;
        return;
    }
    if (choice < 5) {
        lp_correlation_unexpect(&shared, id);
        self->failed++;
        return;
    }
    while (self->put - __atomic_load_n(&self->taken, __ATOMIC_ACQUIRE) ==
           QUEUE) {
        sched_yield();
    }
    self->queue[self->put % QUEUE] = id;
    __atomic_store_n(&self->put, self->put + 1, __ATOMIC_RELEASE);
    /* The record may come before or after the call returns. */
    self->ticks += choice;
    self->charged += lp_correlation_returned(&shared, id, choice).wait_ticks;
}

static void *
run_inserter(void *arg)
{
    inserter *self = arg;
    uint64_t chance = self->number;

    for (int i = 0; i < LAUNCHES; i++) {
        launch(self, &chance);
    }
    __atomic_store_n(&self->number, UINT64_MAX, __ATOMIC_RELEASE);
    return NULL;
}

/* Reads some records of one thread; returns how many. */
static uint64_t
read_records(inserter *from, uint64_t *chance, uint64_t *charged)
{
    uint64_t put = __atomic_load_n(&from->put, __ATOMIC_ACQUIRE), n = 0;

    for (; from->taken < put && random_below(chance, 50) != 0; n++) {
        uint64_t id = from->queue[from->taken % QUEUE];
        lp_correlation_entry entry = lp_correlation_matched(
            &shared, id, DEVICE | LP_CORRELATION_BLOCKED);

        if (!(entry.flags & LP_CORRELATION_INSERTED) ||
            entry.path != path_of(id)) {
            CHECK(!"the id is found");
        }
        *charged += entry.wait_ticks;
        if (lp_correlation_matched(&shared, id, DEVICE).path != path_of(id)) {
            CHECK(!"and found again");
        }
        __atomic_store_n(&from->taken, from->taken + 1, __ATOMIC_RELEASE);
    }
    return n;
}

static uint64_t
run_reader(void)
{
    uint64_t chance = 99, charged = 0;
    uint32_t max = 0;
    bool done = false;

    while (!done) {
        uint64_t n = 0;

        done = true;
        for (int i = 0; i < INSERTERS; i++) {
            done &= __atomic_load_n(&inserters[i].number, __ATOMIC_ACQUIRE) ==
                    UINT64_MAX;
            n += read_records(&inserters[i], &chance, &charged);
        }
        lp_correlation_reclaim(&shared);
        (void)lp_correlation_outstanding(&shared);
        if (shared.n_overdue > max) {
            max = shared.n_overdue;
        }
        done &= n == 0;
        for (int i = 0; i < INSERTERS; i++) {
            done &= inserters[i].taken ==
                    __atomic_load_n(&inserters[i].put, __ATOMIC_ACQUIRE);
        }
    }
    CHECK(max > 0);
    return charged;
}

static void
threads_insert_while_another_reads(void)
{
    pthread_t threads[INSERTERS];
    uint64_t failed = 0, unanswered = 0, ticks = 0, charged;

    lp_correlation_init(&shared);
    for (uint64_t i = 0; i < INSERTERS; i++) {
        inserters[i].number = i;
        pthread_create(&threads[i], NULL, run_inserter, &inserters[i]);
    }
    charged = run_reader();
    for (int i = 0; i < INSERTERS; i++) {
        pthread_join(threads[i], NULL);
        failed += inserters[i].failed;
        unanswered += inserters[i].unanswered;
        ticks += inserters[i].ticks;
        charged += inserters[i].charged;
    }
    CHECK(failed > 0 && unanswered > 0 && shared.lost == 0);
    CHECK(lp_correlation_outstanding(&shared) == unanswered);
    CHECK(charged <= ticks); /* waits of records that came after their page was
                                retired are lost */
    CHECK(ticks - charged < ticks / 100);
    /* Of nearly 3,000 pages.  A thread that was suspended for long adds its
     * page again, which is reclaimed much later: how many do so depends on the
     * scheduler. */
    CHECK(live_pages(&shared) <= MAX_PAGES + MAX_PAGES / 2);
    lp_correlation_free(&shared);
}

int
main(void)
{
    threads_insert_while_another_reads();
    return check_failures;
}
