/* Runs of records: zeroed, aligned, apart, and where they were. */
#include "record/arena.h"

#include <stdint.h>
#include <string.h>

#include "check.h"

static void
a_run_is_zeroed_and_aligned(void)
{
    lp_blocks blocks;
    static const char zeros[3 * LP_RECORD_BYTES];
    char *run;

    lp_blocks_init(&blocks);
    run = lp_blocks_take(&blocks, 3);
    CHECK(run != NULL);
    CHECK((uintptr_t)run % LP_RECORD_BYTES == 0);
    CHECK(memcmp(run, zeros, sizeof(zeros)) == 0);
    lp_blocks_free(&blocks);
}

static void
runs_do_not_overlap_and_do_not_move(void)
{
    enum { RUNS = 5000, RECORDS = 7 };
    static unsigned char *runs[RUNS];
    lp_blocks blocks;
    int wrong = 0;

    lp_blocks_init(&blocks);
    for (int i = 0; i < RUNS; i++) {
        runs[i] = lp_blocks_take(&blocks, RECORDS);
        memset(runs[i], i & 0xFF, RECORDS * LP_RECORD_BYTES);
    }
    for (int i = 0; i < RUNS; i++) {
        for (int j = 0; j < RECORDS * LP_RECORD_BYTES; j++) {
            wrong += runs[i][j] != (unsigned char)(i & 0xFF);
        }
    }
    CHECK(wrong == 0);
    CHECK(blocks.bytes >= (size_t)RUNS * RECORDS * LP_RECORD_BYTES);
    lp_blocks_free(&blocks);
}

static void
a_run_longer_than_a_block_gets_its_own(void)
{
    lp_blocks blocks;
    size_t records = 100000;
    char *run;

    lp_blocks_init(&blocks);
    run = lp_blocks_take(&blocks, records);
    CHECK(run != NULL);
    memset(run, 1, records * LP_RECORD_BYTES);
    CHECK(lp_blocks_take(&blocks, 1) != NULL);
    lp_blocks_free(&blocks);
    CHECK(blocks.first == NULL && blocks.bytes == 0);
}

static void
a_run_that_cannot_be_had_is_null(void)
{
    lp_blocks blocks;

    lp_blocks_init(&blocks);
    CHECK(lp_blocks_take(&blocks, SIZE_MAX / LP_RECORD_BYTES / 4) == NULL);
    lp_blocks_free(&blocks);
}

int
main(void)
{
    a_run_is_zeroed_and_aligned();
    runs_do_not_overlap_and_do_not_move();
    a_run_longer_than_a_block_gets_its_own();
    a_run_that_cannot_be_had_is_null();
    return check_failures;
}
