/* Snapshots of the activity, also while threads launch and records come. */
#include "gpu/activity.h"
#include "gpu/backend.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "gpu/own_paths.h"
#include "random.h"

static lp_activity activity;
static int look_requested;

static const char *
call_name(lp_activity_kind kind, uint32_t call)
{
    look_requested++;
    return call == 5 ? NULL : kind == LP_DRIVER_CALL ? "cuIt" : "cudaIt";
}

static const lp_gpu_backend backend = {.name = "ours", .call_name = call_name};

static const char *
name_of(lp_activity_snapshot *copy, lp_activity_kind kind, uint32_t name)
{
    uint32_t number = lp_names_of(&copy->names, &backend, kind, name);

    return copy->names
        .strings[number]; /* after a call that may have moved the strings */
}

static void
an_empty_activity_has_an_empty_snapshot(void)
{
    lp_activity_snapshot copy;

    lp_activity_init(&activity, own_paths(), 10);
    CHECK(lp_activity_snapshot_take(&copy, &activity));
    CHECK(copy.n_sums == 0 && copy.n_paths == 1 && copy.n_events == 0);
    CHECK(copy.n_launches == 0 && copy.outstanding == 0 && copy.invalid == 0);
    for (int i = 0; i < LP_DEVICES; i++) {
        CHECK(!copy.active[i] && copy.busy[i] == 0 && !copy.inexact[i]);
    }
    CHECK(strcmp(copy.names.strings[0], "") == 0);
    lp_activity_snapshot_free(&copy);
    CHECK(copy.sums == NULL && copy.names.strings == NULL);
    lp_activity_free(&activity);
}

static void
each_kind_has_its_names(void)
{
    lp_record record = {
        .kind = LP_KERNEL, .start = 1, .end = 2, .name = "axpy"};
    lp_activity_snapshot copy;
    uint32_t n;

    lp_activity_init(&activity, own_paths(), 10);
    lp_activity_add_record(&activity, &record);
    lp_activity_snapshot_take(&copy, &activity);
    CHECK(strcmp(name_of(&copy, LP_KERNEL, 1), "axpy") == 0);
    CHECK(strcmp(name_of(&copy, LP_KERNEL, 0), "") == 0);
    CHECK(strcmp(name_of(&copy, LP_MEMCPY, 1), "HtoD") == 0);
    CHECK(strcmp(name_of(&copy, LP_MEMCPY, 2), "DtoH") == 0);
    CHECK(strcmp(name_of(&copy, LP_MEMCPY, 8), "DtoD") == 0);
    CHECK(strcmp(name_of(&copy, LP_MEMCPY, 10), "PtoP") == 0);
    CHECK(strcmp(name_of(&copy, LP_MEMCPY, 11), "?") == 0);
    CHECK(strcmp(name_of(&copy, LP_MEMCPY, 0), "?") == 0);
    CHECK(strcmp(name_of(&copy, LP_MIGRATION, 1), "HtoD") == 0);
    CHECK(strcmp(name_of(&copy, LP_MEMSET, 3), "") == 0);
    CHECK(strcmp(name_of(&copy, LP_WAIT, 3), "") == 0);
    CHECK(strcmp(name_of(&copy, LP_GRAPH, 3), "") == 0);
    n = copy.names.n;
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(strcmp(name_of(&copy, LP_RUNTIME_CALL, 1), "cudaIt") == 0);
        CHECK(strcmp(name_of(&copy, LP_DRIVER_CALL, 1), "cuIt") == 0);
        CHECK(strcmp(name_of(&copy, LP_DRIVER_CALL, 5), "?") == 0);
    }
    CHECK(copy.names.n == n + 3 && look_requested == 3);
    CHECK(strcmp(name_of(&copy, LP_DRIVER_CALL, 99999), "") == 0);
    for (uint32_t i = 0; i < 4096; i++) { /* more than the initial capacity */
        CHECK(strcmp(name_of(&copy, LP_RUNTIME_CALL, i),
                     i == 5 ? "?" : "cudaIt") == 0);
    }
    CHECK(strcmp(name_of(&copy, LP_KERNEL, 1), "axpy") == 0);
    lp_activity_snapshot_free(&copy);
    lp_activity_free(&activity);
}

