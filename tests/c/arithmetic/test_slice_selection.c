/* Slices that are shown, folded and summed up, with lengths given as numbers.
 */
#include "arithmetic/slice_selection.h"

#include "check.h"

static const lp_slice_rule all = {
    .high = UINT64_MAX, .shown_ties = 1, .ties = 1, .slot_ns = 1000};

static lp_slice_selection
begin(lp_slice_rule rule, uint32_t n_threads)
{
    lp_slice_selection made;

    CHECK(lp_slice_selection_begin(&made, &rule, n_threads));
    return made;
}

/* Add a slice of thread 0; true if that gives `expected` and this slice. */
static bool
gives(lp_slice_selection *self, uint64_t start, uint64_t ns,
      lp_selected expected, uint64_t shown_start, uint64_t shown_ns)
{
    lp_trace_slice slice = {.function = 7, .start = start, .ns = ns};

    return lp_slice_selection_add(self, &slice) == expected &&
           slice.start == shown_start && slice.ns == shown_ns;
}

static lp_selected
add(lp_slice_selection *self, uint32_t thread, uint32_t function,
    uint64_t start, uint64_t ns)
{
    lp_trace_slice slice = {
        .thread = thread, .function = function, .start = start, .ns = ns};

    return lp_slice_selection_add(self, &slice);
}

static void
slices_are_cut_off_at_the_window_and_at_the_slice_around_them(void)
{
    lp_slice_rule rule = all;
    lp_slice_selection self;

    rule.low = 100;
    rule.high = 200;
    self = begin(rule, 1);
    CHECK(gives(&self, 10, 90, LP_SLICE_OUTSIDE, 10, 90));
    CHECK(gives(&self, 20, 500, LP_SLICE_SHOWN, 100, 100));
    CHECK(gives(&self, 30, 100, LP_SLICE_SHOWN, 100, 30));
    CHECK(gives(&self, 110, 21, LP_SLICE_SHOWN, 110, 20));
    CHECK(gives(&self, 130, UINT64_MAX, LP_SLICE_SHOWN, 130, 70));
    CHECK(gives(&self, 200, 1, LP_SLICE_OUTSIDE, 200, 1));
    lp_slice_selection_free(&self);
}

static void
a_slice_without_length_is_in_the_window_at_its_begin(void)
{
    lp_slice_rule rule = all;
    lp_slice_selection self;

    rule.low = 100;
    rule.high = 200;
    self = begin(rule, 1);
    CHECK(gives(&self, 99, 0, LP_SLICE_OUTSIDE, 99, 0));
    CHECK(gives(&self, 100, 0, LP_SLICE_SHOWN, 100, 0));
    CHECK(gives(&self, 200, 0, LP_SLICE_OUTSIDE, 200, 0));
    lp_slice_selection_free(&self);
}

static void
slices_in_a_folded_one_are_folded(void)
{
    lp_slice_rule rule = all;
    lp_slice_selection self;

    rule.min_ns = 50;
    rule.shown_ties = 1;
    rule.ties = 2;
    self = begin(rule, 1);
    CHECK(add(&self, 0, 1, 0, 50) == LP_SLICE_FOLDED); /* a tie */
    CHECK(add(&self, 0, 1, 0, 50) == LP_SLICE_FOLDED); /* in it */
    CHECK(add(&self, 0, 1, 50, 50) == LP_SLICE_SHOWN); /* the second tie */
    CHECK(add(&self, 0, 1, 60, 49) == LP_SLICE_FOLDED);
    CHECK(add(&self, 0, 1, 200, 51) == LP_SLICE_SHOWN);
    lp_slice_selection_free(&self);
}

static void
outermost_folded_slices_are_summed_up_by_slot(void)
{
    static const uint64_t expected[][4] = {
        /* thread, function, start, ns */
        {0, 1, 5, 30},    {0, 2, 35, 40},  {1, 1, 40, 5},
        {0, 1, 1100, 10}, {0, 3, 5000, 9},
    };
    lp_slice_rule rule = all;
    lp_slice_selection self;

    rule.min_ns = 100;
    self = begin(rule, 2);
    add(&self, 0, 1, 5, 10);
    add(&self, 0, 9, 6, 5); /* within the slice before */
    add(&self, 0, 2, 20, 40);
    add(&self, 1, 1, 40, 5);
    add(&self, 0, 1, 990, 20);
    CHECK(add(&self, 0, 1, 1100, 10) == LP_SLICE_FOLDED);
    CHECK(add(&self, 0, 1, 1200, 500) == LP_SLICE_SHOWN);
    add(&self, 0, 2, 1300, 10); /* in a slice that is shown */
    add(&self, 0, 3, 5000, 9);
    CHECK(lp_slice_selection_end(&self));
    CHECK(self.n_sums == 5);
    for (size_t i = 0; i < self.n_sums && i < 5; i++) {
        const lp_trace_slice *sum = &self.sums[i];

        CHECK(sum->thread == expected[i][0]);
        CHECK(sum->function == expected[i][1]);
        CHECK(sum->start == expected[i][2]);
        CHECK(sum->ns == expected[i][3]);
    }
    lp_slice_selection_free(&self);
}

static void
sums_of_many_functions_are_kept_apart(void)
{
    enum { FUNCTIONS = 5000 };
    lp_slice_rule rule = all;
    lp_slice_selection self;
    uint64_t until = 0;

    rule.min_ns = 100;
    rule.slot_ns = UINT64_MAX;
    self = begin(rule, 1);
    for (uint32_t i = 0; i < 3 * FUNCTIONS; i++) {
        add(&self, 0, i % FUNCTIONS, 10 * i, 1 + i / FUNCTIONS);
    }
    CHECK(lp_slice_selection_end(&self));
    CHECK(self.n_sums == FUNCTIONS);
    for (size_t i = 0; i < self.n_sums; i++) {
        CHECK(self.sums[i].ns == 1 + 2 + 3);
        CHECK(self.sums[i].start >= until);
        until = self.sums[i].start + self.sums[i].ns;
    }
    lp_slice_selection_free(&self);
}

static void
invalid_slices_are_reported(void)
{
    lp_slice_selection self = begin(all, 1);

    CHECK(add(&self, 1, 0, 0, 1) == LP_SLICE_NO_THREAD);
    CHECK(add(&self, 0, 0, 10, UINT64_MAX) == LP_SLICE_SHOWN);
    CHECK(add(&self, 0, 0, 9, 1) == LP_SLICE_UNORDERED);
    lp_slice_selection_free(&self);
}

static void
a_class_is_narrow_and_the_next_one_is_longer(void)
{
    uint32_t last = 0;

    for (uint64_t ns = 0; ns < 4096; ns++) {
        CHECK(lp_length_class(ns) == ns);
    }
    for (uint64_t ns = 4096; ns < 1 << 20; ns++) {
        uint32_t found = lp_length_class(ns);

        CHECK(found == last || found == last + 1 || last == 0);
        CHECK(lp_length_class(ns + ns / 1024) > found);
        last = found;
    }
    CHECK(lp_length_class(UINT64_MAX) == LP_LENGTH_CLASSES - 1);
}

int
main(void)
{
    slices_are_cut_off_at_the_window_and_at_the_slice_around_them();
    a_slice_without_length_is_in_the_window_at_its_begin();
    slices_in_a_folded_one_are_folded();
    outermost_folded_slices_are_summed_up_by_slot();
    sums_of_many_functions_are_kept_apart();
    invalid_slices_are_reported();
    a_class_is_narrow_and_the_next_one_is_longer();
    return check_failures;
}
