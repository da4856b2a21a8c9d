/* CUPTI's activity API: provides buffers, gets them back with records, and
 * reads the first fields of these into lp_record. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu/cupti_backend.h"
#include "gpu/cupti_buffers.h"

/* The times that a record may have: an hour before the session to an hour from
 * now.  A device may have CUPTI's own clock, CLOCK_REALTIME, although CUPTI
 * has accepted lineprof's: so do contexts that were there before the session.
 */
static struct {
    lp_ns first, span; /* span 0: any time */
    uint64_t realtime; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
} run;                 /* under the lock of the activity */

static const lp_ns hour = 3600 * (lp_ns)1000000000;

static void
update_run(void)
{
    lp_ns before = lp_clock_monotonic(), after, opened = lp_cupti.opened;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    after = lp_clock_monotonic();
    run.first = opened > hour ? opened - hour : 0;
    run.span = after + hour - run.first;
    run.realtime = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec -
                   (before + (after - before) / 2);
}

static bool
is_in_run(lp_ns time)
{
    return time - run.first <= run.span || run.span == 0;
}

/* Return the time on CLOCK_MONOTONIC; counts in `to` if it is unknown. */
static lp_ns
time_of(uint64_t stamp, lp_record *to)
{
    lp_ns time =
        stamp + (uint64_t)__atomic_load_n(&lp_cupti.offset, __ATOMIC_RELAXED);

    if (stamp == 0) {
        return 0;
    }
    if (LP_LIKELY(is_in_run(time))) {
        return time;
    }
    if (is_in_run(stamp) || is_in_run(stamp - run.realtime)) {
        to->realigned = true;
        return is_in_run(stamp) ? stamp : stamp - run.realtime;
    }
    to->undated++;
    return time;
}

static void
set_times(lp_record *to, uint64_t start, uint64_t end)
{
    to->start = time_of(start, to);
    to->end = time_of(end, to);
    to->unfinished =
        end == 0 &&
        (start != 0 || __atomic_load_n(&lp_cupti.forced, __ATOMIC_RELAXED));
    /* Times of two clocks, and a longer time than the run's, have no
     * difference that means anything. */
    if (LP_UNLIKELY(to->undated > 0) && start != 0 && end != 0 &&
        (to->undated == 1 || to->end - to->start > run.span)) {
        to->start = to->end = 0;
    }
}

static void
set_stream(lp_record *to, uint32_t device, uint32_t context, uint32_t stream)
{
    to->device = (uint16_t)device;
    to->context = context;
    to->stream = stream;
}

static uint8_t
memory_of(uint8_t source, uint8_t target)
{
    return (uint8_t)((source & 15) | (target & 15) << 4);
}

static bool
is_pageable(uint8_t source, uint8_t target)
{
    return source == LP_CUPTI_MEMORY_PAGEABLE ||
           target == LP_CUPTI_MEMORY_PAGEABLE;
}

static bool
read_kernel(const void *record, lp_record *to)
{
    const lp_cupti_kernel *from = record;
    const lp_cupti_kernel_launcher *launcher = record;
    const lp_cupti_kernel_source *source = record;

    to->kind = LP_KERNEL;
    to->correlation = from->correlation;
    set_times(to, from->start, from->end);
    set_stream(to, from->device, from->context, from->stream);
    to->node = from->graph_node;
    if (LP_UNLIKELY(to->node != 0) && lp_cupti.version >= LP_RELEASE_13_0) {
        to->by_device = launcher->by_device == 1;
        to->source_node =
            lp_cupti.version >= LP_RELEASE_13_4 ? source->source_node : 0;
    }
    to->name = from->name != NULL ? from->name : "?";
    for (int i = 0; i < 3; i++) {
        to->launch.grid[i] = from->grid[i];
        to->launch.block[i] = from->block[i];
    }
    to->launch.registers = from->registers;
    to->launch.static_smem = from->static_smem;
    to->launch.dynamic_smem = from->dynamic_smem;
    return true;
}