static void
a_snapshot_does_not_change(void)
{
    lp_record record = {
        .kind = LP_KERNEL, .device = 2, .start = 1, .end = 5, .name = "axpy"};
    lp_activity_snapshot copy;

    lp_activity_init(&activity, own_paths(), 1);
    lp_activity_begin_call(&activity, 7, 1, LP_CORRELATION_EXPECTED);
    lp_activity_add_record(&activity, &record);
    lp_activity_add_record(&activity, &record);
    lp_activity_snapshot_take(&copy, &activity);
    record.device = 3;
    for (int i = 0; i < 1000; i++) {
        char name[16];

        snprintf(name, sizeof(name), "k%d", i);
        record.name = name;
        lp_activity_add_record(&activity, &record);
    }
    record.end = 0;
    lp_activity_add_record(&activity, &record);
    CHECK(copy.n_sums == 1 && copy.sums[0].count == 2);
    CHECK(copy.sums[0].ns == 8 && copy.sums[0].key.device == 2);
    CHECK(strcmp(name_of(&copy, LP_KERNEL, copy.sums[0].key.name), "axpy") ==
          0);
    CHECK(copy.active[2] && copy.busy[2] == 4 && !copy.active[3]);
    CHECK(copy.n_events == 1 && copy.left_out == 1 && copy.n_launches == 2);
    CHECK(copy.outstanding == 1 && copy.invalid == 0);
    lp_activity_snapshot_free(&copy);
    lp_activity_snapshot_take(&copy, &activity);
    CHECK(copy.n_sums == 1001 && copy.active[3] && copy.invalid == 1);
    lp_activity_snapshot_free(&copy);
    lp_activity_free(&activity);
}

static void
calls_make_no_device_active(void)
{
    lp_record record = {
        .kind = LP_RUNTIME_CALL, .start = 1, .end = 5, .name_number = 3};
    lp_activity_snapshot copy;

    lp_activity_init(&activity, own_paths(), 10);
    lp_activity_add_record(&activity, &record);
    record.kind = LP_DRIVER_CALL;
    lp_activity_add_record(&activity, &record);
    lp_activity_snapshot_take(&copy, &activity);
    CHECK(copy.n_sums == 2 && !copy.active[0]);
    lp_activity_snapshot_free(&copy);
    lp_activity_free(&activity);
}

/* -- threads ---------------------------------------------------------------
 *
 * Some threads launch and copy, one adds records in buffers, one takes
 * snapshots.
 */

enum { THREADS = 3, LAUNCHES = 20000, PATHS = 300, QUEUE = 1024 };

typedef struct launcher {
    uint32_t number;
    uint64_t queue[QUEUE]; /* id * 2 + kind of the expected record */
    uint64_t put, taken;   /* atomic */
    uint64_t ns[PATHS], count[PATHS], ticks, waits;
    bool done; /* atomic */
} launcher;

static launcher launchers[THREADS];
static uint64_t next_id = 1;

static uint32_t
path_of(uint32_t which)
{
    uint32_t path = lp_call_paths_root(activity.paths, 0, false);

    for (uint32_t line = which; line > 0; line /= 7) {
        path = lp_call_paths_child(activity.paths, path, line % 7 + 1, line);
    }
    return path;
}

static void *
run_launcher(void *arg)
{
    launcher *self = arg;
    uint64_t chance = self->number;

    for (int i = 0; i < LAUNCHES; i++) {
        uint32_t which = random_below(&chance, PATHS);
        bool arena = which % 4 == 0;
        uint64_t id = __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);

        lp_activity_begin_call(&activity, id, path_of(which),
                               LP_CORRELATION_EXPECTED);
        if (which % 50 == 1) {
            lp_correlation_unexpect(&activity.correlations, id);
            continue;
        }
        while (self->put - __atomic_load_n(&self->taken, __ATOMIC_ACQUIRE) ==
               QUEUE) {
            sched_yield();
        }
        self->queue[self->put % QUEUE] = id * 2 + arena;
        __atomic_store_n(&self->put, self->put + 1, __ATOMIC_RELEASE);
        self->ns[which] += id % 1000;
        self->count[which]++;
        if (arena) {
            lp_activity_add_copy_wait(&activity, id, id % 100 + 1);
            self->ticks += id % 100 + 1;
            self->waits++;
        }
        if (which == 2) {
            lp_activity_add_wait(&activity, path_of(which), 5);
            self->ticks += 5;
            self->waits++;
        }
    }
    __atomic_store_n(&self->done, true, __ATOMIC_RELEASE);
    return NULL;
}

