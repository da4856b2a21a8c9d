/* Activity: from calls and a device's records to sums, waits and events. */
#include "gpu/activity.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "gpu/own_paths.h"
#include "random.h"

static lp_activity *
set_up(size_t events)
{
    lp_activity *activity = malloc(sizeof(*activity));

    CHECK(lp_activity_init(activity, own_paths(), events));
    for (uint32_t line = 1; line < 10; line++) { /* paths 2 to 10 */
        lp_call_paths_child(activity->paths,
                            lp_call_paths_root(activity->paths, 0, false), 1,
                            line);
    }
    return activity;
}

static void
tear_down(lp_activity *activity)
{
    lp_activity_free(activity);
    free(activity);
}

static void
open_call(lp_activity *activity, uint64_t id, uint32_t path)
{
    lp_activity_begin_call(activity, id, path, LP_CORRELATION_EXPECTED);
}

static lp_record
kernel(uint64_t id, lp_ns start, lp_ns end)
{
    lp_record record = {.kind = LP_KERNEL,
                        .correlation = id,
                        .start = start,
                        .end = end,
                        .name = "k"};

    return record;
}

static lp_record
copy_of(uint64_t id, lp_ns start, lp_ns end, uint64_t bytes)
{
    lp_record record = {.kind = LP_MEMCPY,
                        .correlation = id,
                        .start = start,
                        .end = end,
                        .name_number = 1,
                        .bytes = bytes};

    return record;
}

/* The sum of all records of a path and kind. */
static lp_sum
sum_of(const lp_activity *activity, uint32_t path, lp_activity_kind kind)
{
    const lp_sums *sums = &activity->sums;
    lp_sum all = {0};

    for (size_t i = 0; i < sums->n; i++) {
        const lp_sum *sum = &sums->sums[i];

        if (sum->key.path == path && sum->key.kind == kind) {
            all.key = sum->key;
            all.count += sum->count;
            all.ns += sum->ns;
            all.bytes += sum->bytes;
        }
    }
    return all;
}

static const lp_call_path *
waits_of(const lp_activity *activity, uint32_t path)
{
    return lp_call_paths_at(activity->paths, path);
}

static void
a_record_is_charged_to_the_path_of_its_call(void)
{
    lp_activity *activity = set_up(10);
    lp_record record = kernel(7, 100, 130);

    open_call(activity, 7, 3);
    open_call(activity, 8, 4);
    CHECK(lp_correlation_outstanding(&activity->correlations) == 2);
    lp_activity_add_record(activity, &record);
    /* a graph launch has many records */
    lp_activity_add_record(activity, &record);
    record.correlation = 8;
    lp_activity_add_record(activity, &record);
    CHECK(sum_of(activity, 3, LP_KERNEL).ns == 60);
    CHECK(sum_of(activity, 4, LP_KERNEL).ns == 30);
    CHECK(lp_correlation_outstanding(&activity->correlations) == 0 &&
          activity->invalid == 0);
    tear_down(activity);
}

static void
a_record_of_an_unknown_call_is_unattributed(void)
{
    lp_activity *activity = set_up(10);
    lp_record record = kernel(99, 100, 130);

    lp_activity_add_record(activity, &record);
    record.correlation = 0;
    lp_activity_add_record(activity, &record);
    CHECK(sum_of(activity, LP_NO_PATH, LP_KERNEL).ns == 60);
    CHECK(sum_of(activity, LP_NO_PATH, LP_KERNEL).count == 2);
    tear_down(activity);
}

static void
kinds_names_and_devices_have_separate_sums(void)
{
    lp_activity *activity = set_up(10);
    lp_record record = kernel(7, 100, 130);

    open_call(activity, 7, 3);
    lp_activity_add_record(activity, &record);
    record.name = "other";
    lp_activity_add_record(activity, &record);
    record.device = 1;
    lp_activity_add_record(activity, &record);
    CHECK(activity->sums.n == 3);
    record = copy_of(7, 200, 210, 4096);
    lp_activity_add_record(activity, &record);
    record.name_number = 2;
    lp_activity_add_record(activity, &record);
    CHECK(activity->sums.n == 5);
    record.kind = LP_MEMSET;
    lp_activity_add_record(activity, &record);
    CHECK(activity->sums.n == 6);
    CHECK(sum_of(activity, 3, LP_MEMCPY).bytes == 8192);
    CHECK(sum_of(activity, 3, LP_MEMSET).ns == 10);
    CHECK(activity->strings.n == 3);
    CHECK(lp_busy_time_total(&activity->busy[0]) == 30 + 10);
    CHECK(lp_busy_time_total(&activity->busy[1]) == 30);
    tear_down(activity);
}

