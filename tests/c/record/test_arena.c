/* Runs of records: zeroed, aligned, disjoint, and never moved. */
#include "record/arena.h"

#include <stdint.h>
#include <string.h>

#include "check.h"

static void
a_run_is_zeroed_and_aligned(void)
{
    lp_arena arena;
    static const char zeros[3 * LP_RECORD_BYTES];
    char *run;

    lp_arena_init(&arena, LP_BLOCK_COUNTERS, false);
    run = lp_arena_alloc(&arena, 3);
    CHECK(run != NULL);
    CHECK((uintptr_t)run % LP_RECORD_BYTES == 0);
    CHECK(memcmp(run, zeros, sizeof(zeros)) == 0);
    lp_arena_free(&arena);
}

static void
runs_do_not_overlap_and_do_not_move(void)
{
    enum { RUNS = 5000, RECORDS = 7 };
    static unsigned char *runs[RUNS];
    lp_arena arena;
    int wrong = 0;

    lp_arena_init(&arena, LP_BLOCK_COUNTERS, false);
    for (int i = 0; i < RUNS; i++) {
        runs[i] = lp_arena_alloc(&arena, RECORDS);
        memset(runs[i], i & 0xFF, RECORDS * LP_RECORD_BYTES);
    }
    for (int i = 0; i < RUNS; i++) {
        for (int j = 0; j < RECORDS * LP_RECORD_BYTES; j++) {
            wrong += runs[i][j] != (unsigned char)(i & 0xFF);
        }
    }
    CHECK(wrong == 0);
    CHECK(arena.bytes >= (size_t)RUNS * RECORDS * LP_RECORD_BYTES);
    lp_arena_free(&arena);
}

static void
a_run_longer_than_a_block_gets_its_own(void)
{
    lp_arena arena;
    size_t records = 100000;
    char *run;

    lp_arena_init(&arena, LP_BLOCK_COUNTERS, false);
    run = lp_arena_alloc(&arena, records);
    CHECK(run != NULL);
    memset(run, 1, records * LP_RECORD_BYTES);
    CHECK(lp_arena_alloc(&arena, 1) != NULL);
    lp_arena_free(&arena);
    CHECK(arena.first == NULL && arena.bytes == 0);
}

static void
a_run_that_is_too_long_is_null(void)
{
    lp_arena arena;

    lp_arena_init(&arena, LP_BLOCK_COUNTERS, false);
    CHECK(lp_arena_alloc(&arena, SIZE_MAX / LP_RECORD_BYTES / 4) == NULL);
    lp_arena_free(&arena);
}

int
main(void)
{
    a_run_is_zeroed_and_aligned();
    runs_do_not_overlap_and_do_not_move();
    a_run_longer_than_a_block_gets_its_own();
    a_run_that_is_too_long_is_null();
    return check_failures;
}
