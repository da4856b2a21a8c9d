/* The ranges of a thread, with a double of lp_gpu_nvtx as the tool. */
#include "gpu/nvtx_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "gpu/nvtx.h"

static char code_a, code_b, owner_a, owner_b;
static lp_ticks now;

/* -- the tool --------------------------------------------------------------
 */

static const char *pushed[64]; /* open ranges, */
static int n_pushed;
static char received[512]; /* and all calls: names, and ) for a pop */
static uint64_t last_payload;

bool
lp_gpu_nvtx_open(void)
{
    return true;
}

const char *
lp_gpu_nvtx_why_not(void)
{
    return "";
}

const void *
lp_gpu_nvtx_register_string(const char *text)
{
    return text;
}

void
lp_gpu_nvtx_name_category(uint32_t category, const char *name)
{
    (void)category;
    (void)name;
}

void
lp_gpu_nvtx_push(const void *text, uint64_t payload, uint32_t category,
                 uint32_t color)
{
    (void)color;
    CHECK(n_pushed < 64);
    CHECK(payload / LP_PAYLOAD_LINES == category);
    CHECK(color == 0xFF000000u + category);
    pushed[n_pushed++] = text != NULL ? text : "?";
    strcat(strcat(received, " "), pushed[n_pushed - 1]);
    last_payload = payload;
    now += 7; /* the time that the tool takes */
}

void
lp_gpu_nvtx_pop(void)
{
    CHECK(n_pushed > 0);
    n_pushed--;
    strcat(received, " )");
    now += 7;
}

static bool
is_open(const char *names)
{
    char text[512] = "";

    for (int i = 0; i < n_pushed; i++) {
        strcat(strcat(text, i == 0 ? "" : " "), pushed[i]);
    }
    return strcmp(text, names) == 0;
}

/* True if the tool got these calls since the last check. */
static bool
has_received(const char *events)
{
    bool same = strcmp(received, events) == 0;

    if (!same) {
        fprintf(stderr, "received:%s\n", received);
    }
    received[0] = 0;
    return same;
}

/* -- the thread ------------------------------------------------------------
 */

typedef struct fixture {
    lp_arena arena;
    lp_recorder *rec;
    lp_code_counters *a; /* serial 1, 10 lines from line 1 */
    lp_code_counters *b; /* serial 2, 10 lines from line 101 */
    lp_labels *labels_a, *labels_b;
    lp_range_mode mode;
} fixture;

static lp_ticks
read_clock(void)
{
    return now;
}

static lp_labels *
label(const lp_layout *layout, const char *function,
      const char *const names[10])
{
    lp_labels *labels = lp_labels_new(layout);

    labels->function = function;
    labels->color = 0xFF000000u + layout->serial;
    for (int i = 0; i < 10; i++) {
        labels->lines[i] = names[i];
    }
    return labels;
}

static fixture
set_up(lp_range_mode mode)
{
    static const char *const names_a[10] = {"a0", "a1", "a2", "a3", "a4"};
    static const char *const names_b[10] = {"b0", "b1", "b2", "b3", "b4"};
    lp_layout a = {.code_id = 0, .serial = 1, .first_line = 1, .n_lines = 10};
    lp_layout b = {
        .code_id = 1, .serial = 2, .first_line = 101, .n_lines = 10};
    lp_costs costs = {0};
    lp_clock clock;
    fixture made = {.mode = mode};

    lp_clock_set_source(&clock, read_clock);
    lp_arena_init(&made.arena, LP_BLOCK_COUNTERS, false);
    made.rec = lp_recorder_new(&clock, &costs);
    made.a = lp_recorder_counters(made.rec, &made.arena, &a);
    made.b = lp_recorder_counters(made.rec, &made.arena, &b);
    made.labels_a = label(&a, "A", names_a);
    made.labels_b = label(&b, "B", names_b);
    n_pushed = 0;
    received[0] = 0;
    return made;
}

static void
tear_down(fixture *made)
{
    CHECK(n_pushed == 0);
    CHECK(!lp_ranges_any(made->rec));
    lp_recorder_free(made->rec);
    lp_arena_free(&made->arena);
    free(made->labels_a);
    free(made->labels_b);
}

static lp_frame *
enter(fixture *made, char name, uint32_t flags)
{
    bool is_a = name == 'a';
    lp_frame *frame =
        lp_recorder_enter(made->rec, is_a ? &code_a : &code_b,
                          is_a ? made->a : made->b, is_a ? 1 : 101);

    frame->owner = is_a ? &owner_a : &owner_b;
    frame->flags |= flags;
    lp_ranges_assign(frame, is_a ? made->labels_a : made->labels_b,
                     made->mode);
    lp_ranges_sync(made->rec);
    return frame;
}