static void
work_launched_while_collection_was_off_does_not_count(void)
{
    lp_activity *activity = set_up(10);
    lp_record record = kernel(7, 100, 130);

    activity->paused = true;
    open_call(activity, 7, 3);
    lp_activity_add_wait(activity, 3, 50);
    activity->paused = false;
    open_call(activity, 8, 3);
    lp_activity_add_wait(activity, 3, 6);
    activity->paused = true; /* off again when the records come */
    CHECK(lp_correlation_outstanding(&activity->correlations) == 2);
    lp_activity_add_record(activity, &record);
    CHECK(activity->sums.n == 0 && activity->timeline.n == 0);
    CHECK(lp_busy_time_total(&activity->busy[0]) == 0);
    record = kernel(8, 200, 203);
    lp_activity_add_record(activity, &record);
    CHECK(sum_of(activity, 3, LP_KERNEL).ns == 3 && activity->timeline.n == 1);
    CHECK(lp_correlation_outstanding(&activity->correlations) == 0 &&
          activity->invalid == 0);
    CHECK(waits_of(activity, 3)->waits == 1);
    CHECK(waits_of(activity, 3)->wait_ticks == 6);
    tear_down(activity);
}

static void
a_driver_call_inside_a_runtime_call_counts_once(void)
{
    lp_activity *activity = set_up(10);
    lp_record call = {.kind = LP_DRIVER_CALL,
                      .correlation = 7,
                      .start = 100,
                      .end = 120,
                      .name_number = 307,
                      .thread = 5};

    lp_activity_begin_call(activity, 7, 3, LP_CORRELATION_RUNTIME);
    open_call(activity, 7, 3);
    lp_activity_add_record(activity, &call);
    CHECK(activity->sums.n == 0);
    call.kind = LP_RUNTIME_CALL;
    call.name_number = 211;
    lp_activity_add_record(activity, &call);
    CHECK(sum_of(activity, 3, LP_RUNTIME_CALL).ns == 20);
    CHECK(sum_of(activity, 3, LP_RUNTIME_CALL).key.name == 211);
    CHECK(lp_busy_time_total(&activity->busy[0]) ==
          0); /* not time of a device */
    /* The record of the kernel is still expected. */
    CHECK(lp_correlation_outstanding(&activity->correlations) == 1);
    /* A driver call that the program makes itself counts. */
    open_call(activity, 8, 4);
    call.kind = LP_DRIVER_CALL;
    call.correlation = 8;
    lp_activity_add_record(activity, &call);
    CHECK(sum_of(activity, 4, LP_DRIVER_CALL).count == 1);
    CHECK(lp_correlation_outstanding(&activity->correlations) == 2);
    tear_down(activity);
}

static void
times_that_were_not_collected_are_invalid(void)
{
    lp_activity *activity = set_up(10);
    lp_record record = kernel(7, 0, 0);

    open_call(activity, 7, 3);
    lp_activity_add_record(activity, &record);
    CHECK(activity->invalid == 1);
    CHECK(lp_correlation_outstanding(&activity->correlations) ==
          0); /* but the record has come */
    record = kernel(7, 0, 50);
    lp_activity_add_record(activity, &record);
    record = kernel(7, 50, 0);
    lp_activity_add_record(activity, &record);
    record = kernel(7, 50, 49);
    lp_activity_add_record(activity, &record);
    CHECK(activity->invalid == 4);
    CHECK(activity->sums.n == 0 && activity->timeline.n == 0);
    CHECK(activity->timeline.n_launches == 0);
    record = kernel(7, 50, 50); /* shorter than the clock's resolution */
    lp_activity_add_record(activity, &record);
    CHECK(activity->invalid == 4 && sum_of(activity, 3, LP_KERNEL).count == 1);
    tear_down(activity);
}

static void
allocations_take_no_time(void)
{
    lp_activity *activity = set_up(10);
    lp_record record = {.kind = LP_ALLOC, .correlation = 7, .bytes = 4096};

    lp_activity_begin_call(activity, 7, 3, 0);
    lp_activity_add_record(activity, &record); /* without a time stamp */
    record.start = record.end = 70;
    record.kind = LP_FREE;
    lp_activity_add_record(activity, &record);
    CHECK(activity->invalid == 0);
    CHECK(sum_of(activity, 3, LP_ALLOC).bytes == 4096);
    CHECK(sum_of(activity, 3, LP_FREE).bytes == 4096);
    CHECK(sum_of(activity, 3, LP_FREE).ns == 0);
    CHECK(lp_busy_time_total(&activity->busy[0]) == 0);
    tear_down(activity);
}

