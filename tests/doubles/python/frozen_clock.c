/* CLOCK_MONOTONIC that stands still until a test sets it.
 *
 * Preloaded (LD_PRELOAD) it replaces clock_gettime, so that a whole process
 * reads exact numbers.  The clock begins at one second: for the kernel, which
 * has the true time, every deadline computed from it is long past, so that no
 * wait with a timeout hangs.  Other clocks run, CLOCK_REALTIME unless
 * FROZEN_CLOCK_REALTIME is set, and the processor time of a thread unless
 * FROZEN_CLOCK_CPU is set.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { SECOND = 1000000000 };

EXPORT void frozen_clock_advance(uint64_t ns);
EXPORT void frozen_clock_compute(uint64_t ns);
EXPORT uint64_t frozen_clock_now(void);
EXPORT int clock_gettime(clockid_t clock, struct timespec *now);

static _Atomic uint64_t time_now = SECOND;
static _Thread_local uint64_t cpu_time;
static const uint64_t real_time = 1700000000 * (uint64_t)SECOND;

/* Advance the clock by `ns`. */
void
frozen_clock_advance(uint64_t ns)
{
    atomic_fetch_add(&time_now, ns);
}

/* Advance the clock and the processor time of this thread by `ns`. */
void
frozen_clock_compute(uint64_t ns)
{
    cpu_time += ns;
    frozen_clock_advance(ns);
}

uint64_t
frozen_clock_now(void)
{
    return time_now;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
    uint64_t since = 0;
    switch (clock) {
    case CLOCK_REALTIME:
        if (!getenv("FROZEN_CLOCK_REALTIME")) {
            break;
        }
        since = real_time;
        /* fall through */
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
        since += time_now;
        *now = (struct timespec){(time_t)(since / SECOND),
                                 (long)(since % SECOND)};
        return 0;
    case CLOCK_THREAD_CPUTIME_ID:
        if (!getenv("FROZEN_CLOCK_CPU")) {
            break;
        }
        *now = (struct timespec){(time_t)(cpu_time / SECOND),
                                 (long)(cpu_time % SECOND)};
        return 0;
    default:
        break;
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}
