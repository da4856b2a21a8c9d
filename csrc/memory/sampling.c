#include "memory/sampling.h"

#include <math.h>

#include "memory/heap_path.h"

/* Return a random number above 0 and up to 1. */
static double
draw(lp_memory_here *here)
{
    uint64_t x = here->random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    here->random = x;
    return (double)((x >> 11) + 1) / 9007199254740992.0; /* 2**53 */
}

static int64_t
next_distance(lp_memory_here *here)
{
    return (int64_t)(-log(draw(here)) * (double)lp_the_heap.sample) + 1;
}

bool
lp_sample_block(size_t bytes, lp_sample *sample)
{
    lp_memory_here *here = &lp_memory_of_thread;
    double chance, stands_for, size = bytes == 0 ? 1.0 : (double)bytes;

    *sample = (lp_sample){bytes, 1};
    if (bytes >= lp_the_heap.sample) {
        return true;
    }
    if (here->session != lp_the_heap.session) {
        here->session = lp_the_heap.session;
        here->random ^= (uintptr_t)here * 0x9E3779B97F4A7C15u + here->session;
        here->random += here->random == 0;
        here->until = next_distance(here);
    }
    here->until -= (int64_t)size;
    if (here->until > 0) {
        return false;
    }
    here->until = next_distance(here);
    chance = -expm1(-size / (double)lp_the_heap.sample);
    stands_for = 1.0 / chance;
    sample->bytes = (uint64_t)((double)bytes * stands_for + 0.5);
    /* Round up or down by chance, so that sums are right. */
    sample->blocks = (uint64_t)(stands_for + 1.0 - draw(here));
    return true;
}