/* The frame at this index comes to a line. */
static void
line(fixture *made, int place, uint32_t offset)
{
    lp_frame *frame = made->rec->frames + place;

    lp_recorder_line(made->rec, frame, offset, now, LP_LINE_FORWARD);
    if (frame->flags & (LP_FRAME_LINES | LP_FRAME_RANGES_STALE)) {
        frame->flags &= ~(uint32_t)LP_FRAME_RANGES_STALE;
        lp_ranges_line(made->rec, frame);
    }
}

static void
leave(fixture *made, int place)
{
    lp_ranges_remove(made->rec, made->rec->frames + place);
    lp_recorder_leave(made->rec, made->rec->frames + place, false, now);
    lp_ranges_sync(made->rec);
}

static void
drop(fixture *made, const void *owner, bool here)
{
    lp_ranges_remove_owner(made->rec, owner);
    lp_recorder_drop(made->rec, owner, now);
    if (here) {
        lp_ranges_sync(made->rec);
    }
    else {
        lp_ranges_mark_stale(made->rec);
    }
}

/* -- the tests -------------------------------------------------------------
 */

static void
line_ranges_alternate_inside_their_function(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', 0);
    CHECK(last_payload == 1000001);
    line(&made, 1, 2);
    CHECK(last_payload == 1000003 && is_open("A a2"));
    line(&made, 1, 2);
    enter(&made, 'b', 0);
    line(&made, 2, 4);
    CHECK(last_payload == 2000105 && is_open("A a2 B b4"));
    leave(&made, 2);
    line(&made, 1, 3);
    leave(&made, 1);
    CHECK(has_received(" A a2 ) a2 B b4 ) ) ) a3 ) )"));
    tear_down(&made);
}

static void
functions_alone_leave_lines_on_the_fast_path(void)
{
    fixture made = set_up(LP_RANGES_FUNCTIONS);

    CHECK(!(enter(&made, 'a', 0)->flags & LP_FRAME_SLOW));
    line(&made, 1, 2);
    enter(&made, 'b', 0);
    leave(&made, 2);
    leave(&made, 1);
    CHECK(has_received(" A B ) )"));
    tear_down(&made);
}

static void
without_a_tool_nothing_is_recorded(void)
{
    fixture made = set_up(LP_RANGES_OFF);

    CHECK(!(enter(&made, 'a', 0)->flags & (LP_FRAME_RANGED | LP_FRAME_SLOW)));
    line(&made, 1, 2);
    leave(&made, 1);
    CHECK(has_received(""));
    tear_down(&made);
}

static void
a_line_without_a_label_is_also_a_range(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', 0);
    line(&made, 1, 7);
    CHECK(is_open("A ?") && last_payload == 1000008);
    leave(&made, 1);
    tear_down(&made);
}

static void
frames_switched_by_greenlets_stay_nested(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', LP_FRAME_GREENLET);
    line(&made, 1, 1);
    enter(&made, 'b', LP_FRAME_GREENLET);
    line(&made, 2, 1);
    CHECK(has_received(" A a1 B b1"));
    line(&made, 1, 2); /* of the lower frame */
    CHECK(has_received(" ) ) ) a2 B b1") && is_open("A a2 B b1"));
    leave(&made, 1);
    CHECK(has_received(" ) ) ) ) B b1") && is_open("B b1"));
    line(&made, 1, 2);
    leave(&made, 1);
    tear_down(&made);
}

static void
shared_frames_are_one_range(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', 0);
    enter(&made, 'b', LP_FRAME_SHARED);
    CHECK(has_received(" A"));
    lp_recorder_line(made.rec, made.rec->top, 3, now, LP_LINE_FORWARD);
    line(&made, 1, 3);
    CHECK(has_received(" a3"));
    line(&made, 1, 4);
    CHECK(has_received(" ) a4"));
    /* The frame with the range is dropped: the other one gets it. */
    drop(&made, &owner_a, true);
    CHECK(has_received(" ) ) B b3"));
    leave(&made, 1);
    tear_down(&made);
}

static void
dropping_the_other_shared_frame_changes_no_range(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', 0);
    enter(&made, 'b', LP_FRAME_SHARED);
    line(&made, 1, 3);
    enter(&made, 'a', 0);
    drop(&made, &owner_b, true);
    CHECK(has_received(" A a3 A"));
    leave(&made, 2);
    leave(&made, 1);
    CHECK(has_received(" ) ) )"));
    tear_down(&made);
}

static void
a_dropped_frame_goes_from_the_middle(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', 0);
    line(&made, 1, 1);
    enter(&made, 'b', 0);
    line(&made, 2, 2);
    enter(&made, 'a', 0);
    line(&made, 3, 3);
    drop(&made, &owner_b, true);
    CHECK(has_received(" A a1 B b2 A a3 ) ) ) ) A a3"));
    leave(&made, 2);
    leave(&made, 1);
    tear_down(&made);
}