static void
bring(launcher *from)
{
    uint64_t put = __atomic_load_n(&from->put, __ATOMIC_ACQUIRE);

    pthread_mutex_lock(&activity.lock);
    for (uint64_t i = from->taken; i < put; i++) {
        uint64_t number = from->queue[i % QUEUE], id = number / 2;
        lp_record record = {.kind = number % 2 ? LP_MEMCPY : LP_KERNEL,
                            .blocking = number % 2,
                            .device = (uint16_t)(id % 3),
                            .correlation = id,
                            .start = id * 100,
                            .end = id * 100 + id % 1000,
                            .name = number % 2 ? NULL
                                    : id % 2   ? "odd"
                                               : "even",
                            .launch = {.grid = {(int32_t)(id % 50), 1, 1}}};

        lp_activity_add_record(&activity, &record);
    }
    __atomic_store_n(&from->taken, put, __ATOMIC_RELEASE);
    lp_correlation_reclaim(&activity.correlations);
    pthread_mutex_unlock(&activity.lock);
}

static void *
run_records(void *arg)
{
    bool done = false;

    (void)arg;
    while (!done) {
        done = true;
        for (int i = 0; i < THREADS; i++) {
            done &= __atomic_load_n(&launchers[i].done, __ATOMIC_ACQUIRE);
        }
        for (int i = 0; i < THREADS; i++) {
            bring(&launchers[i]);
        }
    }
    return NULL;
}

/* Checks of a snapshot, at any time and at the end. */
static uint64_t
count_of(const lp_activity_snapshot *copy)
{
    uint64_t count = 0;

    for (size_t i = 0; i < copy->n_sums; i++) {
        const lp_sum *sum = &copy->sums[i];

        CHECK(sum->key.path < copy->n_paths && sum->key.path != LP_NO_PATH);
        CHECK(sum->min <= sum->max && sum->ns >= sum->max);
        CHECK(sum->key.name < copy->names.n);
        count += sum->count;
    }
    return count;
}

static void
check_sums(const lp_activity_snapshot *copy)
{
    for (uint32_t which = 0; which < PATHS; which++) {
        uint32_t path = path_of(which);
        uint64_t ns = 0, count = 0;

        for (size_t i = 0; i < copy->n_sums; i++) {
            if (copy->sums[i].key.path == path) {
                ns += copy->sums[i].ns;
                count += copy->sums[i].count;
            }
        }
        for (int i = 0; i < THREADS; i++) {
            ns -= launchers[i].ns[which];
            count -= launchers[i].count[which];
        }
        CHECK(ns == 0 && count == 0);
    }
}

static void
check_waits(const lp_activity_snapshot *copy)
{
    uint64_t ticks = 0, waits = 0;

    for (uint32_t i = 0; i < copy->n_paths; i++) {
        ticks += lp_call_paths_at(activity.paths, i)->wait_ticks;
        waits += lp_call_paths_at(activity.paths, i)->waits;
    }
    for (int i = 0; i < THREADS; i++) {
        ticks -= launchers[i].ticks;
        waits -= launchers[i].waits;
    }
    CHECK(ticks == 0 && waits == 0);
}

static void
snapshots_are_taken_while_records_come(void)
{
    pthread_t threads[THREADS], records;
    lp_activity_snapshot copy;
    uint64_t before = 0, count, all = 0;

    lp_activity_init(&activity, own_paths(), 5000);
    for (uint32_t i = 0; i < THREADS; i++) {
        launchers[i].number = i;
        pthread_create(&threads[i], NULL, run_launcher, &launchers[i]);
    }
    pthread_create(&records, NULL, run_records, NULL);
    do {
        CHECK(lp_activity_snapshot_take(&copy, &activity));
        count = count_of(&copy);
        CHECK(count >= before && copy.n_events + copy.left_out == count);
        before = count;
        lp_activity_snapshot_free(&copy);
        sched_yield();
    } while (!__atomic_load_n(&launchers[0].done, __ATOMIC_ACQUIRE));
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all += launchers[i].put;
    }
    pthread_join(records, NULL);
    lp_activity_snapshot_take(&copy, &activity);
    CHECK(count_of(&copy) == all && all > LAUNCHES);
    CHECK(copy.outstanding == 0 && copy.invalid == 0);
    CHECK(copy.n_events == 5000);
    CHECK(activity.correlations.lost == 0);
    check_sums(&copy);
    check_waits(&copy);
    lp_activity_snapshot_free(&copy);
    lp_activity_free(&activity);
}

int
main(void)
{
    an_empty_activity_has_an_empty_snapshot();
    each_kind_has_its_names();
    a_snapshot_does_not_change();
    calls_make_no_device_active();
    snapshots_are_taken_while_records_come();
    return check_failures;
}
