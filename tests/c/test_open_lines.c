/* From open lines to their path: beside a walk over all frames, and read from
 * other threads while they come and go. */
#include "lp_open_lines.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "check.h"
#include "random.h"

enum { CODES = 8, LINES = 10, ENDS = 256 };

static char codes[CODES], owners[2];

typedef struct room {
    lp_blocks blocks;
    lp_recorder *rec;
    lp_counts *counts[CODES]; /* code i: serial i + 1, lines from 100 * i */
    lp_paths paths;
    uint64_t chance;
} room;

static lp_ticks
never(void)
{
    return 0;
}

static room *
set_up(void)
{
    room *made = calloc(1, sizeof(*made));
    lp_costs costs = {0};
    lp_clock clock;

    lp_clock_give(&clock, never);
    lp_blocks_init(&made->blocks);
    made->rec = lp_recorder_new(&clock, &costs);
    made->rec->number = 3;
    for (uint32_t i = 0; i < CODES; i++) {
        lp_layout layout = {.code_id = i,
                            .serial = i + 1,
                            .first_line = 100 * i,
                            .n_lines = LINES};

        made->counts[i] =
            lp_recorder_counts(made->rec, &made->blocks, &layout);
    }
    lp_paths_init(&made->paths);
    return made;
}

static void
tear_down(room *made)
{
    lp_recorder_free(made->rec);
    lp_blocks_free(&made->blocks);
    lp_paths_free(&made->paths);
    free(made);
}

static void
enter(room *made, uint32_t code)
{
    lp_frame *frame = lp_recorder_enter(made->rec, &codes[code],
                                        made->counts[code], 100 * code);

    frame->owner = &owners[code % 2];
}

static void
line(room *made, uint32_t offset)
{
    lp_recorder_line(made->rec, made->rec->top, offset, 0, LP_STEP);
}

static void
leave(room *made)
{
    lp_recorder_leave(made->rec, made->rec->top, 0);
}

static size_t
depth_of(const room *made)
{
    return (size_t)(made->rec->top - made->rec->frames);
}

/* The path by a walk over all frames, or over both ends of a deep stack. */
static uint32_t
walked(room *made, bool adopted, size_t ends)
{
    uint32_t path = lp_paths_root(&made->paths, 3, adopted);
    size_t depth = depth_of(made);
    bool any = false;

    for (size_t i = 1; i <= depth; i++) {
        const lp_frame *frame = made->rec->frames + i;

        if (frame->line == NULL || (i > ends && i <= depth - ends)) {
            continue;
        }
        path = lp_paths_child(&made->paths, path, frame->serial,
                              frame->first_line +
                                  (uint32_t)(frame->line - frame->lines));
        any = true;
    }
    return any ? path : LP_NO_PATH;
}

static bool
is_right(room *made)
{
    return lp_open_lines_path(made->rec, &made->paths) ==
           walked(made, false, SIZE_MAX / 2);
}

static uint32_t
adopt(room *made, lp_other_lines *known)
{
    return lp_open_lines_of_other(made->rec, &made->paths, known);
}

static void
no_open_line_is_no_path(void)
{
    room *made = set_up();
    lp_other_lines known = {0};

    CHECK(!lp_open_lines_any(made->rec));
    CHECK(lp_open_lines_path(made->rec, &made->paths) == LP_NO_PATH);
    CHECK(adopt(made, &known) == LP_NO_PATH);
    CHECK(adopt(made, &known) == LP_NO_PATH);
    enter(made, 0); /* it has not come to a line */
    CHECK(lp_open_lines_any(made->rec));
    CHECK(lp_open_lines_path(made->rec, &made->paths) == LP_NO_PATH);
    CHECK(adopt(made, &known) == LP_NO_PATH);
    line(made, 0);
    CHECK(lp_open_lines_path(made->rec, &made->paths) != LP_NO_PATH);
    CHECK(adopt(made, &known) != LP_NO_PATH);
    leave(made);
    CHECK(lp_open_lines_path(made->rec, &made->paths) == LP_NO_PATH);
    CHECK(adopt(made, &known) == LP_NO_PATH);
    tear_down(made);
}

