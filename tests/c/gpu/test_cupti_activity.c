/* CUPTI's records of every version, read by their first fields: later fields
 * are garbage here, and memory after a record is not accessible.
 *
 * Offsets and sizes are those of NVIDIA's headers, 11.7 to 13.5, written here
 * again, independently of csrc/gpu/cupti_abi.h, which is tested.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "gpu/cupti_backend.h"

static const char name[] = "_Z4axpyPfS_f";

/* A record of `size` bytes of garbage, to be freed. */
static unsigned char *
garbage(uint32_t kind, size_t size)
{
    unsigned char *record = malloc(size);

    memset(record, 0xA5, size);
    memcpy(record, &kind, sizeof(kind));
    return record;
}

static void
put8(unsigned char *record, size_t offset, uint8_t value)
{
    record[offset] = value;
}

static void
put16(unsigned char *record, size_t offset, uint16_t value)
{
    memcpy(record + offset, &value, sizeof(value));
}

static void
put32(unsigned char *record, size_t offset, uint32_t value)
{
    memcpy(record + offset, &value, sizeof(value));
}

static void
put64(unsigned char *record, size_t offset, uint64_t value)
{
    memcpy(record + offset, &value, sizeof(value));
}

/* Reads the record, and frees it. */
static bool
read_and_free(unsigned char *record, lp_record *to)
{
    bool known;

    *to = (lp_record){0};
    known = lp_cupti_read(record, to);
    free(record);
    return known;
}

static void
check_kernel(uint32_t kind, size_t size)
{
    unsigned char *record = garbage(kind, size);
    const char *pointer = name;
    lp_record read;

    put16(record, 6, 40);
    put64(record, 16, 5000000000000);
    put64(record, 24, 5000000000123);
    put32(record, 40, 3);
    put32(record, 44, 1);
    put32(record, 48, 7);
    for (uint32_t i = 0; i < 3; i++) {
        put32(record, 52 + 4 * i, 100 + i);
        put32(record, 64 + 4 * i, 200 + i);
    }
    put32(record, 76, 1024);
    put32(record, 80, 49152);
    put32(record, 92, 4000000000);
    memcpy(record + 104, &pointer, sizeof(pointer));
    put64(record, 144, (uint64_t)9 << 32 | 4);
    CHECK(read_and_free(record, &read));
    CHECK(read.kind == LP_KERNEL && !read.blocking);
    CHECK(read.start == 5000000000000 && read.end == 5000000000123);
    CHECK(read.device == 3 && read.context == 1 && read.stream == 7);
    CHECK(read.correlation == 4000000000 && read.name == name);
    CHECK(read.node == ((uint64_t)9 << 32 | 4));
    for (int i = 0; i < 3; i++) {
        CHECK(read.launch.grid[i] == 100 + i);
        CHECK(read.launch.block[i] == 200 + i);
    }
    CHECK(read.launch.registers == 40 && read.launch.static_smem == 1024);
    CHECK(read.launch.dynamic_smem == 49152 && read.bytes == 0);
}

static void
kernels_of_every_version(void)
{
    static const size_t sizes[] = {176, 200, 208, 216, 224, 232, 248};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_kernel(10, sizes[i]);
        check_kernel(3, sizes[i]);
    }
}

static void
a_kernel_without_a_name_is_named_with_a_question_mark(void)
{
    unsigned char *record = garbage(10, 176);
    lp_record read;

    put64(record, 104, 0);
    CHECK(read_and_free(record, &read) && strcmp(read.name, "?") == 0);
}

/* Fields that copies and peer copies have in common. */
static unsigned char *
a_copy(uint32_t kind, size_t size, size_t correlation, size_t node)
{
    unsigned char *record = garbage(kind, size);

    put8(record, 4, 2);
    put8(record, 5, 3);
    put8(record, 6, 2);
    put64(record, 8, (uint64_t)1 << 33);
    put64(record, 16, 70);
    put64(record, 24, 90);
    put32(record, 32, 3);
    put32(record, 36, 1);
    put32(record, 40, 7);
    put32(record, correlation, 4000000000);
    put64(record, node, 77);
    return record;
}

static void
check_copy(const lp_record *read)
{
    CHECK(read->kind == LP_MEMCPY && read->name_number == 2);
    CHECK(read->memory == 0x23 && read->bytes == (uint64_t)1 << 33);
    CHECK(read->start == 70 && read->end == 90);
    CHECK(read->device == 3 && read->context == 1 && read->stream == 7);
    CHECK(read->correlation == 4000000000 && read->node == 77);
    CHECK(read->name == NULL);
}

static void
copies_of_every_version(void)
{
    static const size_t sizes[] = {88, 96, 112};
    lp_record read;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        CHECK(read_and_free(a_copy(1, sizes[i], 44, 64), &read));
        check_copy(&read);
        CHECK(!read.blocking);
    }
    CHECK(read_and_free(a_copy(22, 96, 60, 72), &read));
    check_copy(&read);
    CHECK(!read.blocking);
}

