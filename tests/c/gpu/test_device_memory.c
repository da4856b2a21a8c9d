/* Memory of devices: live bytes and peaks by path, whatever order records come
 * in. */
#include "gpu/device_memory.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "random.h"

static lp_memory_event
event(lp_ns time, uint64_t address, uint64_t bytes, uint32_t path)
{
    return (lp_memory_event){.time = time,
                             .address = address,
                             .bytes = bytes,
                             .path = path,
                             .memory = 3,
                             .frees = path == 0};
}

static void
add(lp_device_memory *memory, lp_ns time, uint64_t address, uint64_t bytes,
    uint32_t path)
{
    lp_memory_event added = event(time, address, bytes, path);

    lp_device_memory_add(memory, &added);
}

static const lp_memory_sum *
sum_of(const lp_device_memory *memory, uint32_t path)
{
    for (size_t i = 0; i < memory->n_sums; i++) {
        if (memory->sums[i].path == path) {
            return &memory->sums[i];
        }
    }
    return NULL;
}

static uint64_t
live(const lp_device_memory *memory, uint32_t path)
{
    const lp_memory_sum *sum = sum_of(memory, path);

    return sum->alloc_bytes - sum->freed_bytes;
}

static uint64_t
at_peak(const lp_device_memory *memory, uint32_t path)
{
    return lp_device_memory_at_peak(memory, sum_of(memory, path), 0);
}

static void
a_path_has_its_part_of_the_peak(void)
{
    lp_device_memory memory;

    lp_device_memory_init(&memory);
    add(&memory, 1, 0x100, 10, 1);
    add(&memory, 2, 0x200, 20, 2);
    add(&memory, 3, 0x100, 10, 0);
    add(&memory, 4, 0x300, 15, 1); /* 35: the peak */
    add(&memory, 5, 0x200, 20, 0);
    add(&memory, 6, 0x200, 5, 3);
    add(&memory, 7, 0x100, 15, 1); /* 35 once more */
    lp_device_memory_settle(&memory);
    CHECK(memory.n_spaces == 1 && memory.spaces[0].views[0].peak == 35);
    CHECK(memory.spaces[0].views[0].peak_time == 4 &&
          memory.spaces[0].views[0].live == 35);
    CHECK(at_peak(&memory, 1) == 15 && live(&memory, 1) == 30);
    CHECK(at_peak(&memory, 2) == 20 && live(&memory, 2) == 0);
    CHECK(at_peak(&memory, 3) == 0 && live(&memory, 3) == 5);
    CHECK(sum_of(&memory, 1)->allocs == 3 && memory.late == 0);
    lp_device_memory_free(&memory);
}

enum { PATHS = 7, ADDRESSES = 400, EVENTS = 20000 };

/* Compare a shuffled log of blocks with numbers that are computed from all of
 * it, in order. */
static void
records_count_in_the_order_of_their_times(void)
{
    static lp_memory_event log[EVENTS];
    static uint64_t bytes[ADDRESSES], part[PATHS], peak_part[PATHS];
    static uint32_t owner[ADDRESSES];
    uint64_t sum = 0, peak = 0, when = 0;
    uint64_t seed = 7;
    lp_device_memory memory, copy;

    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t place = random_below(&seed, ADDRESSES);

        log[i] = event(10 + i, 0x1000 + 512 * (uint64_t)place, 0, 0);
        if (bytes[place] == 0) {
            owner[place] = 1 + random_below(&seed, PATHS - 1);
            bytes[place] = 1 + random_below(&seed, 1000);
            log[i].path = owner[place];
            log[i].bytes = bytes[place];
            log[i].frees = false;
            part[owner[place]] += bytes[place];
            sum += bytes[place];
        }
        else {
            part[owner[place]] -= bytes[place];
            sum -= bytes[place];
            bytes[place] = 0;
        }
        if (sum > peak) {
            peak = sum;
            when = 10 + i;
            memcpy(peak_part, part, sizeof(part));
        }
    }
    for (uint32_t i = EVENTS - 1; i > 0; i--) {
        uint32_t other = random_below(&seed, i + 1);
        lp_memory_event kept = log[i];

        log[i] = log[other];
        log[other] = kept;
    }
    lp_device_memory_init(&memory);
    for (uint32_t i = 0; i < EVENTS; i++) {
        lp_device_memory_add(&memory, &log[i]);
    }
    CHECK(lp_device_memory_copy(&copy, &memory));
    CHECK(memory.waiting == EVENTS && memory.n_sums == 0);
    lp_device_memory_settle(&copy);
    CHECK(copy.spaces[0].views[0].peak == peak &&
          copy.spaces[0].views[0].live == sum);
    CHECK(copy.spaces[0].views[0].peak_time == when);
    for (uint32_t path = 1; path < PATHS; path++) {
        CHECK(at_peak(&copy, path) == peak_part[path]);
        CHECK(live(&copy, path) == part[path]);
    }
    CHECK(copy.late == 0 && copy.lost == 0 && copy.unknown_frees == 0);
    lp_device_memory_free(&copy);
    lp_device_memory_free(&memory);
}

static void
the_records_that_wait_are_bounded(void)
{
    lp_device_memory memory;

    lp_device_memory_init(&memory);
    for (uint64_t i = 0; i < LP_MEMORY_WINDOW + 1000; i++) {
        add(&memory, 100 + i, 0x1000 + 512 * (i % 2), 1, i % 4 < 2 ? 1 : 0);
    }
    CHECK(memory.waiting == LP_MEMORY_WINDOW && memory.late == 0);
    add(&memory, 50, 0x9000, 7, 2); /* before what was counted */
    lp_device_memory_settle(&memory);
    CHECK(memory.late == 1 && live(&memory, 2) == 7);
    lp_device_memory_free(&memory);
}