static void
a_path_goes_from_the_outermost_line_to_the_innermost(void)
{
    room *made = set_up();
    const lp_path *path;

    enter(made, 0);
    line(made, 4);
    enter(made, 1);
    line(made, 7);
    enter(made, 2); /* which has not come to a line */
    path = lp_paths_at(&made->paths,
                       lp_open_lines_path(made->rec, &made->paths));
    CHECK(path->serial == 2 && path->line == 107);
    path = lp_paths_at(&made->paths, path->parent);
    CHECK(path->serial == 1 && path->line == 4);
    path = lp_paths_at(&made->paths, path->parent);
    CHECK(path->serial == 0 && path->line == 6 && path->parent == 0);
    tear_down(made);
}

static void
recursion_has_a_path_for_each_depth(void)
{
    room *made = set_up();
    uint32_t paths[5];

    for (int i = 0; i < 5; i++) {
        enter(made, 0);
        line(made, 4);
        paths[i] = lp_open_lines_path(made->rec, &made->paths);
        CHECK(i == 0 || lp_paths_at(&made->paths, paths[i])->parent ==
                            paths[i - 1]);
    }
    for (int i = 4; i > 0; i--) {
        leave(made);
        CHECK(lp_open_lines_path(made->rec, &made->paths) == paths[i - 1]);
    }
    tear_down(made);
}

static void
an_equal_stack_has_the_same_path_again(void)
{
    room *made = set_up();
    uint32_t first = 0, n = 0;

    for (int i = 0; i < 3; i++) {
        enter(made, 0);
        line(made, 1);
        line(made, 4);
        enter(made, 1);
        line(made, 7);
        first =
            i == 0 ? lp_open_lines_path(made->rec, &made->paths) : first;
        n = i == 0 ? made->paths.n : n;
        CHECK(lp_open_lines_path(made->rec, &made->paths) == first);
        leave(made);
        leave(made);
    }
    CHECK(made->paths.n == n);
    tear_down(made);
}

static void
a_callee_of_another_line_is_on_another_path(void)
{
    room *made = set_up();

    enter(made, 0);
    for (uint32_t i = 0; i < 3; i++) {
        line(made, i);
        enter(made, 1);
        line(made, 7);
        CHECK(is_right(made));
        leave(made);
    }
    tear_down(made);
}

/* Where frames take turns, one below others comes to another line. */
static void
a_line_below_may_change_where_frames_take_turns(void)
{
    room *made = set_up();
    lp_other_lines known = {0};

    for (uint32_t i = 0; i < 3; i++) {
        enter(made, i);
        line(made, 4);
        made->rec->top->flags |= LP_FRAME_STRICT;
    }
    CHECK(is_right(made));
    CHECK(adopt(made, &known) == walked(made, true, ENDS));
    lp_recorder_line(made->rec, made->rec->frames + 1, 5, 0, LP_STEP);
    CHECK(is_right(made));
    CHECK(adopt(made, &known) == walked(made, true, ENDS));
    lp_recorder_leave(made->rec, made->rec->frames + 2, 0);
    CHECK(is_right(made));
    CHECK(adopt(made, &known) == walked(made, true, ENDS));
    tear_down(made);
}

