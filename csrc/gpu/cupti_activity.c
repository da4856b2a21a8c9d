/* CUPTI's activity API: provides buffers, gets them back with records, and
 * reads the first fields of these into lp_record. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "gpu/cupti_backend.h"

static lp_ns
time_of(uint64_t stamp)
{
    return stamp == 0 ? 0 : stamp + (uint64_t)lp_cupti.offset;
}

static void
set_times(lp_record *to, uint64_t start, uint64_t end)
{
    to->start = time_of(start);
    to->end = time_of(end);
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

    to->kind = LP_KERNEL;
    to->correlation = from->correlation;
    set_times(to, from->start, from->end);
    set_stream(to, from->device, from->context, from->stream);
    to->node = from->graph_node;
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

    to->kind = LP_MEMCPY;
    to->correlation = from->correlation;
    set_times(to, from->start, from->end);
    to->bytes = from->bytes;
    to->name_number = from->copy_kind;
    to->memory = memory_of(from->source, from->target);
    to->blocking = is_pageable(from->source, from->target);
    set_stream(to, from->device, from->context, from->stream);
    to->node = from->graph_node;
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

    to->kind = LP_MEMSET;
    to->correlation = from->correlation;
    set_times(to, from->start, from->end);
    to->bytes = from->bytes;
    to->memory = memory_of((uint8_t)from->memory, 0);
    set_stream(to, from->device, from->context, from->stream);
    to->node = from->graph_node;
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
    to->thread = from->thread;
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

static bool
read_memory(const void *record, lp_record *to)
{
    const lp_cupti_memory *from = record;

    if (from->operation != LP_CUPTI_MEMORY_ALLOCATION &&
        from->operation != LP_CUPTI_MEMORY_RELEASE) {
        return false;
    }
    to->kind =
        from->operation == LP_CUPTI_MEMORY_ALLOCATION ? LP_ALLOC : LP_FREE;
    to->correlation = from->correlation;
    to->start = to->end = time_of(from->time);
    to->bytes = from->bytes;
    to->memory = memory_of((uint8_t)from->memory, 0);
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
};

bool
lp_cupti_read(const void *record, lp_record *to)
{
    uint32_t kind = *(const uint32_t *)record;

    return kind < sizeof(readers) / sizeof(readers[0]) &&
           readers[kind] != NULL && readers[kind](record, to);
}

enum { BUFFER_BYTES = 2 << 20, MAX_BUFFERS = 16, ALIGNMENT = 64 };

/* Buffers to be used again. */
static struct {
    pthread_mutex_t lock;
    uint8_t *buffers[MAX_BUFFERS]; /* owned */
    int n;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint8_t *
take_buffer(void)
{
    uint8_t *buffer = NULL;

    pthread_mutex_lock(&pool.lock);
    if (pool.n > 0) {
        buffer = pool.buffers[--pool.n];
    }
    pthread_mutex_unlock(&pool.lock);
    return buffer;
}

static void
return_buffer(uint8_t *buffer)
{
    pthread_mutex_lock(&pool.lock);
    if (pool.n < MAX_BUFFERS) {
        pool.buffers[pool.n++] = buffer;
        buffer = NULL;
    }
    pthread_mutex_unlock(&pool.lock);
    free(buffer);
}

void
lp_cupti_on_requested(uint8_t **buffer, size_t *size, size_t *records)
{
    int before = errno; /* this may run inside a call of the program */
    bool is_open = lp_cupti_is_open();
    void *made = is_open ? take_buffer() : NULL;

    *size = BUFFER_BYTES;
    *records = 0; /* as many as fit */
    /* CUPTI before 12.9 crashes without a buffer: a small one is enough. */
    while (made == NULL && *size >= 4096 &&
           posix_memalign(&made, ALIGNMENT, *size) != 0) {
        made = NULL;
        *size /= 2;
    }
    *buffer = made;
    if (made == NULL) {
        *size = 0;
    }
    __atomic_fetch_add(&lp_cupti.buffers_out, 1, __ATOMIC_RELAXED);
    errno = before;
}

/* Add all records of a buffer, under one lock. */
static void
add_records(lp_activity *activity, uint8_t *buffer, size_t valid)
{
    void *record = NULL;
    int status;

    pthread_mutex_lock(&activity->lock);
    for (;;) {
        lp_record read = {0};

        status = lp_cupti.api.get_next_record(buffer, valid, &record);
        if (status != LP_CUPTI_OK) {
            break;
        }
        if (lp_cupti_read(record, &read)) {
            lp_activity_add_record(activity, &read);
        }
    }
    if (status != LP_CUPTI_MAX_LIMIT_REACHED) {
        activity->invalid++;
    }
    lp_correlation_reclaim(&activity->correlations);
    pthread_mutex_unlock(&activity->lock);
}

void
lp_cupti_on_completed(void *context, uint32_t stream, uint8_t *buffer,
                      size_t size, size_t valid)
{
    size_t dropped = 0;

    if (!lp_cupti_is_open()) {
        free(buffer);
        return;
    }
    if (valid > 0 && buffer != NULL) {
        add_records(lp_cupti.host.activity, buffer, valid);
    }
    /* No lock of lineprof may be held here, because CUPTI has locks of its
     * own. */
    if (lp_cupti.api.get_dropped(context, stream, &dropped) == LP_CUPTI_OK) {
        __atomic_fetch_add(&lp_cupti.dropped, dropped, __ATOMIC_RELAXED);
    }
    if (size == BUFFER_BYTES) {
        return_buffer(buffer);
    }
    else {
        free(buffer);
    }
    __atomic_fetch_sub(&lp_cupti.buffers_out, 1, __ATOMIC_RELEASE);
}
