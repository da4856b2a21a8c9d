/* A thread's ranges, with a tool of our own: it stands in for lp_gpu_nvtx. */
#include "gpu/nvtx_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "gpu/nvtx.h"

static char code_a, code_b, owner_a, owner_b;
static lp_ticks now;

/* -- the tool ---------------------------------------------------------------
 */

static const char *pushed[64]; /* what is open, */
static int n_pushed;
static char heard[512]; /* and all that came: names, and ) for a pop */
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
lp_gpu_nvtx_push(const void *text, uint64_t payload, uint32_t category)
{
    CHECK(n_pushed < 64);
    CHECK(payload / LP_PAYLOAD_LINES == category);
    pushed[n_pushed++] = text != NULL ? text : "?";
    strcat(strcat(heard, " "), pushed[n_pushed - 1]);
    last_payload = payload;
    now += 7; /* the time it takes */
}

void
lp_gpu_nvtx_pop(void)
{
    CHECK(n_pushed > 0);
    n_pushed--;
    strcat(heard, " )");
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

/* Did this come since it was asked last? */
static bool
has_heard(const char *events)
{
    bool same = strcmp(heard, events) == 0;

    if (!same) {
        fprintf(stderr, "heard:%s\n", heard);
    }
    heard[0] = 0;
    return same;
}

/* -- the thread -------------------------------------------------------------
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
    lp_arena_init(&made.arena);
    made.rec = lp_recorder_new(&clock, &costs);
    made.a = lp_recorder_counters(made.rec, &made.arena, &a);
    made.b = lp_recorder_counters(made.rec, &made.arena, &b);
    made.labels_a = label(&a, "A", names_a);
    made.labels_b = label(&b, "B", names_b);
    n_pushed = 0;
    heard[0] = 0;
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

/* The frame at this place comes to a line. */
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

/* -- the tests --------------------------------------------------------------
 */

static void
lines_take_turns_inside_their_function(void)
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
    CHECK(has_heard(" A a2 ) a2 B b4 ) ) ) a3 ) )"));
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
    CHECK(has_heard(" A B ) )"));
    tear_down(&made);
}

static void
nobody_listens_and_nothing_is_kept(void)
{
    fixture made = set_up(LP_RANGES_OFF);

    CHECK(!(enter(&made, 'a', 0)->flags & (LP_FRAME_RANGED | LP_FRAME_SLOW)));
    line(&made, 1, 2);
    leave(&made, 1);
    CHECK(has_heard(""));
    tear_down(&made);
}

static void
a_line_without_a_label_is_a_range_all_the_same(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', 0);
    line(&made, 1, 7);
    CHECK(is_open("A ?") && last_payload == 1000008);
    leave(&made, 1);
    tear_down(&made);
}

static void
frames_that_take_turns_stay_nested(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', LP_FRAME_GREENLET);
    line(&made, 1, 1);
    enter(&made, 'b', LP_FRAME_GREENLET);
    line(&made, 2, 1);
    CHECK(has_heard(" A a1 B b1"));
    line(&made, 1, 2); /* of the lower one */
    CHECK(has_heard(" ) ) ) a2 B b1") && is_open("A a2 B b1"));
    leave(&made, 1);
    CHECK(has_heard(" ) ) ) ) B b1") && is_open("B b1"));
    line(&made, 1, 2);
    leave(&made, 1);
    tear_down(&made);
}

static void
twins_are_one_range(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', 0);
    enter(&made, 'b', LP_FRAME_SHARED);
    CHECK(has_heard(" A"));
    lp_recorder_line(made.rec, made.rec->top, 3, now, LP_LINE_FORWARD);
    line(&made, 1, 3);
    CHECK(has_heard(" a3"));
    line(&made, 1, 4);
    CHECK(has_heard(" ) a4"));
    /* The one that is the range goes: now the other one is. */
    drop(&made, &owner_a, true);
    CHECK(has_heard(" ) ) B b3"));
    leave(&made, 1);
    tear_down(&made);
}