static void
frames_that_are_dropped_leave_the_path(void)
{
    room *made = set_up();
    lp_other_lines known = {0};
    uint32_t before;

    enter(made, 1);
    line(made, 4);
    enter(made, 0); /* owner 0 */
    line(made, 4);
    enter(made, 1);
    line(made, 4);
    before = lp_open_lines_path(made->rec, &made->paths);
    adopt(made, &known);
    lp_recorder_drop(made->rec, &owners[0], 0);
    CHECK(depth_of(made) == 2 && is_right(made));
    CHECK(lp_open_lines_path(made->rec, &made->paths) != before);
    CHECK(adopt(made, &known) == walked(made, true, ENDS));
    lp_recorder_drop(made->rec, &owners[1], 0);
    CHECK(lp_open_lines_path(made->rec, &made->paths) == LP_NO_PATH);
    CHECK(adopt(made, &known) == LP_NO_PATH);
    tear_down(made);
}

static void
deep_stacks_are_seen_at_both_ends_by_others(void)
{
    static const size_t depths[] = {255, 256,  257,  511,  512,
                                    513, 514, 1000, 5000, 20000};
    room *made = set_up();
    lp_other_lines known = {0};

    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        while (depth_of(made) < depths[i]) {
            size_t depth = depth_of(made);

            enter(made, (uint32_t)depth % CODES);
            line(made, (uint32_t)(depth / CODES) % LINES);
        }
        CHECK(is_right(made));
        CHECK(adopt(made, &known) == walked(made, true, ENDS));
    }
    for (size_t i = sizeof(depths) / sizeof(depths[0]); i-- > 0;) {
        while (depth_of(made) > depths[i]) {
            leave(made);
        }
        CHECK(is_right(made));
        CHECK(adopt(made, &known) == walked(made, true, ENDS));
    }
    tear_down(made);
}

static void
what_is_known_is_of_one_thread(void)
{
    room *one = set_up(), *two = set_up();
    lp_other_lines known = {0};
    uint32_t path;

    enter(one, 0);
    line(one, 4);
    enter(two, 1);
    line(two, 4);
    path = lp_open_lines_of_other(one->rec, &one->paths, &known);
    CHECK(lp_paths_at(&one->paths, path)->serial == 1);
    path = lp_open_lines_of_other(two->rec, &one->paths, &known);
    CHECK(lp_paths_at(&one->paths, path)->serial == 2);
    tear_down(one);
    tear_down(two);
}

/* -- any events, and at any moment a launch ---------------------------------
 */

static void
any_event(room *made)
{
    size_t depth = depth_of(made);
    uint32_t what = random_below(&made->chance, 100);
    lp_frame *frame;

    if (what < 40 && depth > 0) {
        line(made, random_below(&made->chance, LINES));
    }
    else if (what < 65 && depth < 600) {
        enter(made, random_below(&made->chance, CODES));
    }
    else if (what < 70 && depth < 600) { /* one that is resumed */
        uint32_t code = random_below(&made->chance, CODES);

        enter(made, code);
        lp_recorder_open(made->rec, made->rec->top,
                         made->counts[code]->lines +
                             random_below(&made->chance, LINES),
                         0);
    }
    else if (what < 90 && depth > 0) {
        leave(made);
    }
    else if (what < 97 && depth > 0) { /* out of order */
        frame = made->rec->frames + 1 +
                random_below(&made->chance, (uint32_t)depth);
        lp_recorder_leave(made->rec, frame, 0);
    }
    else if (what == 99 && random_below(&made->chance, 20) == 0) {
        lp_recorder_drop(made->rec, &owners[what % 2], 0);
    }
}

static void
any_events_give_the_path_of_a_walk(void)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        room *made = set_up();
        lp_other_lines known = {0};

        made->chance = seed;
        for (int i = 0; i < 50000; i++) {
            any_event(made);
            /* Not at each, so that what is remembered gets old. */
            if (random_below(&made->chance, 3) == 0 && !is_right(made)) {
                CHECK(!"the path is right");
                break;
            }
            if (random_below(&made->chance, 3) == 0 &&
                adopt(made, &known) != walked(made, true, ENDS)) {
                CHECK(!"so is that which is adopted");
                break;
            }
        }
        tear_down(made);
    }
}