static void
migrations_keep_no_device_busy(void)
{
    lp_activity *activity = set_up(10);
    lp_record record = {
        .kind = LP_MIGRATION, .start = 10, .end = 40, .bytes = 65536};

    lp_activity_add_record(activity, &record);
    CHECK(sum_of(activity, LP_NO_PATH, LP_MIGRATION).ns == 30);
    CHECK(lp_busy_time_total(&activity->busy[0]) == 0);
    tear_down(activity);
}

static void
a_graph_node_has_its_capture_path(void)
{
    lp_activity *activity = set_up(10);
    lp_record record = kernel(7, 100, 130);

    lp_graph_nodes_insert(&activity->graph_nodes, 55, 4);
    open_call(activity, 7, 3);
    record.node = 55;
    lp_activity_add_record(activity, &record);
    CHECK(sum_of(activity, 3, LP_KERNEL).key.origin == 4);
    record.node = 56; /* captured before the session */
    lp_activity_add_record(activity, &record);
    record.node = 0;
    lp_activity_add_record(activity, &record);
    CHECK(activity->sums.n == 2 && sum_of(activity, 3, LP_KERNEL).count == 3);
    tear_down(activity);
}

/* A graph that was updated has the nodes of before. */
static void
the_source_of_a_graph_node_goes_before_the_node(void)
{
    lp_activity *activity = set_up(10);
    lp_record record = kernel(7, 100, 130);

    lp_graph_nodes_insert(&activity->graph_nodes, 55, 4);
    lp_graph_nodes_insert(&activity->graph_nodes, 56, LP_NO_PATH);
    open_call(activity, 7, 3);
    record.node = 55;
    record.source_node = 57; /* unknown */
    lp_activity_add_record(activity, &record);
    CHECK(sum_of(activity, 3, LP_KERNEL).key.origin == 4);
    record.source_node = 56; /* captured by no line */
    lp_activity_add_record(activity, &record);
    CHECK(activity->sums.n == 2 && activity->sums.sums[1].key.origin == 0);
    tear_down(activity);
}

static void
graphs_of_the_device_have_the_path_of_their_launcher(void)
{
    lp_activity *activity = set_up(10);
    lp_record record = {.kind = LP_GRAPH,
                        .by_device = true,
                        .launcher = 12,
                        .start = 10,
                        .end = 40};

    lp_activity_launch_graph(activity, 12, 3);
    lp_activity_launch_graph(activity, 12, 3);
    lp_activity_add_record(activity, &record);
    CHECK(sum_of(activity, 3, LP_GRAPH).ns == 30);
    lp_activity_launch_graph(activity, 12, 4);
    lp_activity_launch_graph(activity, 12, 4);
    lp_activity_add_record(activity, &record);
    record.launcher = 13;
    lp_activity_add_record(activity, &record);
    CHECK(sum_of(activity, LP_NO_PATH, LP_GRAPH).count == 2);
    CHECK(activity->unknown == 0 && activity->unjoined == 0);
    tear_down(activity);
}

static void
only_copies_that_blocked_their_thread_are_waits(void)
{
    lp_activity *activity = set_up(10);
    lp_record record = copy_of(7, 100, 130, 64);

    open_call(activity, 7, 3); /* page-locked memory */
    lp_activity_add_copy_wait(activity, 7, 500);
    lp_activity_add_record(activity, &record);
    CHECK(waits_of(activity, 3)->waits == 0);
    open_call(activity, 8, 3); /* pageable memory, */
    lp_activity_add_copy_wait(activity, 8, 500);
    record = copy_of(8, 200, 230, 64);
    record.blocking = true;
    lp_activity_add_record(activity, &record);
    lp_activity_add_record(activity, &record); /* in two parts */
    CHECK(waits_of(activity, 3)->waits == 1);
    CHECK(waits_of(activity, 3)->wait_ticks == 500);
    open_call(activity, 9, 4); /* a record that comes first, */
    record.correlation = 9;
    lp_activity_add_record(activity, &record);
    CHECK(waits_of(activity, 4)->waits == 0);
    lp_activity_add_copy_wait(activity, 9, 40);
    CHECK(waits_of(activity, 4)->wait_ticks == 40);
    open_call(activity, 10, 5); /* or whose first part did not block */
    lp_activity_add_copy_wait(activity, 10, 33);
    record = copy_of(10, 300, 301, 64);
    lp_activity_add_record(activity, &record);
    record.blocking = true;
    lp_activity_add_record(activity, &record);
    CHECK(waits_of(activity, 5)->wait_ticks == 33);
    tear_down(activity);
}

/* The wait was measured on the thread, and does not depend on the time and
 * contents of its record. */