static void
copies_of_pageable_memory_block(void)
{
    for (size_t side = 5; side <= 6; side++) {
        for (uint8_t kind = 0; kind < 8; kind++) {
            unsigned char *record = a_copy(1, 88, 44, 64);
            lp_record read;

            put8(record, side, kind);
            CHECK(read_and_free(record, &read));
            CHECK(read.blocking == (kind == 1));
        }
    }
}

static void
memsets_of_every_version(void)
{
    static const size_t sizes[] = {88, 104};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned char *record = garbage(2, sizes[i]);
        lp_record read;

        put64(record, 8, 4096);
        put64(record, 16, 70);
        put64(record, 24, 90);
        put32(record, 32, 3);
        put32(record, 36, 1);
        put32(record, 40, 7);
        put32(record, 44, 12);
        put16(record, 50, 5);
        put64(record, 64, 77);
        CHECK(read_and_free(record, &read));
        CHECK(read.kind == LP_MEMSET && read.bytes == 4096);
        CHECK(read.start == 70 && read.end == 90);
        CHECK(read.device == 3 && read.context == 1 && read.stream == 7);
        CHECK(read.correlation == 12 && read.node == 77);
        CHECK(read.memory == 5 && !read.blocking && read.name == NULL);
    }
}

static void
calls_of_both_domains(void)
{
    for (uint32_t kind = 4; kind <= 5; kind++) {
        unsigned char *record = garbage(kind, 40);
        lp_record read;

        put32(record, 4, 211);
        put64(record, 8, 70);
        put64(record, 16, 90);
        put32(record, 28, 4242);
        put32(record, 32, 12);
        CHECK(read_and_free(record, &read));
        CHECK(read.kind == (kind == 4 ? LP_DRIVER_CALL : LP_RUNTIME_CALL));
        CHECK(read.name_number == 211 && read.start == 70 && read.end == 90);
        CHECK(read.thread == 4242 && read.correlation == 12);
        CHECK(read.device == 0 && read.node == 0 && read.name == NULL);
    }
}

static void
whole_graphs_of_every_version(void)
{
    static const size_t sizes[] = {48, 56};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned char *record = garbage(51, sizes[i]);
        lp_record read;

        put32(record, 4, 12);
        put64(record, 8, 70);
        put64(record, 16, 90);
        put32(record, 24, 3);
        put32(record, 32, 1);
        put32(record, 36, 7);
        CHECK(read_and_free(record, &read));
        CHECK(read.kind == LP_GRAPH && read.correlation == 12);
        CHECK(read.start == 70 && read.end == 90 && read.node == 0);
        CHECK(read.device == 3 && read.context == 1 && read.stream == 7);
    }
}

static unsigned char *
a_migration(uint32_t counter, size_t size)
{
    unsigned char *record = garbage(25, size);

    put32(record, 4, counter);
    put64(record, 8, 65536);
    put64(record, 16, 70);
    put64(record, 24, 90);
    put32(record, 40, 1);
    put32(record, 44, 2);
    return record;
}

static void
migrations_of_every_version(void)
{
    static const size_t sizes[] = {64, 104};
    lp_record read;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        CHECK(read_and_free(a_migration(1, sizes[i]), &read));
        CHECK(read.kind == LP_MIGRATION && read.name_number == 1);
        CHECK(read.start == 70 && read.end == 90 && read.bytes == 65536);
        CHECK(read.device == 2 && read.correlation == 0); /* its target */
        CHECK(read_and_free(a_migration(2, sizes[i]), &read));
        CHECK(read.name_number == 2 && read.device == 1); /* its source */
        CHECK(read_and_free(a_migration(8, sizes[i]), &read));
        CHECK(read.name_number == 8);
    }
    for (uint32_t counter = 0; counter < 12; counter++) {
        bool bytes = counter == 1 || counter == 2 || counter == 8;

        CHECK(read_and_free(a_migration(counter, 64), &read) == bytes);
    }
}

static unsigned char *
an_allocation(uint32_t operation, size_t size)
{
    unsigned char *record = garbage(49, size);

    put32(record, 4, operation);
    put32(record, 8, 3);
    put32(record, 12, 12);
    put64(record, 24, 4096);
    put64(record, 32, 70);
    put32(record, 52, 3);
    put32(record, 56, 1);
    put32(record, 60, 7);
    return record;
}