/* -- threads ----------------------------------------------------------------
 *
 * A thread runs in such a way that one can tell a path that it never was on:
 * from depth to depth a callee of code d stands on line (turn + d) % LINES of
 * its caller, and the innermost may be anywhere.
 */

enum { TURNS = 10000, DROPS = 2000, READERS = 2, CALLED = CODES - 1 };

static room *shared;
static bool over;      /* atomic */
static uint32_t moves; /* odd while the program moves (atomic) */
static uint32_t stands; /* on this line otherwise (atomic) */
static pthread_mutex_t gil = PTHREAD_MUTEX_INITIALIZER; /* as Python has it */

static bool
was_ever(uint32_t path, bool adopted)
{
    const lp_path *is = lp_paths_at(&shared->paths, path);
    uint32_t above = is->serial, turn = LINES;

    if (path == LP_NO_PATH) {
        return true;
    }
    for (is = lp_paths_at(&shared->paths, is->parent); is->serial != 0;
         is = lp_paths_at(&shared->paths, is->parent)) {
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

/* Tell the adopters that it moves, and where it stands afterwards. */
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
    __atomic_store_n(&moves, moves + 1, __ATOMIC_SEQ_CST);
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
            !was_ever(lp_open_lines_path(shared->rec, &shared->paths),
                      false)) {
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
    move(); /* for long: nobody asks where it stands */
    while (depth_of(shared) > 0) {
        leave(shared);
    }
}

static void *
run_program(void *arg)
{
    uint64_t chance = 17;

    (void)arg;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        run_turn(turn, 1 + random_below(&chance, CALLED), &chance);
        __atomic_store_n(&moves, moves + 1, __ATOMIC_SEQ_CST);
        move();
        if (turn % 16 == 0) {
            sched_yield();
        }
        __atomic_store_n(&moves, moves + 1, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    return NULL;
}

static void *
run_adopter(void *arg)
{
    lp_other_lines known = {0};
    uint64_t *found = arg;

    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        uint32_t before = __atomic_load_n(&moves, __ATOMIC_SEQ_CST);
        uint32_t there = __atomic_load_n(&stands, __ATOMIC_SEQ_CST);
        uint32_t path =
            lp_open_lines_of_other(shared->rec, &shared->paths, &known);

        if (!was_ever(path, true)) {
            CHECK(!"it was on that path");
            break;
        }
        if (before % 2 == 0 && path != LP_NO_PATH &&
            before == __atomic_load_n(&moves, __ATOMIC_SEQ_CST)) {
            /* What was seen while it came there must not stand for it. */
            CHECK(lp_paths_at(&shared->paths, path)->line == there);
            ++*found;
        }
        (void)lp_open_lines_any(shared->rec);
    }
    return NULL;
}

static void
others_read_while_lines_come_and_go(void)
{
    pthread_t program, readers[READERS];
    uint64_t found[READERS] = {0};

    over = false;
    shared = set_up();
    for (int i = 0; i < READERS; i++) {
        pthread_create(&readers[i], NULL, run_adopter, &found[i]);
    }
    pthread_create(&program, NULL, run_program, NULL);
    pthread_join(program, NULL);
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
        CHECK(found[i] > 0);
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
            lp_open_lines_path(shared->rec, &shared->paths);
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
    no_open_line_is_no_path();
    a_path_goes_from_the_outermost_line_to_the_innermost();
    recursion_has_a_path_for_each_depth();
    an_equal_stack_has_the_same_path_again();
    a_callee_of_another_line_is_on_another_path();
    a_line_below_may_change_where_frames_take_turns();
    frames_that_are_dropped_leave_the_path();
    deep_stacks_are_seen_at_both_ends_by_others();
    what_is_known_is_of_one_thread();
    any_events_give_the_path_of_a_walk();
    others_read_while_lines_come_and_go();
    frames_are_dropped_while_their_thread_launches();
    return check_failures;
}
