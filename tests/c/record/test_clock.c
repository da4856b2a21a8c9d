/* The clock: monotonic with every source, and scaled to nanoseconds. */
#include "record/clock.h"

#include <string.h>

#include "check.h"

static lp_ticks
seven(void)
{
    return 7;
}

static void
never_goes_backwards(const char *wanted)
{
    lp_clock clock;
    lp_ticks last;

    lp_clock_open(&clock, wanted);
    last = lp_clock_now(&clock);
    for (int i = 0; i < 100000; i++) {
        lp_ticks now = lp_clock_now(&clock);

        CHECK(now >= last);
        last = now;
    }
}

static void
a_given_clock_is_read(void)
{
    lp_clock clock;

    lp_clock_set_source(&clock, seven);
    CHECK(lp_clock_now(&clock) == 7);
    CHECK(lp_clock_scale(&clock) == (uint64_t)1 << 32);
    CHECK(strcmp(clock.name, "given") == 0);
}

static void
monotonic_is_always_available(void)
{
    lp_clock clock;
    lp_ns before = lp_clock_monotonic();

    CHECK(lp_clock_open(&clock, "monotonic"));
    CHECK(!clock.counter && strcmp(clock.name, "monotonic") == 0);
    CHECK(lp_clock_now(&clock) >= before);
    CHECK(lp_clock_scale(&clock) == (uint64_t)1 << 32);
}

/* The scaled counter and CLOCK_MONOTONIC show the same time: both measure the
 * same period, one inside the other. */
static void
ticks_scale_to_nanoseconds(void)
{
    lp_clock clock;
    lp_ns outer, inner;
    lp_ticks first, last;
    __extension__ unsigned __int128 scaled;

    lp_clock_open(&clock, "auto");
    outer = lp_clock_monotonic();
    first = lp_clock_now(&clock);
    inner = lp_clock_monotonic();
    while (lp_clock_monotonic() - inner < 20000000) {
    }
    inner = lp_clock_monotonic() - inner;
    last = lp_clock_now(&clock);
    outer = lp_clock_monotonic() - outer;
    scaled = (__extension__(unsigned __int128)(last - first) *
              lp_clock_scale(&clock)) >>
             32;
    CHECK((lp_ns)scaled >= inner - inner / 1000);
    CHECK((lp_ns)scaled <= outer + outer / 1000);
}

static void
an_unavailable_source_still_gives_a_clock(void)
{
    lp_clock clock;
    bool counter = lp_clock_open(&clock, "tsc");

    CHECK(counter == clock.counter);
    CHECK(clock.read != NULL);
}

int
main(void)
{
    never_goes_backwards("auto");
    never_goes_backwards("monotonic");
    a_given_clock_is_read();
    monotonic_is_always_available();
    ticks_scale_to_nanoseconds();
    an_unavailable_source_still_gives_a_clock();
    return check_failures;
}