static void
another_thread_pops_at_its_next_line(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', 0);
    line(&made, 1, 1);
    enter(&made, 'b', 0);
    line(&made, 2, 2);
    drop(&made, &owner_b, false);
    CHECK(is_open("A a1 B b2") && lp_ranges_any(made.rec));
    line(&made, 1, 2);
    CHECK(has_received(" A a1 B b2 ) ) ) a2"));
    CHECK(!(made.rec->frames[1].flags & LP_FRAME_RANGES_STALE));
    leave(&made, 1);
    tear_down(&made);
}

static void
another_thread_pops_when_it_enters_or_leaves(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'b', 0);
    enter(&made, 'a', 0);
    line(&made, 2, 1);
    drop(&made, &owner_b, false);
    CHECK(has_received(" B A a1"));
    enter(&made, 'b', 0);
    CHECK(has_received(" ) ) ) A a1 B"));
    drop(&made, &owner_b, false);
    leave(&made, 1);
    CHECK(has_received(" ) ) )"));
    tear_down(&made);
}

static void
ranges_that_have_ended_do_not_return(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', 0);
    line(&made, 1, 1);
    lp_ranges_end(made.rec);
    lp_ranges_sync(made.rec);
    CHECK(has_received(" A a1 ) )"));
    line(&made, 1, 2);
    enter(&made, 'b', 0);
    line(&made, 2, 2);
    leave(&made, 2);
    leave(&made, 1);
    CHECK(has_received(" B b2 ) )"));
    tear_down(&made);
}

/* Pauses collection: the lines that are open end. */
static void
pause_all(fixture *made)
{
    lp_recorder_pause(made->rec, now);
    lp_ranges_remove(made->rec, made->rec->frames + 1);
    lp_ranges_mark_stale(made->rec);
    lp_ranges_sync(made->rec);
}

static void
resume_line(fixture *made, int place, uint32_t offset)
{
    made->rec->frames[place].flags &= ~(uint32_t)LP_FRAME_PAUSED;
    line(made, place, offset);
}

static void
no_range_is_open_while_collection_is_off(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', 0);
    line(&made, 1, 1);
    enter(&made, 'b', 0);
    line(&made, 2, 1);
    enter(&made, 'b', 0);
    CHECK(has_received(" A a1 B b1 B"));
    pause_all(&made);
    CHECK(has_received(" ) ) ) ) )"));
    leave(&made, 3);
    CHECK(has_received(""));
    resume_line(&made, 2, 2);
    CHECK(has_received(" B b2"));
    /* a greenlet may resume it before the other frame ends */
    resume_line(&made, 1, 2);
    CHECK(has_received(" ) ) A a2 B b2"));
    leave(&made, 2);
    leave(&made, 1);
    tear_down(&made);
}

static void
functions_have_ranges_again_from_their_next_line_on(void)
{
    fixture made = set_up(LP_RANGES_FUNCTIONS);

    enter(&made, 'a', 0);
    line(&made, 1, 1);
    pause_all(&made);
    CHECK(has_received(" A )"));
    resume_line(&made, 1, 2);
    CHECK(has_received(" A"));
    leave(&made, 1);
    tear_down(&made);
}

static void
the_time_of_the_tool_is_a_cost(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    now = 1000;
    enter(&made, 'a', 0); /* 7 */
    line(&made, 1, 1);    /* 7 */
    now += 100;
    line(&made, 1, 2); /* 14 */
    leave(&made, 1);   /* 14 */
    CHECK(made.rec->cost == (7 + 7 + 14 + 14) * LP_COST_ONE);
    CHECK(made.a->lines[1].ticks == 107);
    CHECK(made.a->lines[1].cost == 7 * LP_COST_ONE);
    CHECK(made.a->lines[2].ticks == 14);
    CHECK(made.a->lines[2].cost == 14 * LP_COST_ONE);
    tear_down(&made);
}

static void
deep_stacks_move_and_stay_right(void)
{
    fixture made = set_up(LP_RANGES_FUNCTIONS);

    for (int i = 1; i <= 60; i++) {
        enter(&made, 'a', 0);
    }
    made.mode = LP_RANGES_OFF;
    for (int i = 61; i <= 500; i++) {
        enter(&made, 'b', 0);
    }
    CHECK(n_pushed == 60);
    for (int i = 500; i > 0; i--) {
        leave(&made, i);
    }
    tear_down(&made);
}

int
main(void)
{
    line_ranges_alternate_inside_their_function();
    functions_alone_leave_lines_on_the_fast_path();
    without_a_tool_nothing_is_recorded();
    a_line_without_a_label_is_also_a_range();
    frames_switched_by_greenlets_stay_nested();
    shared_frames_are_one_range();
    dropping_the_other_shared_frame_changes_no_range();
    a_dropped_frame_goes_from_the_middle();
    another_thread_pops_at_its_next_line();
    another_thread_pops_when_it_enters_or_leaves();
    ranges_that_have_ended_do_not_return();
    no_range_is_open_while_collection_is_off();
    functions_have_ranges_again_from_their_next_line_on();
    the_time_of_the_tool_is_a_cost();
    deep_stacks_move_and_stay_right();
    return check_failures;
}
