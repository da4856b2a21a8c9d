/* From CUPTI's records, by their beginnings, to records of the ledger. */
#include "lp_cupti.h"

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
set_place(lp_record *to, uint32_t device, uint32_t context, uint32_t stream)
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
    set_place(to, from->device, from->context, from->stream);
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
    to->what = from->copy_kind;
    to->memory = memory_of(from->source, from->target);
    to->blocking = is_pageable(from->source, from->target);
    set_place(to, from->device, from->context, from->stream);
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
    to->what = from->copy_kind;
    to->memory = memory_of(from->source, from->target);
    set_place(to, from->device, from->context, from->stream);
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
    set_place(to, from->device, from->context, from->stream);
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
    to->what = from->call;
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
    set_place(to, from->device, from->context, from->stream);
    return true;
}

/* Directions, as of copies; the other counters are no transfers. */
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

    to->what = direction_of(from->counter);
    if (to->what == 0) {
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
    set_place(to, from->device, from->context, from->stream);
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
