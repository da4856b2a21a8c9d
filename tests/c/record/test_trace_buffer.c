/* Slices of one thread and of many: all that were added are read back, within
 * the limit of memory. */
#include "record/trace_buffer.h"

#include "check.h"

enum { MB = 1 << 20 };

static void
set_up(size_t max)
{
    CHECK(lp_the_trace_pool.used == 0);
    lp_the_trace_pool = (lp_trace_pool){.full_at = LP_NOT_FULL};
    lp_trace_pool_begin(max, 0, 0);
}

static bool
add(lp_trace_buffer *slices, lp_ticks start, lp_ticks end, uint32_t serial)
{
    lp_slice slice = {
        .start = start, .end = end, .serial = serial, .place = serial % 3};

    return lp_trace_buffer_add(slices, &slice);
}

static size_t
count_between(const lp_trace_buffer *slices, lp_ticks low, lp_ticks high)
{
    lp_trace_reader reader;
    lp_slice slice;
    size_t n = 0;

    lp_trace_reader_open(&reader, slices, low, high);
    while (lp_trace_reader_next(&reader, &slice)) {
        n += slice.start >= low && slice.start < high;
    }
    return n;
}

static size_t
count(const lp_trace_buffer *slices)
{
    return count_between(slices, 0, UINT64_MAX);
}

static void
extreme_numbers_come_back(void)
{
    const lp_slice given[] = {
        {0, 0, 0, 0, 0, 0},
        {0, 1, 1, 1, 1, 1},
        {1, 127, 127, 127, 127, 0},
        {1, 128, 128, 128, 128, 128},
        {0, (uint64_t)1 << 63, 16383, 16384, (uint64_t)1 << 63, 1},
        {(uint64_t)1 << 63, ((uint64_t)1 << 63) + 1, UINT32_MAX, UINT32_MAX, 0,
         0},
        {0, UINT64_MAX - 1, 1, 0, 0, 0},
        {5, 7, 1, 0, 0, 0}, /* another thread's clock was read earlier */
        {UINT64_MAX - 2, UINT64_MAX - 1, 2, UINT32_MAX, UINT64_MAX,
         UINT64_MAX},
    };
    enum { N = sizeof(given) / sizeof(given[0]) };
    lp_trace_buffer slices = {NULL, NULL};
    lp_trace_reader reader;
    lp_slice slice;

    set_up(MB);
    for (int i = 0; i < N; i++) {
        CHECK(lp_trace_buffer_add(&slices, &given[i]));
    }
    lp_trace_reader_open(&reader, &slices, 0, UINT64_MAX);
    for (int i = 0; i < N; i++) {
        CHECK(lp_trace_reader_next(&reader, &slice));
        CHECK(slice.start == given[i].start && slice.end == given[i].end);
        CHECK(slice.serial == given[i].serial);
        CHECK(slice.place == given[i].place);
        CHECK(slice.wait == given[i].wait);
        CHECK(slice.unsure == given[i].unsure);
    }
    CHECK(!lp_trace_reader_next(&reader, &slice));
    CHECK(count_between(&slices, 5, 6) == 1);
    lp_trace_buffer_free(&slices);
}

static void
millions_come_back_in_a_few_bytes_each(void)
{
    enum { N = 2000000 };
    lp_trace_buffer slices = {NULL, NULL};
    lp_trace_reader reader;
    lp_slice slice;
    size_t n = 0;

    set_up((size_t)64 * MB);
    for (lp_ticks i = 0; i < N; i++) {
        CHECK(add(&slices, i * 1000, i * 1000 + 900, (uint32_t)i % 100));
    }
    CHECK(lp_the_trace_pool.used <= 8u * N);
    lp_trace_reader_open(&reader, &slices, 0, UINT64_MAX);
    while (lp_trace_reader_next(&reader, &slice)) {
        CHECK(slice.start == n * 1000 && slice.end == n * 1000 + 900);
        CHECK(slice.serial == n % 100 && slice.place == n % 100 % 3);
        n++;
    }
    CHECK(n == N);
    CHECK(count_between(&slices, 7000, 9000) == 2);
    CHECK(count_between(&slices, (lp_ticks)N * 1000, UINT64_MAX) == 0);
    lp_trace_buffer_free(&slices);
    CHECK(lp_the_trace_pool.used == 0);
}

