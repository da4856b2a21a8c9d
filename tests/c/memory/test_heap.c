/* The heap: blocks, and the lines that they are charged to. */
#include "memory/heap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "memory/curve.h"
#include "memory/heap_path.h"
#include "memory/heap_session.h"
#include "memory/pages.h"
#include "record/greenlet_stacks.h"
#include "record/thread_double.h"

static lp_ticks now;
static fixture *made;
static lp_clock the_clock;

static lp_ticks
read_now(void)
{
    return now;
}

/* Begin with main() on line 1 of code 0. */
static void
start(uint64_t sample)
{
    now = 1000;
    CHECK(lp_heap_start(&made->paths, &the_clock, sample));
    enter(made, 0);
    line(made, 1);
}

static void
stop(void)
{
    while (depth_of(made) > 0) {
        leave(made);
    }
    lp_heap_stop();
}

/* Blocks are never read or written, so that any address will do. */
static void *
at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static void
allocate(void *block, size_t bytes)
{
    CHECK(lp_heap_enter());
    lp_heap_leave();
    lp_heap_added(block, bytes);
}

static void
release(void *block)
{
    lp_heap_freed(lp_heap_take(block));
}

/* Numbers of the present path. */
static lp_heap_sum
here(void)
{
    return lp_heap_sum_of(lp_current_path(made->rec, &made->paths));
}

static bool
is(lp_heap_sum sum, uint64_t allocs, uint64_t bytes, uint64_t freed,
   uint64_t temp)
{
    return sum.allocs == allocs && sum.alloc_bytes == bytes &&
           sum.freed_bytes == freed && sum.temp_bytes == temp;
}

static const uint64_t sizes[] = {0,    1,    16,   511,  512,    513,
                                 1024, 2047, 2048, 2049, 100000, 1 << 30};

static void
a_block_is_on_its_line_whoever_frees_it(void)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint64_t bytes = sizes[i];
        lp_heap_sum sum;

        start(0);
        allocate(at(0x10000), bytes);
        CHECK(is(here(), 1, bytes, 0, 0));
        CHECK(lp_heap_live() == bytes);
        line(made, 2);
        release(at(0x10000));
        CHECK(is(here(), 0, 0, 0, 0));
        line(made, 1);
        sum = here();
        CHECK(is(sum, 1, bytes, bytes, 0));
        CHECK(sum.peak_bytes == bytes);
        CHECK(lp_heap_live() == 0);
        stop();
    }
}

static void
addresses_of_any_kind_are_kept(void)
{
    static const uint64_t addresses[] = {
        0x10008, 0x10001,         0x7ffffffff000,   0xffffffffffe0,
        0x10010, 0x1000000000000, 0xfffffffffffff0, 0xfffffffffffffff0};
    enum { N = sizeof(addresses) / sizeof(addresses[0]) };
    lp_heap_sum sum;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        start(0);
        for (int k = 0; k < N; k++) {
            allocate(at(addresses[k]), sizes[i]);
        }
        CHECK(is(here(), N, N * sizes[i], 0, 0));
        for (int k = 0; k < N; k++) {
            release(at(addresses[k]));
        }
        sum = here();
        CHECK(is(sum, N, N * sizes[i], N * sizes[i], N * sizes[i]));
        stop();
    }
}

static void
memory_is_temporary_if_its_line_has_not_ended(void)
{
    start(0);
    allocate(at(0x100), 10); /* freed by the line itself */
    release(at(0x100));
    CHECK(is(here(), 1, 10, 10, 10));
    allocate(at(0x100), 10); /* by what the line calls */
    enter(made, 1);
    allocate(at(0x200), 7);
    line(made, 3);
    release(at(0x100));
    leave(made);
    CHECK(is(here(), 3, 27, 20, 20));
    release(at(0x200)); /* allocated before the callee had a line */
    CHECK(is(here(), 3, 27, 27, 27));
    allocate(at(0x100), 10);
    line(made, 2);
    line(made, 1); /* another execution of the line */
    release(at(0x100));
    CHECK(is(here(), 4, 37, 37, 27));
    stop();
}