static bool
read_memcpy(const void *record, lp_record *to)
{
    const lp_cupti_memcpy *from = record;
    const lp_cupti_memcpy_launcher *launcher = record;
    const lp_cupti_memcpy_source *source = record;

    to->kind = LP_MEMCPY;
    to->correlation = from->correlation;
    set_times(to, from->start, from->end);
    to->bytes = from->bytes;
    to->name_number = from->copy_kind;
    to->memory = memory_of(from->source, from->target);
    to->blocking = is_pageable(from->source, from->target);
    set_stream(to, from->device, from->context, from->stream);
    to->node = from->graph_node;
    if (LP_UNLIKELY(to->node != 0) && lp_cupti.version >= LP_RELEASE_13_0) {
        to->by_device = launcher->by_device == 1;
        to->source_node =
            lp_cupti.version >= LP_RELEASE_13_4 ? source->source_node : 0;
    }
    return true;
}

static bool
read_peer(const void *record, lp_record *to)
{
    const lp_cupti_peer *from = record;

    to->kind = LP_MEMCPY;
    to->correlation = from->correlation;
    set_times(to, from->start, from->end);
    to->bytes = from->bytes;
    to->name_number = from->copy_kind;
    to->memory = memory_of(from->source, from->target);
    set_stream(to, from->device, from->context, from->stream);
    to->node = from->graph_node;
    return true;
}

static bool
read_memset(const void *record, lp_record *to)
{
    const lp_cupti_memset *from = record;
    const lp_cupti_memset_launcher *launcher = record;
    const lp_cupti_memset_source *source = record;

    to->kind = LP_MEMSET;
    to->correlation = from->correlation;
    set_times(to, from->start, from->end);
    to->bytes = from->bytes;
    to->memory = memory_of((uint8_t)from->memory, 0);
    set_stream(to, from->device, from->context, from->stream);
    to->node = from->graph_node;
    if (LP_UNLIKELY(to->node != 0) && lp_cupti.version >= LP_RELEASE_13_0) {
        to->by_device = launcher->by_device == 1;
        to->source_node =
            lp_cupti.version >= LP_RELEASE_13_4 ? source->source_node : 0;
    }
    return true;
}

static bool
read_call(const void *record, lp_record *to)
{
    const lp_cupti_api *from = record;

    to->kind =
        from->kind == LP_CUPTI_RUNTIME ? LP_RUNTIME_CALL : LP_DRIVER_CALL;
    to->correlation = from->correlation;
    set_times(to, from->start, from->end);
    to->name_number = from->call;
    to->thread = lp_cupti_misses(LP_CUPTI_NO_CALL_THREADS) ? 0 : from->thread;
    return true;
}

static bool
read_graph(const void *record, lp_record *to)
{
    const lp_cupti_graph *from = record;

    to->kind = LP_GRAPH;
    to->correlation = from->correlation;
    set_times(to, from->start, from->end);
    set_stream(to, from->device, from->context, from->stream);
    return true;
}

static bool
read_device_graph(const void *record, lp_record *to)
{
    const lp_cupti_device_graph *from = record;

    to->kind = LP_GRAPH;
    to->by_device = true;
    to->launcher = from->launcher;
    set_times(to, from->start, from->end);
    set_stream(to, from->device, from->context, (uint32_t)from->stream);
    return true;
}

/* Return the direction, numbered as for copies; other counters are no
 * transfers. */
static uint32_t
direction_of(uint32_t counter)
{
    switch (counter) {
    case LP_CUPTI_UVM_BYTES_HTOD:
        return 1;
    case LP_CUPTI_UVM_BYTES_DTOH:
        return 2;
    case LP_CUPTI_UVM_BYTES_DTOD:
        return 8;
    default:
        return 0;
    }
}

static bool
read_migration(const void *record, lp_record *to)
{
    const lp_cupti_uvm *from = record;
    bool to_host = from->counter == LP_CUPTI_UVM_BYTES_DTOH;

    to->name_number = direction_of(from->counter);
    if (to->name_number == 0) {
        return false;
    }
    to->kind = LP_MIGRATION;
    set_times(to, from->start, from->end);
    to->bytes = from->value;
    to->device = (uint16_t)(to_host ? from->source : from->target);
    return true;
}