static void
the_other_twin_goes_unnoticed(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', 0);
    enter(&made, 'b', LP_FRAME_SHARED);
    line(&made, 1, 3);
    enter(&made, 'a', 0);
    drop(&made, &owner_b, true);
    CHECK(has_heard(" A a3 A"));
    leave(&made, 2);
    leave(&made, 1);
    CHECK(has_heard(" ) ) )"));
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
    CHECK(has_heard(" A a1 B b2 A a3 ) ) ) ) A a3"));
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
    CHECK(has_heard(" A a1 B b2 ) ) ) a2"));
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
    CHECK(has_heard(" B A a1"));
    enter(&made, 'b', 0);
    CHECK(has_heard(" ) ) ) A a1 B"));
    drop(&made, &owner_b, false);
    leave(&made, 1);
    CHECK(has_heard(" ) ) )"));
    tear_down(&made);
}

static void
an_end_in_the_middle_is_for_good(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', 0);
    line(&made, 1, 1);
    lp_ranges_end(made.rec);
    lp_ranges_sync(made.rec);
    CHECK(has_heard(" A a1 ) )"));
    line(&made, 1, 2);
    enter(&made, 'b', 0);
    line(&made, 2, 2);
    leave(&made, 2);
    leave(&made, 1);
    CHECK(has_heard(" B b2 ) )"));
    tear_down(&made);
}

/* Collection goes off: the lines that are open end. */
static void
pause_all(fixture *made)
{
    lp_recorder_pause(made->rec, now);
    lp_ranges_remove(made->rec, made->rec->frames + 1);
    lp_ranges_mark_stale(made->rec);
    lp_ranges_sync(made->rec);
}

static void
go_on(fixture *made, int place, uint32_t offset)
{
    made->rec->frames[place].flags &= ~(uint32_t)LP_FRAME_PAUSED;
    line(made, place, offset);
}

static void
nothing_is_shown_while_collection_is_off(void)
{
    fixture made = set_up(LP_RANGES_LINES);

    enter(&made, 'a', 0);
    line(&made, 1, 1);
    enter(&made, 'b', 0);
    line(&made, 2, 1);
    enter(&made, 'b', 0);
    CHECK(has_heard(" A a1 B b1 B"));
    pause_all(&made);
    CHECK(has_heard(" ) ) ) ) )"));
    leave(&made, 3);
    CHECK(has_heard(""));
    go_on(&made, 2, 2);
    CHECK(has_heard(" B b2"));
    go_on(&made, 1, 2); /* its turn, if it came before the other ends */
    CHECK(has_heard(" ) ) A a2 B b2"));
    leave(&made, 2);
    leave(&made, 1);
    tear_down(&made);
}

static void
functions_are_shown_again_from_their_next_line_on(void)
{
    fixture made = set_up(LP_RANGES_FUNCTIONS);

    enter(&made, 'a', 0);
    line(&made, 1, 1);
    pause_all(&made);
    CHECK(has_heard(" A )"));
    go_on(&made, 1, 2);
    CHECK(has_heard(" A"));
    leave(&made, 1);
    tear_down(&made);
}

static void
what_the_tool_takes_is_a_cost(void)
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
    lines_take_turns_inside_their_function();
    functions_alone_leave_lines_on_the_fast_path();
    nobody_listens_and_nothing_is_kept();
    a_line_without_a_label_is_a_range_all_the_same();
    frames_that_take_turns_stay_nested();
    twins_are_one_range();
    the_other_twin_goes_unnoticed();
    a_dropped_frame_goes_from_the_middle();
    another_thread_pops_at_its_next_line();
    another_thread_pops_when_it_enters_or_leaves();
    an_end_in_the_middle_is_for_good();
    nothing_is_shown_while_collection_is_off();
    functions_are_shown_again_from_their_next_line_on();
    what_the_tool_takes_is_a_cost();
    deep_stacks_move_and_stay_right();
    return check_failures;
}
