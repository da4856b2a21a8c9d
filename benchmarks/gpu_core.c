/* Cost of recording GPU work, without a GPU: ns for each launch on the
 * launching thread, and for each record on the thread that reads it.
 *
 * gpu_core.py compiles it with all sources of lineprof's C rooms that know no
 * Python, and runs it: gpu_core [ROUNDS].
 *
 * The goals are 200 ns a launch and 50 ns a record.  Each figure is the
 * minimum of several rounds; the exit status is 1 if a goal is missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/activity.h"
#include "gpu/cupti_backend.h"
#include "record/current_path.h"

enum {
    MAX_ROUNDS = 30,
    LAUNCHES = 20000, /* of a round */
    NAMES = 20,
    PATHS = 100,
    LAUNCH_GOAL = 200,
    RECORD_GOAL = 50
};

static lp_activity *activity;
static lp_recorder *rec;
static lp_code_counters *counters;
static uint64_t next_id = 1;
static int rounds = MAX_ROUNDS;
static int status;
static char code;

static void
report(const char *what, double ns, double goal)
{
    printf("%-44s %7.1f ns%s\n", what, ns, ns > goal ? "  MISSED" : "");
    if (ns > goal) {
        status = 1;
    }
}

static void
set_up(size_t events)
{
    static lp_arena arena;
    lp_layout layout = {.serial = 1, .first_line = 1, .n_lines = 1000};
    lp_costs costs = {0};
    lp_clock clock;

    activity = malloc(sizeof(*activity));
    if (activity == NULL ||
        !lp_activity_init(activity, lp_call_paths_of_process(), events)) {
        abort();
    }
    lp_clock_open(&clock, "auto");
    lp_arena_init(&arena, LP_BLOCK_COUNTERS, false);
    rec = lp_recorder_new(&clock, &costs);
    counters = lp_recorder_counters(rec, &arena, &layout);
}

static void
leave(void)
{
    lp_recorder_leave(rec, rec->top, false, lp_clock_now(&rec->clock));
}

static void
set_depth(int depth)
{
    while (rec->top > rec->frames) {
        leave();
    }
    while (rec->top < rec->frames + depth) {
        lp_recorder_enter(rec, &code, counters, 1);
        lp_recorder_line(rec, rec->top, 7, 0, LP_LINE_FORWARD);
    }
}

/* -- launches ---------------------------------------------------------------
 */

typedef void (*event_fn)(uint32_t);

static void
elapsed(uint32_t i)
{
    (void)i;
}

static void
next_line(uint32_t i)
{
    lp_recorder_line(rec, rec->top, i % 10, 0, LP_LINE_FORWARD);
}

/* In a callee, on its only line. */
static void
call(uint32_t i)
{
    if (i > 0) {
        leave();
    }
    lp_recorder_enter(rec, &code, counters, 1);
    lp_recorder_line(rec, rec->top, 3, 0, LP_LINE_FORWARD);
}

static void
launch(void)
{
    uint32_t path = lp_current_path(rec, activity->paths);

    lp_activity_begin_launch(activity, next_id++, path,
                             LP_CORRELATION_EXPECTED,
                             lp_clock_now(&rec->clock));
}

/* -- callbacks of a launch ---------------------------------------------------
 */

enum { CU_LAUNCH_KERNEL = 307 };

static uint32_t
path_here(void)
{
    return lp_current_path(rec, activity->paths);
}

static lp_ticks
ticks_now(void)
{
    return lp_clock_now(&rec->clock);
}

static int
enable_callback(uint32_t on, void *subscriber, uint32_t domain, uint32_t id)
{
    (void)on;
    (void)subscriber;
    (void)domain;
    (void)id;
    return LP_CUPTI_OK;
}

static void
open_session(void)
{
    lp_cupti.host = (lp_gpu_host){
        .activity = activity, .path = path_here, .now = ticks_now};
    lp_cupti.api.enable_callback = enable_callback;
    if (lp_cupti_enable_calls() != LP_CUPTI_OK) {
        abort();
    }
    lp_cupti.state = LP_CUPTI_OPEN;
}

static void
enter_and_exit(void)
{
    static uint64_t scratch;
    static int result;
    lp_cupti_call call = {.scratch = &scratch,
                          .result = &result,
                          .context = &code,
                          .correlation = (uint32_t)next_id++};

    call.site = LP_CUPTI_API_ENTER;
    lp_cupti_on_callback(NULL, LP_CUPTI_DOMAIN_DRIVER_API, CU_LAUNCH_KERNEL,
                         &call);
    call.site = LP_CUPTI_API_EXIT;
    lp_cupti_on_callback(NULL, LP_CUPTI_DOMAIN_DRIVER_API, CU_LAUNCH_KERNEL,
                         &call);
}