/* Two blocks of one address: that of path 2, whose record came in time, is
 * live, whatever is told of the one of path 1 thereafter. */
static void
a_late_record_is_not_of_a_later_block(void)
{
    lp_device_memory memory;

    lp_device_memory_init(&memory);
    add(&memory, 30, 0x100, 20, 2);
    add(&memory, 30, 0x200, 20, 2);
    for (uint64_t i = 0; i < LP_MEMORY_WINDOW + 1000; i++) {
        add(&memory, 100 + i, 0x1000, 1, i % 2 == 0 ? 3 : 0);
    }
    add(&memory, 20, 0x100, 10, 0);
    add(&memory, 10, 0x200, 10, 1);
    lp_device_memory_settle(&memory);
    CHECK(memory.late == 2 && memory.unknown_frees == 0);
    CHECK(live(&memory, 2) == 40);
    CHECK(live(&memory, 1) == 0 && sum_of(&memory, 1)->alloc_bytes == 10);
    add(&memory, 1u << 30, 0x100, 20, 0);
    add(&memory, 1u << 30, 0x200, 20, 0);
    lp_device_memory_settle(&memory);
    CHECK(memory.unknown_frees == 0 && live(&memory, 2) == 0);
    lp_device_memory_free(&memory);
}

static void
blocks_beyond_the_max_number_are_lost(void)
{
    lp_device_memory memory;

    lp_device_memory_init(&memory);
    memory.max_blocks = 2;
    add(&memory, 1, 0x100, 1, 1);
    add(&memory, 2, 0x200, 2, 1);
    add(&memory, 3, 0x300, 4, 1);
    add(&memory, 4, 0x300, 4, 0);
    lp_device_memory_settle(&memory);
    CHECK(memory.lost == 1 && memory.unknown_frees == 1);
    CHECK(live(&memory, 1) == 3);
    lp_device_memory_free(&memory);
}

static void
a_start_sees_the_blocks_that_come_after_it(void)
{
    lp_device_memory memory;

    lp_device_memory_init(&memory);
    CHECK(lp_device_memory_start(&memory, 1) == 0); /* nothing came yet */
    add(&memory, 1, 0x100, 10, 1);
    CHECK(lp_device_memory_start(&memory, 5) == 1);
    CHECK(lp_device_memory_start(&memory, 5) == 1);
    add(&memory, 4, 0x200, 20, 1); /* of before */
    add(&memory, 6, 0x100, 10, 0);
    add(&memory, 7, 0x300, 30, 1);
    add(&memory, 8, 0x300, 30, 0);
    lp_device_memory_settle(&memory);
    CHECK(memory.n_sums == 2 && memory.unknown_frees == 0);
    CHECK(memory.spaces[0].views[0].peak == 50);
    CHECK(memory.spaces[0].views[0].live == 20);
    CHECK(memory.spaces[0].views[1].peak == 30);
    CHECK(memory.spaces[0].views[1].live == 0);
    CHECK(memory.sums[0].start == 0 && memory.sums[0].frees == 1);
    CHECK(lp_device_memory_at_peak(&memory, &memory.sums[0], 0) == 20);
    CHECK(lp_device_memory_at_peak(&memory, &memory.sums[1], 0) == 30);
    CHECK(lp_device_memory_at_peak(&memory, &memory.sums[1], 1) == 30);
    lp_device_memory_free(&memory);
}

static void
the_first_start_and_the_last_ones_have_peaks(void)
{
    lp_device_memory memory;
    uint32_t start = 0;

    lp_device_memory_init(&memory);
    for (uint64_t i = 1; i <= 20; i++) {
        add(&memory, 10 * i, 512 * i, i, 1);
        start = lp_device_memory_start(&memory, 10 * i + 5);
        CHECK(start == i);
    }
    add(&memory, 1000, 0x100000, 7, 1);
    lp_device_memory_settle(&memory);
    CHECK(lp_device_memory_view(&memory, 0) == 0);
    CHECK(lp_device_memory_view(&memory, 13) == LP_MEMORY_VIEWS);
    CHECK(memory.spaces[0].views[0].peak == 217);
    for (uint32_t i = 14; i <= start; i++) {
        uint64_t after = 0;

        for (uint32_t k = i + 1; k <= 20; k++) {
            after += k;
        }
        CHECK(memory.spaces[0].views[lp_device_memory_view(&memory, i)].peak ==
              7 + after);
    }
    lp_device_memory_free(&memory);
}

static void
a_block_at_the_address_of_another_one_takes_its_place(void)
{
    lp_device_memory memory;

    lp_device_memory_init(&memory);
    add(&memory, 1, 0x100, 10, 1);
    add(&memory, 2, 0x100, 20, 2);
    add(&memory, 3, 0x0, 20, 2); /* no block */
    lp_device_memory_settle(&memory);
    CHECK(live(&memory, 1) == 0 && live(&memory, 2) == 20);
    CHECK(memory.spaces[0].views[0].peak == 20);
    lp_device_memory_free(&memory);
}

int
main(void)
{
    a_path_has_its_part_of_the_peak();
    records_count_in_the_order_of_their_times();
    the_records_that_wait_are_bounded();
    a_late_record_is_not_of_a_later_block();
    blocks_beyond_the_max_number_are_lost();
    a_start_sees_the_blocks_that_come_after_it();
    the_first_start_and_the_last_ones_have_peaks();
    a_block_at_the_address_of_another_one_takes_its_place();
    return check_failures;
}