static void
what_a_function_has_made_is_not_temporary_after_it(void)
{
    uint32_t path;

    start(0);
    enter(made, 1);
    line(made, 3);
    allocate(at(0x100), 10);
    path = lp_current_path(made->rec, &made->paths);
    leave(made);
    release(at(0x100));
    CHECK(is(lp_heap_sum_of(path), 1, 10, 10, 0));
    stop();
}

static void
memory_outside_of_lines_is_on_the_thread(void)
{
    uint32_t root = lp_call_paths_root(&made->paths, 3, false);

    start(0);
    leave(made);
    allocate(at(0x100), 10);
    release(at(0x100));
    CHECK(is(lp_heap_sum_of(root), 1, 10, 10, 0));
    stop();
}

static void
a_block_that_moves_is_freed_and_never_temporary(void)
{
    lp_heap_block old;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        start(0);
        allocate(at(0x1000), sizes[i]);
        old = lp_heap_take(at(0x1000));
        lp_heap_moved(old);
        lp_heap_added(at(0x1000), 600);
        CHECK(is(here(), 2, sizes[i] + 600, sizes[i], 0));
        old = lp_heap_take(at(0x1000));
        lp_heap_put_back(at(0x1000), old);
        CHECK(is(here(), 2, sizes[i] + 600, sizes[i], 0));
        release(at(0x1000));
        CHECK(is(here(), 2, sizes[i] + 600, sizes[i] + 600, 600));
        stop();
    }
}

static void
older_blocks_and_null_count_for_nothing(void)
{
    start(0);
    release(at(0x5000));
    release(NULL);
    lp_heap_moved(lp_heap_take(NULL));
    lp_heap_added(NULL, 5);
    lp_heap_put_back(at(0x5000), lp_heap_take(at(0x5000)));
    CHECK(is(here(), 0, 0, 0, 0));
    allocate(at(0x100), 10);
    stop();
    start(0); /* what is left of the last run is older, too */
    release(at(0x100));
    CHECK(is(here(), 0, 0, 0, 0));
    stop();
}

static void
a_block_freed_without_a_word_is_freed_when_its_address_returns(void)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        start(0);
        allocate(at(0x1000), sizes[i]);
        allocate(at(0x1000), sizes[i]);
        CHECK(is(here(), 2, 2 * sizes[i], sizes[i], 0));
        release(at(0x1000));
        CHECK(is(here(), 2, 2 * sizes[i], 2 * sizes[i], sizes[i]));
        CHECK(lp_heap_live() == 0);
        stop();
    }
}

static void
the_peak_is_that_of_a_staircase(void)
{
    uint32_t paths[5];

    start(0);
    for (uint32_t i = 1; i < 5; i++) { /* up: 100 + 200 + 300 + 400 */
        now += 10;
        line(made, i);
        paths[i] = lp_current_path(made->rec, &made->paths);
        allocate(at(0x1000 * i), 100 * i);
    }
    now = 5000;
    release(at(0x2000)); /* down to 800, and up to 900 */
    allocate(at(0x9000), 100);
    now = 6000;
    release(at(0x1000));
    lp_heap_settle();
    CHECK(lp_heap_peak_at() == 5000);
    for (uint32_t i = 1; i < 5; i++) {
        CHECK(lp_heap_sum_of(paths[i]).peak_bytes == 100 * i);
    }
    now = 7000;
    allocate(at(0x10000), 5000); /* a new peak: the one before is gone */
    lp_heap_settle();
    CHECK(lp_heap_peak_at() == 7000);
    CHECK(lp_heap_sum_of(paths[1]).peak_bytes == 0);
    CHECK(lp_heap_sum_of(paths[2]).peak_bytes == 0);
    CHECK(lp_heap_sum_of(paths[4]).peak_bytes == 400 + 100 + 5000);
    stop();
}

