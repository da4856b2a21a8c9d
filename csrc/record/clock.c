#include "record/clock.h"

#include <stdio.h>
#include <string.h>

lp_ns
lp_clock_monotonic(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (lp_ns)now.tv_sec * 1000000000u + (lp_ns)now.tv_nsec;
}

#if defined(__x86_64__) || defined(__i386__)
/* True if Linux keeps its own time by the counter.  Linux checks that the
 * counters of all processors agree and never stop, which a program cannot do
 * as well. */
static bool
kernel_trusts_counter(void)
{
    static const char path[] = "/sys/devices/system/clocksource/"
                               "clocksource0/current_clocksource";
    char name[8] = "";
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        return false;
    }
    if (fgets(name, sizeof(name), file) == NULL) {
        name[0] = '\0';
    }
    fclose(file);
    return strcmp(name, "tsc\n") == 0;
}
#elif defined(__aarch64__)
/* The architecture guarantees one constant counter for all processors. */
static bool
kernel_trusts_counter(void)
{
    return true;
}
#else
static bool
kernel_trusts_counter(void)
{
    return false;
}
#endif

/* Check that the counter moves, and never backwards. */
static bool
counter_moves(void)
{
    lp_ticks first = lp_clock_counter();
    lp_ticks last = first;

    for (int i = 0; i < 100; i++) {
        lp_ticks now = lp_clock_counter();
        if (now < last) {
            return false;
        }
        last = now;
    }
    return last > first || LP_HAVE_COUNTER == 0;
}

/* Reading the clocks takes less than 100 ns, and preemption more than 1 us.
 * Where reading them is slow the fastest of some tries is taken. */
enum { PAIR_NS = 1000, PAIR_TRIES = 4 };

void
lp_clock_pair(const lp_clock *clock, lp_ticks *ticks, lp_ns *ns)
{
    lp_ns shortest = (lp_ns)-1;

    for (int i = 0; i < PAIR_TRIES && shortest > PAIR_NS; i++) {
        lp_ns before = lp_clock_monotonic();
        lp_ticks between = lp_clock_now(clock);
        lp_ns took = lp_clock_monotonic() - before;

        if (took < shortest) {
            shortest = took;
            *ticks = between;
            *ns = before + took / 2;
        }
    }
}

bool
lp_clock_open(lp_clock *clock, const char *wanted)
{
    bool usable = LP_HAVE_COUNTER && kernel_trusts_counter();
    bool asked = strcmp(wanted, "tsc") == 0;

    clock->read = lp_clock_monotonic;
    clock->counter =
        strcmp(wanted, "monotonic") != 0 && usable && counter_moves();
    if (clock->counter) {
#if defined(__aarch64__)
        clock->name = "cntvct";
#else
        clock->name = "tsc";
#endif
        clock->reason = "the kernel keeps its own time by this counter";
    }
    else {
        clock->name = "monotonic";
        clock->reason = usable ? "it was asked for"
                               : "the kernel does not keep its time by the "
                                 "processor's counter";
    }
    lp_clock_pair(clock, &clock->ticks0, &clock->ns0);
    return clock->counter || !asked;
}

void
lp_clock_set_source(lp_clock *clock, lp_clock_fn read)
{
    clock->counter = false;
    clock->read = read;
    clock->name = "given";
    clock->reason = "it was given by the caller";
    clock->ticks0 = 0;
    clock->ns0 = 0;
}

uint64_t
lp_clock_scale(const lp_clock *clock)
{
    lp_ticks ticks;
    lp_ns ns;

    if (!clock->counter) {
        return (uint64_t)1 << 32;
    }
    do {
        lp_clock_pair(clock, &ticks, &ns);
    } while (ns - clock->ns0 < 1000000);
    return (
        uint64_t)(((__extension__(unsigned __int128)(ns - clock->ns0)) << 32) /
                  (ticks - clock->ticks0));
}

lp_ns
lp_clock_to_ns(const lp_clock *clock, lp_ticks ticks, uint64_t scale)
{
    if (ticks < clock->ticks0) {
        return clock->ns0;
    }
    return clock->ns0 + (uint64_t)((__extension__(unsigned __int128)(
                                        ticks - clock->ticks0) *
                                    scale) >>
                                   32);
}