static void
many_threads_begin_small(void)
{
    enum { THREADS = 300 };
    static lp_trace_buffer slices[THREADS];

    set_up((size_t)128 * MB);
    for (int i = 0; i < THREADS; i++) {
        CHECK(add(&slices[i], 1, 2, 1));
    }
    CHECK(lp_the_trace_pool.used <= (size_t)2 * MB);
    for (int i = 0; i < THREADS; i++) {
        CHECK(count(&slices[i]) == 1);
        lp_trace_buffer_free(&slices[i]);
    }
}

static void
memory_is_never_exceeded(void)
{
    const size_t limits[] = {0,    1,     1023,   4095,  4096,
                             5000, 65536, 100000, MB + 7};

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        lp_trace_buffer some[3] = {{NULL, NULL}};
        size_t kept = 0;

        set_up(limits[i]);
        for (lp_ticks k = 0; k < 300000; k++) {
            kept += add(&some[k % 3], 10 * k, 10 * k + 5, 1);
            CHECK(lp_the_trace_pool.used <= limits[i]);
        }
        CHECK(kept < 300000);
        CHECK(count(&some[0]) + count(&some[1]) + count(&some[2]) == kept);
        for (int k = 0; k < 3; k++) {
            lp_trace_buffer_free(&some[k]);
        }
    }
}

static void
slices_up_to_the_limit_and_open_ones_are_kept(void)
{
    lp_trace_buffer slices = {NULL, NULL}, other = {NULL, NULL};
    lp_ticks full, i = 1;

    set_up(MB);
    while (add(&slices, 10 * i, 10 * i + 5, 1)) {
        i++;
    }
    full = lp_the_trace_pool.full_at;
    CHECK(full > 10 * i - 20 && full <= 10 * i + 5);
    CHECK(count(&slices) == i - 1);
    CHECK(!add(&slices, full, full + 1, 1));
    CHECK(!add(&other, full + 1000, full + 1001, 1));
    /* These were open then. */
    CHECK(add(&slices, full - 1, full + 1000000, 1));
    CHECK(add(&other, 0, full + 1000000, 1));
    CHECK(count(&slices) == i && count(&other) == 1);
    /* The limit can be raised. */
    lp_trace_pool_begin((size_t)2 * MB, 0, 0);
    CHECK(add(&other, full + 1000001, full + 1000002, 1));
    lp_trace_buffer_free(&slices);
    lp_trace_buffer_free(&other);
}

static void
dropped_slices_free_their_memory(void)
{
    enum { N = 200000 };
    lp_trace_buffer slices = {NULL, NULL};
    bool forgotten[] = {false, true, false, true};
    lp_trace_reader reader;
    lp_slice slice;
    size_t used, n = 0;

    set_up(MB);
    for (lp_ticks i = 0; i < N; i++) {
        add(&slices, i * i, i * i + i, (uint32_t)i % 5);
    }
    used = lp_the_trace_pool.used;
    CHECK(lp_the_trace_pool.full_at != LP_NOT_FULL);
    lp_trace_buffer_forget(&slices, forgotten, 4);
    lp_trace_reader_open(&reader, &slices, 0, UINT64_MAX);
    while (lp_trace_reader_next(&reader, &slice)) {
        lp_ticks i = slice.end - slice.start;

        CHECK(slice.start == i * i && slice.serial == i % 5);
        CHECK(slice.serial != 1 && slice.serial != 3);
        n++;
    }
    CHECK(n > 0 && lp_the_trace_pool.used <= used);
    forgotten[0] = forgotten[2] = true;
    lp_trace_buffer_forget(&slices, forgotten, 4);
    CHECK(count(&slices) > 0); /* serial 4 */
    for (int i = 0; i < 2; i++) {
        const bool all[] = {true, true, true, true, true};

        lp_trace_buffer_forget(&slices, all, 5);
        CHECK(count(&slices) == 0 && lp_the_trace_pool.used == 0);
        CHECK(lp_the_trace_pool.full_at == LP_NOT_FULL);
        CHECK(slices.first == NULL && slices.last == NULL);
        CHECK(add(&slices, 1, 2, 3) && count(&slices) == 1);
    }
    lp_trace_buffer_free(&slices);
}

int
main(void)
{
    extreme_numbers_come_back();
    millions_come_back_in_a_few_bytes_each();
    many_threads_begin_small();
    memory_is_never_exceeded();
    slices_up_to_the_limit_and_open_ones_are_kept();
    dropped_slices_free_their_memory();
    return check_failures;
}