static void
allocations_of_every_version(void)
{
    static const size_t sizes[] = {120, 128};
    lp_record read;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        CHECK(read_and_free(an_allocation(1, sizes[i]), &read));
        CHECK(read.kind == LP_ALLOC && read.bytes == 4096);
        CHECK(read.start == 70 && read.end == 70 && read.correlation == 12);
        CHECK(read.device == 3 && read.context == 1 && read.stream == 7);
        CHECK(read.memory == 3 && read.node == 0);
        CHECK(read_and_free(an_allocation(2, sizes[i]), &read));
        CHECK(read.kind == LP_FREE && read.bytes == 4096);
    }
    CHECK(!read_and_free(an_allocation(0, 120), &read));
    CHECK(!read_and_free(an_allocation(77, 120), &read));
}

/* Fields that a release added are read from it on. */
static void
check_node(uint32_t kind, size_t size, uint32_t version, size_t node,
           size_t launcher, size_t source)
{
    unsigned char *record = garbage(kind, size);
    lp_record read;

    lp_cupti.version = version;
    put64(record, node, 55);
    if (launcher < size) {
        put8(record, launcher, 1);
    }
    if (source < size) {
        put64(record, source, 77);
    }
    CHECK(read_and_free(record, &read) && read.node == 55);
    CHECK(read.by_device == (version >= 130000));
    CHECK(read.source_node == (version >= 130400 ? 77 : 0));
    lp_cupti.version = 0;
}

static void
sources_and_launchers_of_graph_nodes(void)
{
    check_node(10, 208, 28, 144, 208, 240);
    check_node(10, 216, 130001, 144, 208, 240);
    check_node(10, 232, 130301, 144, 208, 240);
    check_node(10, 248, 130400, 144, 208, 240);
    check_node(1, 96, 28, 64, 84, 104);
    check_node(1, 96, 130001, 64, 84, 104);
    check_node(1, 112, 130401, 64, 84, 104);
    check_node(2, 88, 28, 64, 84, 96);
    check_node(2, 88, 130001, 64, 84, 96);
    check_node(2, 104, 130401, 64, 84, 96);
}

static void
graphs_that_the_device_launches(void)
{
    unsigned char *record = garbage(53, 56);
    lp_record read;

    put32(record, 4, 3);
    put64(record, 8, 70);
    put64(record, 16, 90);
    put32(record, 28, 12);
    put32(record, 36, 1);
    put64(record, 40, 7);
    CHECK(read_and_free(record, &read));
    CHECK(read.kind == LP_GRAPH && read.by_device && read.launcher == 12);
    CHECK(read.start == 70 && read.end == 90 && read.correlation == 0);
    CHECK(read.device == 3 && read.context == 1 && read.stream == 7);
}

static void
check_source(const char *path, const char *expected)
{
    unsigned char *record = an_allocation(1, 128);
    lp_record read;

    memcpy(record + 120, &path, sizeof(path));
    CHECK(read_and_free(record, &read));
    CHECK(expected == NULL ? read.name == NULL
                           : strcmp(read.name, expected) == 0);
}

static void
libraries_that_allocate(void)
{
    lp_cupti.memory_sources = true;
    check_source("/opt/pool/libpool.so", "libpool.so");
    check_source("libpool.so", "libpool.so");
    check_source(NULL, NULL);
    lp_cupti.memory_sources = false;
    check_source("/opt/pool/libpool.so", NULL);
}

static void
other_kinds_are_not_read(void)
{
    static const uint32_t ours[] = {1, 2, 3, 4, 5, 10, 22, 25, 49, 51, 53};
    size_t next = 0;
    lp_record read;

    for (uint32_t kind = 0; kind < 70; kind++) {
        if (next < sizeof(ours) / sizeof(ours[0]) && kind == ours[next]) {
            next++;
            continue;
        }
        CHECK(!read_and_free(garbage(kind, 4), &read));
    }
    CHECK(!read_and_free(garbage(UINT32_MAX, 4), &read));
    CHECK(!read_and_free(garbage(1u << 31, 4), &read));
}

static void
time_stamps_are_converted_to_the_clock(void)
{
    lp_record read;
    unsigned char *record = a_copy(1, 88, 44, 64);

    lp_cupti.offset = -50;
    CHECK(read_and_free(a_copy(1, 88, 44, 64), &read));
    CHECK(read.start == 20 && read.end == 40);
    put64(record, 16, 0); /* was not collected, and remains 0 */
    put64(record, 24, UINT64_MAX);
    lp_cupti.offset = INT64_MAX;
    CHECK(read_and_free(record, &read));
    CHECK(read.start == 0);
    lp_cupti.offset = 0;
}

int
main(void)
{
    kernels_of_every_version();
    a_kernel_without_a_name_is_named_with_a_question_mark();
    copies_of_every_version();
    copies_of_pageable_memory_block();
    memsets_of_every_version();
    calls_of_both_domains();
    whole_graphs_of_every_version();
    migrations_of_every_version();
    allocations_of_every_version();
    sources_and_launchers_of_graph_nodes();
    graphs_that_the_device_launches();
    libraries_that_allocate();
    other_kinds_are_not_read();
    time_stamps_are_converted_to_the_clock();
    return check_failures;
}
