/* The path of open lines, compared with a walk over all frames. */
#include "record/current_path.h"

#include <stdlib.h>

#include "check.h"
#include "random.h"
#include "record/thread_double.h"

static void
no_open_line_is_no_path(void)
{
    fixture *made = set_up();
    lp_adopted_path known = {0};

    CHECK(!lp_current_path_any(made->rec));
    CHECK(lp_current_path(made->rec, &made->paths) == LP_NO_PATH);
    CHECK(adopt(made, &known) == LP_NO_PATH);
    CHECK(adopt(made, &known) == LP_NO_PATH);
    enter(made, 0); /* has not come to a line */
    CHECK(lp_current_path_any(made->rec));
    CHECK(lp_current_path(made->rec, &made->paths) == LP_NO_PATH);
    CHECK(adopt(made, &known) == LP_NO_PATH);
    line(made, 0);
    CHECK(lp_current_path(made->rec, &made->paths) != LP_NO_PATH);
    CHECK(adopt(made, &known) != LP_NO_PATH);
    leave(made);
    CHECK(lp_current_path(made->rec, &made->paths) == LP_NO_PATH);
    CHECK(adopt(made, &known) == LP_NO_PATH);
    tear_down(made);
}

static void
a_path_goes_from_the_outermost_line_to_the_innermost(void)
{
    fixture *made = set_up();
    const lp_call_path *path;

    enter(made, 0);
    line(made, 4);
    enter(made, 1);
    line(made, 7);
    enter(made, 2); /* has not come to a line */
    path = lp_call_paths_at(&made->paths,
                            lp_current_path(made->rec, &made->paths));
    CHECK(path->serial == 2 && path->line == 107);
    path = lp_call_paths_at(&made->paths, path->parent);
    CHECK(path->serial == 1 && path->line == 4);
    path = lp_call_paths_at(&made->paths, path->parent);
    CHECK(path->serial == 0 && path->line == 6 && path->parent == 0);
    tear_down(made);
}

static void
recursion_has_a_path_for_each_depth(void)
{
    fixture *made = set_up();
    uint32_t paths[5];

    for (int i = 0; i < 5; i++) {
        enter(made, 0);
        line(made, 4);
        paths[i] = lp_current_path(made->rec, &made->paths);
        CHECK(i == 0 || lp_call_paths_at(&made->paths, paths[i])->parent ==
                            paths[i - 1]);
    }
    for (int i = 4; i > 0; i--) {
        leave(made);
        CHECK(lp_current_path(made->rec, &made->paths) == paths[i - 1]);
    }
    tear_down(made);
}

static void
an_equal_stack_has_the_same_path_again(void)
{
    fixture *made = set_up();
    uint32_t first = 0, n = 0;

    for (int i = 0; i < 3; i++) {
        enter(made, 0);
        line(made, 1);
        line(made, 4);
        enter(made, 1);
        line(made, 7);
        first = i == 0 ? lp_current_path(made->rec, &made->paths) : first;
        n = i == 0 ? made->paths.n : n;
        CHECK(lp_current_path(made->rec, &made->paths) == first);
        leave(made);
        leave(made);
    }
    CHECK(made->paths.n == n);
    tear_down(made);
}

static void
a_callee_of_another_line_is_on_another_path(void)
{
    fixture *made = set_up();

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

/* With greenlets, a frame below others comes to another line. */
static void
a_line_below_may_change_with_greenlets(void)
{
    fixture *made = set_up();
    lp_adopted_path known = {0};

    for (uint32_t i = 0; i < 3; i++) {
        enter(made, i);
        line(made, 4);
        made->rec->top->flags |= LP_FRAME_GREENLET;
    }
    CHECK(is_right(made));
    CHECK(adopt(made, &known) == walked(made, true, ENDS));
    lp_recorder_line(made->rec, made->rec->frames + 1, 5, 0, LP_LINE_FORWARD);
    CHECK(is_right(made));
    CHECK(adopt(made, &known) == walked(made, true, ENDS));
    lp_recorder_leave(made->rec, made->rec->frames + 2, false, 0);
    CHECK(is_right(made));
    CHECK(adopt(made, &known) == walked(made, true, ENDS));
    tear_down(made);
}

static void
frames_that_are_dropped_leave_the_path(void)
{
    fixture *made = set_up();
    lp_adopted_path known = {0};
    uint32_t before;

    enter(made, 1);
    line(made, 4);
    enter(made, 0); /* owner 0 */
    line(made, 4);
    enter(made, 1);
    line(made, 4);
    before = lp_current_path(made->rec, &made->paths);
    adopt(made, &known);
    lp_recorder_drop(made->rec, &owners[0], 0);
    CHECK(depth_of(made) == 2 && is_right(made));
    CHECK(lp_current_path(made->rec, &made->paths) != before);
    CHECK(adopt(made, &known) == walked(made, true, ENDS));
    lp_recorder_drop(made->rec, &owners[1], 0);
    CHECK(lp_current_path(made->rec, &made->paths) == LP_NO_PATH);
    CHECK(adopt(made, &known) == LP_NO_PATH);
    tear_down(made);
}

static void
other_threads_read_both_ends_of_deep_stacks(void)
{
    static const size_t depths[] = {255, 256, 257,  511,  512,
                                    513, 514, 1000, 5000, 20000};
    fixture *made = set_up();
    lp_adopted_path known = {0};

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
a_cached_path_is_of_one_thread(void)
{
    fixture *one = set_up(), *two = set_up();
    lp_adopted_path known = {0};
    uint32_t path;

    enter(one, 0);
    line(one, 4);
    enter(two, 1);
    line(two, 4);
    path = lp_current_path_of_thread(one->rec, &one->paths, &known);
    CHECK(lp_call_paths_at(&one->paths, path)->serial == 1);
    path = lp_current_path_of_thread(two->rec, &one->paths, &known);
    CHECK(lp_call_paths_at(&one->paths, path)->serial == 2);
    tear_down(one);
    tear_down(two);
}

/* -- random events, with launches in between --------------------------------
 */

static void
any_event(fixture *made)
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
    else if (what < 70 && depth < 600) { /* a resumed frame */
        uint32_t code = random_below(&made->chance, CODES);

        enter(made, code);
        lp_recorder_open(made->rec, made->rec->top,
                         made->counters[code]->lines +
                             random_below(&made->chance, LINES),
                         0);
    }
    else if (what < 90 && depth > 0) {
        leave(made);
    }
    else if (what < 97 && depth > 0) { /* out of order */
        frame = made->rec->frames + 1 +
                random_below(&made->chance, (uint32_t)depth);
        lp_recorder_leave(made->rec, frame, false, 0);
    }
    else if (what == 99 && random_below(&made->chance, 20) == 0) {
        lp_recorder_drop(made->rec, &owners[what % 2], 0);
    }
}

static void
any_events_give_the_path_of_a_walk(void)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        fixture *made = set_up();
        lp_adopted_path known = {0};

        made->chance = seed;
        for (int i = 0; i < 50000; i++) {
            any_event(made);
            /* Not at each event, so that cached paths become old. */
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

int
main(void)
{
    no_open_line_is_no_path();
    a_path_goes_from_the_outermost_line_to_the_innermost();
    recursion_has_a_path_for_each_depth();
    an_equal_stack_has_the_same_path_again();
    a_callee_of_another_line_is_on_another_path();
    a_line_below_may_change_with_greenlets();
    frames_that_are_dropped_leave_the_path();
    other_threads_read_both_ends_of_deep_stacks();
    a_cached_path_is_of_one_thread();
    any_events_give_the_path_of_a_walk();
    return check_failures;
}