static void
a_block_that_is_forgotten_leaves_no_trace(void)
{
    size_t bytes;

    start(0);
    line(made, 1);
    allocate(at(0x100), 32);
    CHECK(lp_heap_newest(&bytes) == at(0x100) && bytes == 32);
    lp_heap_forget(at(0x100));
    CHECK(lp_heap_newest(&bytes) == NULL);
    CHECK(is(here(), 0, 0, 0, 0));
    release(at(0x100));
    CHECK(is(here(), 0, 0, 0, 0));
    lp_heap_settle();
    CHECK(here().peak_bytes == 0 && lp_heap_peak_at() == 0);
    allocate(at(0x100), 32);
    line(made, 2);
    line(made, 1);
    lp_heap_forget(at(0x100)); /* an older one is the program's */
    CHECK(is(here(), 1, 32, 0, 0));
    stop();
}

/* What a program may do with the entries of blocks of some addresses. */
static void
allow(int access, void *block)
{
    enum {
        BYTES = LP_CHUNK_CELLS * sizeof(uint64_t) +
        LP_CHUNK_WIDE_CELLS * sizeof(lp_wide_cell)
    };

    CHECK(mprotect(lp_shadow[lp_unit_of(block) / LP_CHUNK_CELLS], BYTES,
                   access) == 0);
}

/* Another thread may free the block meanwhile, and its entry must not come
 * back then.  A look that wrote would end the test. */
static void
a_look_at_a_block_leaves_its_entry_alone(void)
{
    static const size_t kinds[] = {32, 600, 5000};
    size_t bytes;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        start(0);
        allocate(at(0x10000), kinds[i]);
        allow(PROT_READ, at(0x10000));
        CHECK(lp_heap_newest(&bytes) ==
              (kinds[i] > LP_SMALL_MAX ? NULL : at(0x10000)));
        line(made, 2);
        line(made, 1);
        CHECK(lp_heap_newest(&bytes) == NULL);
        lp_heap_forget(at(0x10000)); /* of an earlier execution */
        allow(PROT_READ | PROT_WRITE, at(0x10000));
        CHECK(is(here(), 1, kinds[i], 0, 0));
        release(at(0x10000));
        CHECK(lp_heap_newest(&bytes) == NULL);
        CHECK(lp_heap_live() == 0);
        stop();
    }
}

static void
own_work_allocates_nothing_and_frees_what_counts(void)
{
    lp_heap_block old;

    start(0);
    allocate(at(0x100), 10);
    allocate(at(0x200), 20);
    lp_heap_quiet();
    allocate(at(0x300), 30);
    release(at(0x100));
    old = lp_heap_take(at(0x200));
    lp_heap_moved(old);
    lp_heap_added(at(0x400), 40);
    lp_heap_audible();
    release(at(0x300));
    release(at(0x400));
    CHECK(is(here(), 2, 30, 30, 10));
    stop();
}

static void
a_hook_below_another_one_passes(void)
{
    start(0);
    CHECK(lp_heap_enter());
    CHECK(!lp_heap_enter());
    lp_heap_leave();
    CHECK(lp_heap_enter());
    lp_heap_leave();
    stop();
    CHECK(!lp_heap_enter());
    CHECK(lp_heap_take(at(0x100)).site == 0);
}

static void
many_large_blocks_make_the_table_grow(void)
{
    enum { N = 200000 };
    uint64_t step = 0x11000, first = 0x7f0000000000;

    start(0);
    for (uint64_t i = 0; i < N; i++) {
        allocate(at(first + i * step), 70000);
    }
    CHECK(is(here(), N, N * (uint64_t)70000, 0, 0));
    CHECK(lp_heap_lost() == 0);
    CHECK(lp_large_bytes() < N * (uint64_t)64 + (1 << 20));
    for (uint64_t i = 0; i < N; i++) {
        lp_heap_block taken = lp_heap_take(at(first + i * step));

        CHECK(taken.bytes == 70000);
        lp_heap_freed(taken);
    }
    CHECK(lp_heap_live() == 0);
    stop();
}

/* A model: blocks in an array, with the line that each is charged to. */
typedef struct model {
    uint64_t bytes;
    bool is_live;
    uint32_t line;
    uint64_t execution;
} model;

