/* What the GPU's bookkeeping costs, without a GPU: ns for each launch on the
 * thread that launches, and for each record on the thread that reads it.  In
 * bash:
 *
 *   cc -std=c11 -O2 -D_GNU_SOURCE -Icsrc benchmarks/gpu_core.c \
 *      csrc/lp_{blocks,busy,clock,corr,ledger,lines,open_lines,origins}.c \
 *      csrc/lp_{paths,recorder,sums,texts,timeline}.c -pthread -o gpu_core
 *
 * The goals are 200 ns a launch and 50 ns a record.  Each figure is the
 * least of several rounds; ends with status 1 where a goal is missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/activity.h"
#include "record/current_path.h"

enum {
    ROUNDS = 30,
    LAUNCHES = 20000, /* of a round */
    NAMES = 20,
    PATHS = 100,
    LAUNCH_GOAL = 200,
    RECORD_GOAL = 50
};

static lp_ledger *ledger;
static lp_recorder *rec;
static lp_counts *counts;
static uint64_t next_id = 1;
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
    static lp_blocks blocks;
    lp_layout layout = {.serial = 1, .first_line = 1, .n_lines = 1000};
    lp_costs costs = {0};
    lp_clock clock;

    ledger = malloc(sizeof(*ledger));
    if (ledger == NULL || !lp_ledger_init(ledger, events)) {
        abort();
    }
    lp_clock_open(&clock, "auto");
    lp_blocks_init(&blocks);
    rec = lp_recorder_new(&clock, &costs);
    counts = lp_recorder_counts(rec, &blocks, &layout);
}

static void
set_depth(int depth)
{
    while (rec->top > rec->frames) {
        lp_recorder_leave(rec, rec->top, 0);
    }
    while (rec->top < rec->frames + depth) {
        lp_recorder_enter(rec, &code, counts, 1);
        lp_recorder_line(rec, rec->top, 7, 0, LP_STEP);
    }
}

/* -- launches ---------------------------------------------------------------
 */

typedef void (*event_fn)(uint32_t);

static void
stay(uint32_t i)
{
    (void)i;
}

static void
next_line(uint32_t i)
{
    lp_recorder_line(rec, rec->top, i % 10, 0, LP_STEP);
}

/* In a callee, on its only line. */
static void
call(uint32_t i)
{
    if (i > 0) {
        lp_recorder_leave(rec, rec->top, 0);
    }
    lp_recorder_enter(rec, &code, counts, 1);
    lp_recorder_line(rec, rec->top, 3, 0, LP_STEP);
}

static void
launch(void)
{
    uint32_t path = lp_open_lines_path(rec, &ledger->paths);

    lp_ledger_open_call(ledger, next_id++, path, LP_CORR_EXPECTED);
}

/* The records come, so that pages go round. */
static void
answer(void)
{
    for (uint64_t id = next_id - LAUNCHES; id < next_id; id++) {
        lp_corr_seen(&ledger->corr, id, LP_CORR_SEEN);
    }
    lp_corr_tidy(&ledger->corr);
}

static double
ns_of(int depth, event_fn event, bool launches)
{
    double least = 1e9;

    for (int round = 0; round < ROUNDS; round++) {
        lp_ns start, ns;

        set_depth(depth);
        start = lp_clock_monotonic();
        for (uint32_t i = 0; i < LAUNCHES; i++) {
            event(i);
            if (launches) {
                launch();
            }
        }
        ns = lp_clock_monotonic() - start;
        if (launches) {
            answer();
        }
        if ((double)ns / LAUNCHES < least) {
            least = (double)ns / LAUNCHES;
        }
    }
    return least;
}

static void
measure_launches(void)
{
    static const int depths[] = {1, 5, 50};
    static const struct {
        const char *name;
        event_fn event;
    } kinds[] = {{"on one line", stay},
                 {"on lines in turn", next_line},
                 {"in a callee each", call}};

    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            char what[64];
            double ns = ns_of(depths[i], kinds[k].event, true) -
                        ns_of(depths[i], kinds[k].event, false);

            snprintf(what, sizeof(what), "a launch, depth %d, %s", depths[i],
                     kinds[k].name);
            report(what, ns, LAUNCH_GOAL);
        }
    }
}

static void
measure_adopted(void)
{
    lp_other_lines known = {0};
    uint32_t paths = 0;
    double least = 1e9;

    for (int round = 0; round < ROUNDS; round++) {
        lp_ns start;
        double ns;

        set_depth(5);
        start = lp_clock_monotonic();
        for (uint32_t i = 0; i < LAUNCHES; i++) {
            uint32_t path =
                lp_open_lines_of_other(rec, &ledger->paths, &known);

            paths += path != LP_NO_PATH;
            lp_ledger_open_call(ledger, next_id++, path, LP_CORR_EXPECTED);
        }
        ns = (double)(lp_clock_monotonic() - start) / LAUNCHES;
        answer();
        least = ns < least ? ns : least;
    }
    report(paths > 0 ? "a launch of another thread, adopted" : "?", least,
           LAUNCH_GOAL);
}

/* -- records ----------------------------------------------------------------
 */

static double
ns_a_record(void)
{
    static char names[NAMES][128];
    static uint32_t paths[PATHS];
    uint32_t root = lp_paths_root(&ledger->paths, 0, false);
    static lp_ns now = 1000000000;
    lp_record record = {.kind = LP_KERNEL};
    lp_ns start;

    for (int i = 0; i < NAMES; i++) {
        /* As long as they are in practice. */
        snprintf(names[i], sizeof(names[i]),
                 "_ZN2at6native29vectorized_elementwise_kernelILi%dENS0_"
                 "15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
                 i);
    }
    for (uint32_t i = 0; i < PATHS; i++) {
        paths[i] = lp_paths_child(&ledger->paths, root, 2, i);
    }
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        lp_ledger_open_call(ledger, next_id + i, paths[i % PATHS],
                            LP_CORR_EXPECTED);
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
        lp_ledger_enter(ledger, &record);
    }
    lp_corr_tidy(&ledger->corr);
    return (double)(lp_clock_monotonic() - start) / LAUNCHES;
}

static void
measure_records(void)
{
    double kept = 1e9, left_out = 1e9;

    for (int round = 0; round < 2 * ROUNDS; round++) {
        bool keeps = ledger->timeline.left_out == 0;
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
main(void)
{
    set_up((size_t)ROUNDS * LAUNCHES);
    measure_launches();
    measure_adopted();
    measure_records();
    return status;
}
