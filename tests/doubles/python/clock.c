/* Clock that stands still until a test sets it.
 *
 * The tracer gets its address in a capsule named "lineprof.clock"; a tick is a
 * nanosecond.  Any thread may read and set the clock.
 */
#include <stdatomic.h>
#include <stdint.h>

uint64_t lp_clock_double_now(void);
void lp_clock_double_set(uint64_t ns);
void lp_clock_double_advance(uint64_t ns);

static _Atomic uint64_t now;

uint64_t
lp_clock_double_now(void)
{
    return atomic_load(&now);
}

void
lp_clock_double_set(uint64_t ns)
{
    atomic_store(&now, ns);
}

void
lp_clock_double_advance(uint64_t ns)
{
    atomic_fetch_add(&now, ns);
}