static void
random_programs_are_as_their_model(void)
{
    enum { BLOCKS = 500, STEPS = 200000 };
    static model blocks[BLOCKS];
    lp_heap_sum sums[LINES] = {{0}};
    uint64_t random = 1, executions = 0, live = 0, peak = 0;
    uint32_t at_line = 1;

    start(0);
    memset(blocks, 0, sizeof(blocks));
    for (int step = 0; step < STEPS; step++) {
        uint32_t i = random_below(&random, BLOCKS);
        void *block =
            at(0x7f1000000000u + (uint64_t)i * 0x1000 + 16 * (i % 7));
        model *one = &blocks[i];

        if (random_below(&random, 3) == 0) {
            uint32_t to =
                (at_line + 1 + random_below(&random, LINES - 1)) % LINES;

            line(made, to);
            at_line = to;
            executions++;
        }
        if (one->is_live) {
            bool temp = one->line == at_line && one->execution == executions;

            release(block);
            sums[one->line].freed_bytes += one->bytes;
            sums[one->line].temp_bytes += temp ? one->bytes : 0;
            live -= one->bytes;
            one->is_live = false;
        }
        else {
            uint64_t bytes =
                sizes[random_below(&random, 11)] + random_below(&random, 3);

            allocate(block, bytes);
            *one = (model){bytes, true, at_line, executions};
            sums[at_line].allocs++;
            sums[at_line].alloc_bytes += bytes;
            live += bytes;
        }
        if (live > peak) {
            peak = live;
            for (uint32_t k = 0; k < LINES; k++) {
                sums[k].peak_bytes = sums[k].alloc_bytes - sums[k].freed_bytes;
            }
        }
    }
    CHECK(lp_heap_live() == live);
    lp_heap_settle();
    for (uint32_t k = 0; k < LINES; k++) {
        uint32_t path = lp_call_paths_child(
            &made->paths, lp_call_paths_root(&made->paths, 3, false), 1, k);
        lp_heap_sum sum = lp_heap_sum_of(path);

        CHECK(memcmp(&sum, &sums[k], sizeof(sum)) == 0);
    }
    stop();
}

static void
a_deep_line_of_another_greenlet_is_not_looked_for(void)
{
    enum { DEPTH = 20 }; /* more than a greenlet's first array has */
    static const int greenlets[2];
    uint32_t path;

    start(0);
    for (uint32_t i = 0; i < DEPTH; i++) {
        enter(made, i % CODES);
        line(made, 1);
    }
    allocate(at(0x100), 10);
    path = lp_current_path(made->rec, &made->paths);
    CHECK(lp_stacks_switch(made->rec, &greenlets[1], 0));
    release(at(0x100));
    CHECK(is(lp_heap_sum_of(path), 1, 10, 10, 0));
    CHECK(lp_stacks_switch(made->rec, NULL, 0));
    stop();
}

/* What another library does around a fork. */
static void
allocate_on_a_new_line(void)
{
    static uint32_t at_line = 2;

    if (lp_heap_is_on() && depth_of(made) > 0) {
        line(made, at_line++);
        allocate(at(0x100), 10);
        release(at(0x100));
    }
}