/* Return the name of a file without its folders, or NULL. */
static const char *
file_of(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;

    return slash != NULL ? slash + 1 : path;
}

static bool
read_memory(const void *record, lp_record *to)
{
    const lp_cupti_memory *from = record;
    const lp_cupti_memory_source *more = record;

    if (from->operation != LP_CUPTI_MEMORY_ALLOCATION &&
        from->operation != LP_CUPTI_MEMORY_RELEASE) {
        return false;
    }
    to->kind =
        from->operation == LP_CUPTI_MEMORY_ALLOCATION ? LP_ALLOC : LP_FREE;
    to->correlation = from->correlation;
    to->start = to->end = time_of(from->time, to);
    if (lp_cupti.memory_sources && to->kind == LP_ALLOC) {
        to->name = file_of(more->source);
    }
    to->bytes = from->bytes;
    to->memory = memory_of((uint8_t)from->memory, 0);
    to->address = from->address;
    to->pooled = from->pool_type != 0;
    set_stream(to, from->device, from->context, from->stream);
    return true;
}

static bool (*const readers[])(const void *, lp_record *) = {
    [LP_CUPTI_MEMCPY] = read_memcpy,
    [LP_CUPTI_MEMSET] = read_memset,
    [LP_CUPTI_KERNEL] = read_kernel,
    [LP_CUPTI_DRIVER] = read_call,
    [LP_CUPTI_RUNTIME] = read_call,
    [LP_CUPTI_CONCURRENT_KERNEL] = read_kernel,
    [LP_CUPTI_MEMCPY2] = read_peer,
    [LP_CUPTI_UNIFIED_MEMORY_COUNTER] = read_migration,
    [LP_CUPTI_MEMORY2] = read_memory,
    [LP_CUPTI_GRAPH_TRACE] = read_graph,
    [LP_CUPTI_DEVICE_GRAPH_TRACE] = read_device_graph,
};

bool
lp_cupti_read(const void *record, lp_record *to)
{
    uint32_t kind = *(const uint32_t *)record;

    return kind < sizeof(readers) / sizeof(readers[0]) &&
           readers[kind] != NULL && readers[kind](record, to);
}

enum {
    MIN_RECORD_BYTES = 88, /* of a device's work: a memset's or copy's */
    READING_NS = 1000000,  /* between two looks whether buffers are read */
    READING_POLLS = 5000   /* max number of these */
};

static lp_cupti_buffers buffers;

/* A buffer was handed out (1) or has come back (-1): tell how many records the
 * buffers that are out can hold back. */
static void
count_buffer(int change)
{
    uint64_t out = __atomic_add_fetch(
        &lp_cupti.buffers_out, (uint64_t)(int64_t)change, __ATOMIC_ACQ_REL);

    if (lp_cupti_is_open()) {
        __atomic_store_n(&lp_cupti.host.activity->correlations.held_back,
                         (out + 1) * LP_CUPTI_BUFFER_BYTES / MIN_RECORD_BYTES,
                         __ATOMIC_RELAXED);
    }
}

void
lp_cupti_on_requested(uint8_t **buffer, size_t *size, size_t *records)
{
    int before = errno; /* this may run inside a call of the program */

    if (lp_cupti_is_forked()) {
        *records = 0;
        *buffer = lp_cupti_child_buffer(size);
        errno = before;
        return;
    }
    *records = 0; /* as many as fit */
    *buffer = lp_cupti_buffers_hand_out(&buffers, size);
    if (*buffer != NULL) {
        count_buffer(1);
    }
    errno = before;
}

/* Tell a flush that records of the work before it still come, and the next one
 * that a graph ran: one that the device or an unknown call launched, too.
 * Under the lock. */
static void
note_for_flush(const lp_record *record)
{
    if (record->start <=
        __atomic_load_n(&lp_cupti.flushed, __ATOMIC_RELAXED)) {
        __atomic_store_n(&lp_cupti.earlier, lp_cupti.earlier + 1,
                         __ATOMIC_RELEASE);
    }
    else if (record->node != 0) {
        __atomic_store_n(&lp_cupti.many, true, __ATOMIC_RELEASE);
    }
}