static void
a_wait_counts_whatever_its_record(void)
{
    lp_activity *activity = set_up(10);
    lp_record record = copy_of(7, 0, 0, 64);

    record.blocking = true;
    open_call(activity, 7, 3);
    lp_activity_add_copy_wait(activity, 7, 500);
    activity->paused = true; /* collection has been paused since */
    lp_activity_add_record(activity, &record);
    CHECK(activity->invalid == 1 && waits_of(activity, 3)->wait_ticks == 500);
    /* A copy that was made while collection was off has no wait. */
    open_call(activity, 8, 3);
    lp_activity_add_copy_wait(activity, 8, 70);
    record = copy_of(8, 100, 101, 64);
    record.blocking = true;
    lp_activity_add_record(activity, &record);
    open_call(activity, 9, 3);
    record.correlation = 9;
    lp_activity_add_record(activity, &record);
    lp_activity_add_copy_wait(activity, 9, 70);
    CHECK(waits_of(activity, 3)->wait_ticks == 500);
    tear_down(activity);
}

static void
devices_beyond_the_max_are_summed(void)
{
    lp_activity *activity = set_up(10);
    lp_record record = kernel(0, 100, 130);

    record.device = LP_DEVICES;
    lp_activity_add_record(activity, &record);
    record.device = UINT16_MAX;
    lp_activity_add_record(activity, &record);
    CHECK(activity->sums.n == 2);
    tear_down(activity);
}

static uint32_t
word_of(const lp_activity *activity, const char *name, size_t event)
{
    for (int i = 0; i < LP_COLUMNS; i++) {
        if (strcmp(lp_columns[i].name, name) == 0) {
            unsigned char values[16 * 8];
            uint32_t word = 0;

            lp_event_timeline_column(&activity->timeline, i,
                                     activity->timeline.n, values);
            memcpy(&word, values + event * lp_columns[i].size,
                   lp_columns[i].size < 4 ? lp_columns[i].size : 4);
            return word;
        }
    }
    return UINT32_MAX;
}

static void
events_are_recorded_up_to_the_limit(void)
{
    lp_activity *activity = set_up(2);
    lp_record record = kernel(7, 100, 130);

    open_call(activity, 7, 3);
    record.device = 2;
    record.context = 4;
    record.stream = 9;
    record.launch.grid[0] = 640;
    lp_activity_add_record(activity, &record);
    record = copy_of(((uint64_t)1 << 32) + 7, 200, 260, 64);
    record.memory = 0x31;
    lp_activity_add_record(activity, &record);
    record = kernel(7, 300, 301);
    record.launch.grid[0] = 641;
    lp_activity_add_record(activity, &record);
    CHECK(activity->timeline.n == 2 && activity->timeline.left_out == 1);
    CHECK(activity->sums.n == 3);
    CHECK(activity->timeline.n_launches == 2); /* nor was its launch kept */
    CHECK(word_of(activity, "start", 0) == 100);
    CHECK(word_of(activity, "ns", 0) == 30);
    CHECK(word_of(activity, "path", 0) == 3);
    CHECK(word_of(activity, "name", 0) == 1);
    CHECK(word_of(activity, "device", 0) == 2);
    CHECK(word_of(activity, "context", 0) == 4);
    CHECK(word_of(activity, "stream", 0) == 9);
    CHECK(word_of(activity, "launch", 0) == 1);
    CHECK(word_of(activity, "kind", 0) == LP_KERNEL);
    CHECK(word_of(activity, "kind", 1) == LP_MEMCPY);
    CHECK(word_of(activity, "bytes", 1) == 64);
    CHECK(word_of(activity, "memory", 1) == 0x31);
    CHECK(word_of(activity, "launch", 1) == 0);
    CHECK(word_of(activity, "correlation", 1) == 7);
    CHECK(word_of(activity, "path", 1) == 3); /* ids count modulo 2**32 */
    tear_down(activity);
}

int
main(void)
{
    a_record_is_charged_to_the_path_of_its_call();
    a_record_of_an_unknown_call_is_unattributed();
    kinds_names_and_devices_have_separate_sums();
    work_launched_while_collection_was_off_does_not_count();
    a_driver_call_inside_a_runtime_call_counts_once();
    times_that_were_not_collected_are_invalid();
    allocations_take_no_time();
    migrations_keep_no_device_busy();
    a_graph_node_has_its_capture_path();
    the_source_of_a_graph_node_goes_before_the_node();
    graphs_of_the_device_have_the_path_of_their_launcher();
    only_copies_that_blocked_their_thread_are_waits();
    a_wait_counts_whatever_its_record();
    devices_beyond_the_max_are_summed();
    events_are_recorded_up_to_the_limit();
    return check_failures;
}