static void
others_may_allocate_around_a_fork(void)
{
    int status = -1;
    pid_t child;

    CHECK(lp_heap_start(lp_call_paths_of_process(), &the_clock, 0));
    enter(made, 0);
    line(made, 1);
    alarm(20);
    child = fork();
    if (child == 0) {
        alarm(20);
        allocate_on_a_new_line();
        _exit(lp_heap_sum_of(
                  lp_current_path(made->rec, lp_call_paths_of_process()))
                  .alloc_bytes != 10);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    alarm(0);
    stop();
}

static void
locked_pages_are_cleared_too(void)
{
    enum { BYTES = 1 << 16 };
    char *pages = lp_pages_map(BYTES);

    pages[0] = pages[BYTES - 1] = 1;
    if (mlock(pages, 4096) == 0) {
        lp_pages_clear(pages, BYTES);
        CHECK(pages[0] == 0 && pages[BYTES - 1] == 0);
    }
    lp_pages_unmap(pages, BYTES);
}

static void
samples_are_right_in_sum(void)
{
    enum { N = 400000 };
    static const size_t bytes[] = {8, 40, 600, 10000};
    lp_heap_sum sum;

    for (int k = 0; k < 4; k++) {
        uint64_t total = N * (uint64_t)bytes[k];

        start(8192);
        for (uint64_t i = 0; i < N; i++) {
            allocate(at(0x10000 + i * 0x4000), bytes[k]);
        }
        sum = here();
        CHECK(sum.alloc_bytes > total * 8 / 10 &&
              sum.alloc_bytes < total * 12 / 10);
        CHECK(sum.allocs > N * 8 / 10 && sum.allocs < N * 12 / 10);
        for (uint64_t i = 0; i < N; i++) {
            release(at(0x10000 + i * 0x4000));
        }
        CHECK(here().freed_bytes == sum.alloc_bytes);
        CHECK(lp_heap_live() == 0);
        stop();
    }
}

static void
a_sample_that_is_forgotten_leaves_no_trace(void)
{
    start(8192);
    for (uint64_t i = 0; i < 100000; i++) {
        allocate(at(0x10000 + i % 64 * 32), 32);
        lp_heap_forget(at(0x10000 + i % 64 * 32));
    }
    CHECK(is(here(), 0, 0, 0, 0));
    CHECK(lp_heap_live() == 0);
    stop();
}

static void
the_curve_has_few_moments_and_the_highest(void)
{
    uint64_t highest = 0;
    bool in_order = true;

    start(0);
    for (uint64_t i = 0; i < 5000; i++) {
        now += 3000000;
        allocate(at(0x10000), i == 1234 ? 1u << 20 : 5000u);
        release(at(0x10000));
    }
    CHECK(lp_curve_length() <= LP_MOMENTS);
    CHECK(lp_curve_length() > LP_MOMENTS / 4);
    for (uint32_t i = 0; i < lp_curve_length(); i++) {
        const lp_moment *moment = lp_curve_at(i);

        highest = moment->live > highest ? moment->live : highest;
        in_order &= i == 0 || moment->at > lp_curve_at(i - 1)->at;
        CHECK(moment->n == 1 && moment->bytes[0] == moment->live);
    }
    CHECK(in_order);
    CHECK(highest == 1 << 20);
    stop();
}

static void
tables_that_are_only_read_take_no_memory(void)
{
    uint64_t before;

    start(0);
    allocate(at(0x10000), 16);
    before = lp_heap_side_bytes();
    for (uintptr_t i = 1; i < 1000; i++) {
        release(at(0x10000 + i * 0x2000)); /* older than measuring */
    }
    CHECK(lp_heap_side_bytes() == before);
    stop();
}

int
main(void)
{
    pthread_atfork(allocate_on_a_new_line, NULL, allocate_on_a_new_line);
    lp_clock_set_source(&the_clock, read_now);
    made = set_up();
    lp_current_recorder = made->rec;
    a_block_is_on_its_line_whoever_frees_it();
    addresses_of_any_kind_are_kept();
    memory_is_temporary_if_its_line_has_not_ended();
    what_a_function_has_made_is_not_temporary_after_it();
    memory_outside_of_lines_is_on_the_thread();
    a_block_that_moves_is_freed_and_never_temporary();
    older_blocks_and_null_count_for_nothing();
    a_block_freed_without_a_word_is_freed_when_its_address_returns();
    the_peak_is_that_of_a_staircase();
    a_block_that_is_forgotten_leaves_no_trace();
    a_look_at_a_block_leaves_its_entry_alone();
    own_work_allocates_nothing_and_frees_what_counts();
    a_hook_below_another_one_passes();
    many_large_blocks_make_the_table_grow();
    random_programs_are_as_their_model();
    a_deep_line_of_another_greenlet_is_not_looked_for();
    locked_pages_are_cleared_too();
    others_may_allocate_around_a_fork();
    samples_are_right_in_sum();
    a_sample_that_is_forgotten_leaves_no_trace();
    the_curve_has_few_moments_and_the_highest();
    tables_that_are_only_read_take_no_memory();
    lp_current_recorder = NULL;
    tear_down(made);
    return check_failures;
}