/* Add all records of a buffer, under one lock. */
static void
add_records(lp_activity *activity, uint8_t *buffer, size_t size, size_t valid)
{
    void *record = NULL;
    bool fails;
    int status = LP_CUPTI_OK;

    pthread_mutex_lock(&activity->lock);
    update_run();
    while (valid <= size) {
        lp_record read = {0};

        status = lp_cupti_get_next_record(buffer, valid, &record);
        if (status != LP_CUPTI_OK) {
            break;
        }
        if (lp_cupti_read(record, &read)) {
            lp_activity_add_record(activity, &read);
            note_for_flush(&read);
        }
    }
    if (status != LP_CUPTI_MAX_LIMIT_REACHED) {
        activity->invalid++;
        activity->unknown++;
    }
    lp_correlation_reclaim(&activity->correlations);
    fails = activity->join == LP_JOIN_FAILS;
    pthread_mutex_unlock(&activity->lock);
    if (LP_UNLIKELY(fails)) {
        lp_cupti_join_by_runtime();
    }
}

int
lp_cupti_count_dropped(void *context, uint32_t stream)
{
    size_t dropped = 0;
    int status = lp_cupti_get_dropped(context, stream, &dropped);

    if (status == LP_CUPTI_OK) {
        __atomic_fetch_add(&lp_cupti.dropped, dropped, __ATOMIC_RELAXED);
    }
    return status;
}

/* Read a buffer that has come back. */
static void
take(void *context, uint32_t stream, uint8_t *buffer, size_t size,
     size_t valid)
{
    int status;

    /* (Not before the caller says that it reads: see close.) */
    if (__atomic_load_n(&lp_cupti.state, __ATOMIC_SEQ_CST) != LP_CUPTI_OPEN) {
        count_buffer(-1);
        free(buffer);
        return;
    }
    if (valid > 0) {
        add_records(lp_cupti.host.activity, buffer, size, valid);
    }
    status = lp_cupti_count_dropped(context, stream);
    if (status != LP_CUPTI_OK) {
        lp_cupti_miss(LP_CUPTI_NO_DROPPED,
                      LP_CUPTI_NAMED("cuptiActivityGetNumDroppedRecords"),
                      status);
    }
    lp_cupti_buffers_keep(&buffers, buffer, size);
    count_buffer(-1);
}

void
lp_cupti_on_completed(void *context, uint32_t stream, uint8_t *buffer,
                      size_t size, size_t valid)
{
    size_t ours;

    (void)size;
    if (lp_cupti_is_forked()) {
        return;
    }
    ours = lp_cupti_buffers_take_back(&buffers, buffer);
    if (ours == 0) {
        /* Another tool's, which frees the buffer itself, or has done so. */
        __atomic_fetch_add(&lp_cupti.foreign, buffer != NULL,
                           __ATOMIC_RELAXED);
        return;
    }
    __atomic_fetch_add(&lp_cupti.reading, 1, __ATOMIC_SEQ_CST);
    take(context, stream, buffer, ours, valid);
    __atomic_fetch_sub(&lp_cupti.reading, 1, __ATOMIC_SEQ_CST);
}

void
lp_cupti_on_requested_v2(uint8_t **buffer, size_t *size, size_t *records,
                         void *info)
{
    (void)info;
    lp_cupti_on_requested(buffer, size, records);
}

void
lp_cupti_on_completed_v2(uint8_t *buffer, size_t size, size_t valid,
                         void *info)
{
    (void)info;
    lp_cupti_on_completed(NULL, 0, buffer, size, valid);
}

bool
lp_cupti_reading_is_done(void)
{
    struct timespec pause = {.tv_nsec = READING_NS};
    int polls = 0;

    while (__atomic_load_n(&lp_cupti.reading, __ATOMIC_SEQ_CST) != 0 &&
           polls++ < READING_POLLS) {
        nanosleep(&pause, NULL);
    }
    return polls <= READING_POLLS;
}
