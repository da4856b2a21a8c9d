/* The clock of every measurement.
 *
 * A tick is a unit of the source in use: a time stamp counter if the operating
 * system itself relies on it, otherwise a nanosecond of CLOCK_MONOTONIC, or
 * the unit of a test's own clock.  Ticks only grow and mean the same on every
 * thread.  They are not converted on the measuring path: a report takes the
 * pair (ticks, nanoseconds) read when the clock was opened and again at the
 * end, and scales by the ratio.
 */
#ifndef LP_RECORD_CLOCK_H
#define LP_RECORD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__) || defined(__i386__)
#  define LP_HAVE_COUNTER 1
#elif defined(__aarch64__)
#  define LP_HAVE_COUNTER 1
#else
#  define LP_HAVE_COUNTER 0
#endif

#define LP_LIKELY(x) __builtin_expect(!!(x), 1)
#define LP_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* For functions that are off the measuring path, or must not make their
 * caller's C frame larger. */
#define LP_NOINLINE __attribute__((noinline))

/* For functions on the measuring path, which the compiler would judge by size,
 * not by number of calls. */
#define LP_INLINE static inline __attribute__((always_inline))

typedef uint64_t lp_ns;    /* nanoseconds of CLOCK_MONOTONIC */
typedef uint64_t lp_ticks; /* units of the clock's own source */

typedef lp_ticks (*lp_clock_fn)(void);

typedef struct lp_clock {
    bool counter;       /* read the time stamp counter, not `read` */
    lp_clock_fn read;   /* never NULL */
    const char *name;   /* "tsc", "cntvct", "monotonic" or "given" */
    const char *reason; /* reason for this source, as half a sentence */
    lp_ticks ticks0;    /* this pair was read when the clock was opened */
    lp_ns ns0;
} lp_clock;

/* CLOCK_MONOTONIC in nanoseconds. */
lp_ns lp_clock_monotonic(void);

/* Choose the best source: `wanted` is "auto", "tsc" or "monotonic".  False if
 * the wanted source does not exist here; *clock is then monotonic. */
bool lp_clock_open(lp_clock *clock, const char *wanted);

/* Use `read` as the source, as tests do.  Its ticks are nanoseconds. */
void lp_clock_set_source(lp_clock *clock, lp_clock_fn read);

/* Read ticks and CLOCK_MONOTONIC at the same time: again if the thread was
 * preempted between the two. */
void lp_clock_pair(const lp_clock *clock, lp_ticks *ticks, lp_ns *ns);

/* Nanoseconds per 2**32 ticks so far, from the two pairs; waits until they are
 * far enough apart (1 ms) to be exact to one part in 10,000. */
uint64_t lp_clock_scale(const lp_clock *clock);

/* Convert ticks to ns on CLOCK_MONOTONIC; `scale` is that of lp_clock_scale.
 */
lp_ns lp_clock_to_ns(const lp_clock *clock, lp_ticks ticks, uint64_t scale);

/* The plain counter of the processor; 0 if there is none. */
static inline lp_ticks
lp_clock_counter(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc(); /* the header of __rdtsc has 48,000 lines */
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return 0;
#endif
}

static inline lp_ticks
lp_clock_now(const lp_clock *clock)
{
    if (LP_LIKELY(clock->counter)) {
        return lp_clock_counter();
    }
    return clock->read();
}

#endif
