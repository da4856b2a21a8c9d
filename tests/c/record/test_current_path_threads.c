/* Open lines are read while they come and go. */
#include "record/current_path.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "check.h"
#include "random.h"
#include "record/thread_double.h"

/* A thread runs in such a way that one can tell a path that it never was on:
 * from depth to depth a callee of code d stands on line (turn + d) % LINES of
 * its caller, and the innermost may be anywhere.
 */

enum { TURNS = 10000, DROPS = 2000, READERS = 2, CALLED = CODES - 1 };

static fixture *shared;
static bool over;       /* atomic */
static uint32_t moves;  /* odd while the program moves (atomic) */
static uint32_t stands; /* on this line otherwise (atomic) */
static uint32_t looked; /* adopters that have seen it so (atomic) */
static pthread_mutex_t gil = PTHREAD_MUTEX_INITIALIZER; /* as Python has it */

static bool
was_ever(uint32_t path, bool adopted)
{
    const lp_call_path *is = lp_call_paths_at(&shared->paths, path);
    uint32_t above = is->serial, turn = LINES;

    if (path == LP_NO_PATH) {
        return true;
    }
    for (is = lp_call_paths_at(&shared->paths, is->parent); is->serial != 0;
         is = lp_call_paths_at(&shared->paths, is->parent)) {
        uint32_t offset = is->line - 100 * (is->serial - 1);
        uint32_t here = (offset + LINES - (is->serial - 1)) % LINES;

        if (is->serial != above - 1 || (turn != LINES && turn != here)) {
            return false;
        }
        above = is->serial;
        turn = here;
    }
    return above == 1 && is->line == (adopted ? 7u : 6u);
}

/* Tell the adopters that it moves, or no more; and where it stands then. */
static void
move(void)
{
    __atomic_store_n(&moves, moves + 1, __ATOMIC_SEQ_CST);
}

static void
stand(void)
{
    const lp_frame *top = shared->rec->top;
    uint32_t offset = (uint32_t)(top->line - top->lines);

    __atomic_store_n(&stands, top->first_line + offset, __ATOMIC_SEQ_CST);
    move();
}

static void
come_to(uint32_t offset)
{
    move();
    line(shared, offset);
    stand();
}

/* In and out again, to the given depth. */
static void
run_turn(uint32_t turn, uint32_t depth, uint64_t *chance)
{
    for (uint32_t d = 0; d < depth; d++) {
        move();
        enter(shared, d);
        line(shared, 0);
        stand();
        for (uint32_t i = random_below(chance, 20); i > 0; i--) {
            come_to(i % LINES);
        }
        if (random_below(chance, 4) == 0 &&
            !was_ever(lp_current_path(shared->rec, &shared->paths), false)) {
            CHECK(!"its own path is right");
        }
        if (d + 1 < depth) {
            come_to((turn + d) % LINES);
        }
        for (uint32_t i = random_below(chance, 1000); i > 0; i--) {
            __atomic_thread_fence(__ATOMIC_SEQ_CST); /* it stays a while */
        }
    }
    CHECK(is_right(shared));
    move();
    while (depth_of(shared) > 0) {
        leave(shared);
    }
}

static void *
run_program(void *arg)
{
    uint64_t chance = 17;

    (void)arg;
    for (uint32_t turn = 0;
         turn < TURNS || __atomic_load_n(&looked, __ATOMIC_ACQUIRE) < READERS;
         turn++) {
        run_turn(turn, 1 + random_below(&chance, CALLED), &chance);
        move(); /* it stands on no line */
        if (turn % 16 == 0) {
            sched_yield();
        }
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    return NULL;
}

static void *
run_adopter(void *arg)
{
    lp_adopted_path known = {0};
    uint64_t found = 0;

    (void)arg;
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        uint32_t before = __atomic_load_n(&moves, __ATOMIC_SEQ_CST);
        uint32_t there = __atomic_load_n(&stands, __ATOMIC_SEQ_CST);
        uint32_t path =
            lp_current_path_of_thread(shared->rec, &shared->paths, &known);

        if (!was_ever(path, true)) {
            CHECK(!"it was on that path");
            __atomic_fetch_add(&looked, READERS, __ATOMIC_RELEASE);
            break;
        }
        if (before % 2 == 0 && path != LP_NO_PATH &&
            before == __atomic_load_n(&moves, __ATOMIC_SEQ_CST)) {
            /* What was seen while it came there must not stand for it. */
            CHECK(lp_call_paths_at(&shared->paths, path)->line == there);
            if (++found == 10) {
                __atomic_fetch_add(&looked, 1, __ATOMIC_RELEASE);
            }
        }
        (void)lp_current_path_any(shared->rec);
    }
    return NULL;
}

static void
others_read_while_lines_come_and_go(void)
{
    pthread_t program, readers[READERS];

    over = false;
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

/* -- a launch needs no interpreter's lock -----------------------------------
 *
 * Meanwhile another thread, which holds it, takes frames off.
 */

static void *
run_dropper(void *arg)
{
    uint64_t chance = 23;

    (void)arg;
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
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

    over = false;
    shared = set_up();
    pthread_create(&dropper, NULL, run_dropper, NULL);
    for (int turn = 0; turn < DROPS; turn++) {
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
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    pthread_join(dropper, NULL);
    tear_down(shared);
}

int
main(void)
{
    others_read_while_lines_come_and_go();
    frames_are_dropped_while_their_thread_launches();
    return check_failures;
}
