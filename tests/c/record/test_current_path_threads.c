/* Open lines read by other threads while they change. */
#include "record/current_path.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "check.h"
#include "random.h"
#include "record/thread_double.h"

/* The lines of the thread are chosen so that a path on which it never was can
 * be recognised: at each depth the callee of code d is called from line (round
 * + d) % LINES of its caller, and the innermost frame may be on any line. */

enum { ROUNDS = 10000, DROPS = 2000, READERS = 2, CALLED = CODES - 1 };

static fixture *shared;
static bool finished;     /* atomic */
static uint32_t changing; /* odd while the program changes lines (atomic) */
static uint32_t current_line; /* its line otherwise (atomic) */
static uint32_t
    readers_done; /* adopters that have read enough paths (atomic) */
static pthread_mutex_t gil =
    PTHREAD_MUTEX_INITIALIZER; /* like the one of Python */

static bool
was_ever(uint32_t path, bool adopted)
{
    const lp_call_path *is = lp_call_paths_at(&shared->paths, path);
    uint32_t above = is->serial, round = LINES;

    if (path == LP_NO_PATH) {
        return true;
    }
    for (is = lp_call_paths_at(&shared->paths, is->parent); is->serial != 0;
         is = lp_call_paths_at(&shared->paths, is->parent)) {
        uint32_t offset = is->line - 100 * (is->serial - 1);
        uint32_t here = (offset + LINES - (is->serial - 1)) % LINES;

        if (is->serial != above - 1 || (round != LINES && round != here)) {
            return false;
        }
        above = is->serial;
        round = here;
    }
    return above == 1 && is->line == (adopted ? 7u : 6u);
}

/* Publish for the adopters that the line is changing, or that it no longer is
 * and which line it is. */
static void
toggle_changing(void)
{
    __atomic_store_n(&changing, changing + 1, __ATOMIC_SEQ_CST);
}

static void
publish_line(void)
{
    const lp_frame *top = shared->rec->top;
    uint32_t offset = (uint32_t)(top->line - top->lines);

    __atomic_store_n(&current_line, top->first_line + offset,
                     __ATOMIC_SEQ_CST);
    toggle_changing();
}

static void
go_to_line(uint32_t offset)
{
    toggle_changing();
    line(shared, offset);
    publish_line();
}

/* Enters frames to the given depth, and leaves them. */
static void
run_round(uint32_t round, uint32_t depth, uint64_t *chance)
{
    for (uint32_t d = 0; d < depth; d++) {
        toggle_changing();
        enter(shared, d);
        line(shared, 0);
        publish_line();
        for (uint32_t i = random_below(chance, 20); i > 0; i--) {
            go_to_line(i % LINES);
        }
        if (random_below(chance, 4) == 0 &&
            !was_ever(lp_current_path(shared->rec, &shared->paths), false)) {
            CHECK(!"its own path is right");
        }
        if (d + 1 < depth) {
            go_to_line((round + d) % LINES);
        }
        for (uint32_t i = random_below(chance, 1000); i > 0; i--) {
            /* spend some time on the line */
            __atomic_thread_fence(__ATOMIC_SEQ_CST);
        }
    }
    CHECK(is_right(shared));
    toggle_changing();
    while (depth_of(shared) > 0) {
        leave(shared);
    }
}

static void *
run_program(void *arg)
{
    uint64_t chance = 17;

    (void)arg;
    for (uint32_t round = 0;
         round < ROUNDS ||
         __atomic_load_n(&readers_done, __ATOMIC_ACQUIRE) < READERS;
         round++) {
        run_round(round, 1 + random_below(&chance, CALLED), &chance);
        toggle_changing(); /* no line is open */
        if (round % 16 == 0) {
            sched_yield();
        }
    }
    __atomic_store_n(&finished, true, __ATOMIC_RELEASE);
    return NULL;
}

static void *
run_adopter(void *arg)
{
    lp_adopted_path known = {0};
    uint64_t found = 0;

    (void)arg;
    while (!__atomic_load_n(&finished, __ATOMIC_ACQUIRE)) {
        uint32_t before = __atomic_load_n(&changing, __ATOMIC_SEQ_CST);
        uint32_t there = __atomic_load_n(&current_line, __ATOMIC_SEQ_CST);
        uint32_t path =
            lp_current_path_of_thread(shared->rec, &shared->paths, &known);

        if (!was_ever(path, true)) {
            CHECK(!"it was on that path");
            __atomic_fetch_add(&readers_done, READERS, __ATOMIC_RELEASE);
            break;
        }
        if (before % 2 == 0 && path != LP_NO_PATH &&
            before == __atomic_load_n(&changing, __ATOMIC_SEQ_CST)) {
            /* A path read during a change must not count as the new one. */
            CHECK(lp_call_paths_at(&shared->paths, path)->line == there);
            if (++found == 10) {
                __atomic_fetch_add(&readers_done, 1, __ATOMIC_RELEASE);
            }
        }
        (void)lp_current_path_any(shared->rec);
    }
    return NULL;
}

static void
other_threads_read_while_lines_change(void)
{
    pthread_t program, readers[READERS];

    finished = false;
    shared = set_up();
    for (int i = 0; i < READERS; i++) {
        pthread_create(&readers[i], NULL, run_adopter, NULL);
    }
    pthread_create(&program, NULL, run_program, NULL);
    pthread_join(program, NULL);
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
    }
    tear_down(shared);
}

/* -- a launch needs no GIL --------------------------------------------------
 *
 * Meanwhile another thread, which holds the GIL, drops frames.
 */

static void *
run_dropper(void *arg)
{
    uint64_t chance = 23;

    (void)arg;
    while (!__atomic_load_n(&finished, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&gil);
        lp_recorder_drop(shared->rec, &owners[random_below(&chance, 2)], 0);
        pthread_mutex_unlock(&gil);
        sched_yield();
    }
    return NULL;
}

static void
frames_are_dropped_while_their_thread_launches(void)
{
    pthread_t dropper;
    uint64_t chance = 29;

    finished = false;
    shared = set_up();
    pthread_create(&dropper, NULL, run_dropper, NULL);
    for (int round = 0; round < DROPS; round++) {
        pthread_mutex_lock(&gil);
        for (int i = 0; i < 30; i++) {
            enter(shared, random_below(&chance, CODES));
            line(shared, random_below(&chance, LINES));
        }
        pthread_mutex_unlock(&gil);
        for (int i = 0; i < 5; i++) {
            lp_current_path(shared->rec, &shared->paths);
        }
        pthread_mutex_lock(&gil);
        if (!is_right(shared)) {
            CHECK(!"nothing wrong is remembered");
        }
        while (depth_of(shared) > 0) {
            leave(shared);
        }
        pthread_mutex_unlock(&gil);
    }
    __atomic_store_n(&finished, true, __ATOMIC_RELEASE);
    pthread_join(dropper, NULL);
    tear_down(shared);
}

int
main(void)
{
    other_threads_read_while_lines_change();
    frames_are_dropped_while_their_thread_launches();
    return check_failures;
}