/* Records arrive, so that pages are reused. */
static void
answer(void)
{
    for (uint64_t id = next_id - LAUNCHES; id < next_id; id++) {
        lp_correlation_matched(&activity->correlations, id,
                               LP_CORRELATION_MATCHED);
    }
    lp_correlation_reclaim(&activity->correlations);
}

static double
ns_of(int depth, event_fn event, void (*launches)(void))
{
    double min = 1e9;

    for (int round = 0; round < rounds; round++) {
        lp_ns start, ns;

        set_depth(depth);
        start = lp_clock_monotonic();
        for (uint32_t i = 0; i < LAUNCHES; i++) {
            event(i);
            if (launches != NULL) {
                launches();
            }
        }
        ns = lp_clock_monotonic() - start;
        if (launches != NULL) {
            answer();
        }
        if ((double)ns / LAUNCHES < min) {
            min = (double)ns / LAUNCHES;
        }
    }
    return min;
}

static void
measure_launches(void)
{
    static const int depths[] = {1, 5, 50};
    static const struct {
        const char *name;
        event_fn event;
    } kinds[] = {{"on one line", elapsed},
                 {"on lines in turn", next_line},
                 {"in a callee each", call}};

    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            char what[64];
            double ns = ns_of(depths[i], kinds[k].event, launch) -
                        ns_of(depths[i], kinds[k].event, NULL);

            snprintf(what, sizeof(what), "a launch, depth %d, %s", depths[i],
                     kinds[k].name);
            report(what, ns, LAUNCH_GOAL);
        }
    }
}

static void
measure_callbacks(void)
{
    open_session();
    report("both callbacks of a launch, depth 5",
           ns_of(5, next_line, enter_and_exit) - ns_of(5, next_line, NULL),
           LAUNCH_GOAL);
    lp_cupti.state = LP_CUPTI_CLOSED;
}

static void
measure_adopted(void)
{
    lp_adopted_path known = {0};
    uint32_t paths = 0;
    double min = 1e9;

    for (int round = 0; round < rounds; round++) {
        lp_ns start;
        double ns;

        set_depth(5);
        start = lp_clock_monotonic();
        for (uint32_t i = 0; i < LAUNCHES; i++) {
            uint32_t path =
                lp_current_path_of_thread(rec, activity->paths, &known);

            paths += path != LP_NO_PATH;
            lp_activity_begin_launch(activity, next_id++, path,
                                     LP_CORRELATION_EXPECTED,
                                     lp_clock_now(&rec->clock));
        }
        ns = (double)(lp_clock_monotonic() - start) / LAUNCHES;
        answer();
        min = ns < min ? ns : min;
    }
    report(paths > 0 ? "a launch of another thread, adopted" : "?", min,
           LAUNCH_GOAL);
}

/* -- records ----------------------------------------------------------------
 */

static double
ns_a_record(void)
{
    static char names[NAMES][128];
    static uint32_t paths[PATHS];
    uint32_t root = lp_call_paths_root(activity->paths, 0, false);
    static lp_ns now = 1000000000;
    lp_record record = {.kind = LP_KERNEL};
    lp_ns start;

    for (int i = 0; i < NAMES; i++) {
        /* Names of a usual length. */
        snprintf(names[i], sizeof(names[i]),
                 "_ZN2at6native29vectorized_elementwise_kernelILi%dENS0_"
                 "15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
                 i);
    }
    for (uint32_t i = 0; i < PATHS; i++) {
        paths[i] = lp_call_paths_child(activity->paths, root, 2, i);
    }
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        lp_activity_begin_call(activity, next_id + i, paths[i % PATHS],
                               LP_CORRELATION_EXPECTED);
    }
    start = lp_clock_monotonic();
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        record.correlation = next_id++;
        record.name = names[i * 7 % NAMES];
        record.start = now;
        record.end = now += 2000;
        now += 500;
        record.stream = i % 4;
        record.launch.grid[0] = (int32_t)(i % 16);
        lp_activity_add_record(activity, &record);
    }
    lp_correlation_reclaim(&activity->correlations);
    return (double)(lp_clock_monotonic() - start) / LAUNCHES;
}

static void
measure_records(void)
{
    double kept = 1e9, left_out = 1e9;

    for (int round = 0; round < 2 * rounds; round++) {
        bool keeps = activity->timeline.left_out == 0;
        double ns = ns_a_record();

        if (keeps && ns < kept) {
            kept = ns;
        }
        else if (!keeps && ns < left_out) {
            left_out = ns;
        }
    }
    report("a record, kept in the timeline", kept, RECORD_GOAL);
    report("a record beyond the timeline's limit", left_out, RECORD_GOAL);
}

int
main(int argc, char **argv)
{
    int given = argc > 1 ? atoi(argv[1]) : MAX_ROUNDS;

    rounds = given > 0 && given < MAX_ROUNDS ? given : MAX_ROUNDS;
    set_up((size_t)rounds * LAUNCHES);
    measure_launches();
    measure_callbacks();
    measure_adopted();
    measure_records();
    return status;
}
