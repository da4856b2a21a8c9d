/* Idle time in gaps, charged to the slices of one thread. */
#include "arithmetic/idle_sums.h"

#include "check.h"

static const lp_idle_sum *
sum_of(const lp_idle_track *track, uint32_t function, uint32_t line)
{
    static const lp_idle_sum none;

    for (size_t i = 0; i < track->n_sums; i++) {
        const lp_idle_sum *sum = &track->sums[i];

        if (sum->function == function && sum->line == line) {
            return sum;
        }
    }
    return &none;
}

static void
add_unsure(lp_idle_track *track, uint32_t function, uint32_t line,
           uint64_t start, uint64_t end, uint64_t wait, uint64_t unsure)
{
    lp_trace_slice slice = {
        .function = function, .line = line, .start = start, .ns = end - start};

    CHECK(lp_idle_track_add(track, &slice, wait, unsure, true));
}

static void
add(lp_idle_track *track, uint32_t function, uint32_t line, uint64_t start,
    uint64_t end, uint64_t wait)
{
    add_unsure(track, function, line, start, end, wait, 0);
}

static lp_idle_track
begin(const uint64_t *starts, const uint64_t *ends, size_t n)
{
    lp_idle_track track = {.starts = starts, .ends = ends, .n_gaps = n};

    lp_idle_track_begin(&track);
    return track;
}

/* 0 to 100: f; its line 7 calls g from 10 to 60, of which g's line 3 takes 20
 * to 50, and waits for 25. */
static void
the_innermost_slice_has_the_time(void)
{
    const uint64_t starts[] = {0, 15, 90}, ends[] = {5, 55, 110};
    lp_idle_track track = begin(starts, ends, 3);

    add(&track, 1, 0, 0, 100, 0);
    add(&track, 1, 7, 5, 70, 25);
    add(&track, 2, 0, 10, 60, 0);
    add(&track, 2, 3, 20, 50, 25);
    lp_idle_track_end(&track, true);
    CHECK(sum_of(&track, 1, 0)->inclusive == 5 + 40 + 10);
    CHECK(sum_of(&track, 1, 0)->computing == 15);
    CHECK(sum_of(&track, 1, 7)->inclusive == 40);
    CHECK(sum_of(&track, 1, 7)->computing == 0);
    CHECK(sum_of(&track, 2, 0)->computing == 10);
    CHECK(sum_of(&track, 2, 3)->waiting == 25);
    CHECK(sum_of(&track, 2, 3)->computing == 5);
    CHECK(sum_of(&track, 2, 3)->unknown == 0);
    lp_idle_track_free(&track);
}

/* A line of 100 waits for 60, and 50 of it are in the gap: it waited there for
 * 10 at least, and for 50 at most. */
static void
a_part_of_a_line_has_its_wait_within_limits(void)
{
    const uint64_t starts[] = {50}, ends[] = {200};
    lp_idle_track track = begin(starts, ends, 1);

    add(&track, 1, 1, 0, 100, 60);
    lp_idle_track_end(&track, true);
    CHECK(sum_of(&track, 1, 1)->waiting == 10);
    CHECK(sum_of(&track, 1, 1)->computing == 0);
    CHECK(sum_of(&track, 1, 1)->unknown == 40);
    lp_idle_track_free(&track);
}

/* Line 1 waits for up to 70 of 200, of which 50 may have been before it.  It
 * calls line 2, which has 60 of the 70, and all of the 50. */
static void
a_wait_that_may_have_been_earlier_has_no_certain_cause(void)
{
    const uint64_t starts[] = {0}, ends[] = {200};
    lp_idle_track track = begin(starts, ends, 1);

    add_unsure(&track, 1, 1, 0, 200, 70, 50);
    add(&track, 2, 0, 90, 200, 0);
    add_unsure(&track, 2, 2, 100, 200, 60, 50);
    lp_idle_track_end(&track, true);
    CHECK(sum_of(&track, 2, 2)->waiting == 10);
    CHECK(sum_of(&track, 2, 2)->unknown == 50);
    CHECK(sum_of(&track, 2, 2)->computing == 40);
    CHECK(sum_of(&track, 2, 0)->computing == 10);
    CHECK(sum_of(&track, 1, 1)->waiting == 10);
    CHECK(sum_of(&track, 1, 1)->unknown == 0);
    CHECK(sum_of(&track, 1, 1)->computing == 80);
    lp_idle_track_free(&track);
}

/* A line of 100 waits for 60, or for 40; 80 of it are in the gap. */
static void
both_limits_of_a_wait_add_up(void)
{
    const uint64_t starts[] = {20}, ends[] = {200};
    lp_idle_track track = begin(starts, ends, 1);

    add_unsure(&track, 1, 1, 0, 100, 60, 20);
    lp_idle_track_end(&track, true);
    CHECK(sum_of(&track, 1, 1)->waiting == 20);
    CHECK(sum_of(&track, 1, 1)->unknown == 40);
    CHECK(sum_of(&track, 1, 1)->computing == 20);
    lp_idle_track_free(&track);
}

static void
recursion_counts_once_and_equal_slices_nest(void)
{
    const uint64_t starts[] = {0}, ends[] = {1000};
    lp_idle_track track = begin(starts, ends, 1);

    for (uint32_t i = 0; i < 100; i++) {
        add(&track, 1, 5, 10, 20, 0);
    }
    add(&track, 1, 5, 20, 50, 0); /* once more, after all others */
    lp_idle_track_end(&track, true);
    CHECK(sum_of(&track, 1, 5)->inclusive == 40);
    CHECK(sum_of(&track, 1, 5)->computing == 40);
    CHECK(track.n_sums == 1);
    lp_idle_track_free(&track);
}

static void
many_lines_have_sums_of_their_own(void)
{
    enum { N = 10000 };
    const uint64_t starts[] = {0}, ends[] = {UINT64_MAX};
    lp_idle_track track = begin(starts, ends, 1);

    for (uint32_t i = 0; i < 3 * N; i++) {
        add(&track, i % N / 100, 1 + i % 100, i * 10, i * 10 + 10, 0);
    }
    lp_idle_track_end(&track, true);
    CHECK(track.n_sums == N);
    for (size_t i = 0; i < track.n_sums; i++) {
        CHECK(track.sums[i].computing == 30 && track.sums[i].open == 0);
    }
    lp_idle_track_free(&track);
}

int
main(void)
{
    the_innermost_slice_has_the_time();
    a_part_of_a_line_has_its_wait_within_limits();
    a_wait_that_may_have_been_earlier_has_no_certain_cause();
    both_limits_of_a_wait_add_up();
    recursion_counts_once_and_equal_slices_nest();
    many_lines_have_sums_of_their_own();
    return check_failures;
}
