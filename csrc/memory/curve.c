#include "memory/curve.h"

#include <sched.h>
#include <string.h>

#include "memory/heap_path.h"
#include "memory/heap_session.h"
#include "memory/pages.h"

/* A moment that took so long is followed by none for so many times as long. */
enum { REST = 50 };

static struct {
    lp_moment *moments; /* owned: LP_MOMENTS */
    uint32_t n;
    bool busy; /* (atomic) */
    lp_ticks step;
    lp_ticks due; /* (atomic) */
} curve;

bool
lp_curve_start(lp_ticks now, lp_ticks step)
{
    if (curve.moments == NULL) {
        curve.moments = lp_pages_map(LP_MOMENTS * sizeof(lp_moment));
    }
    curve.n = 0;
    curve.busy = false;
    curve.step = step == 0 ? 1 : step;
    LP_WRITE(curve.due, now + curve.step);
    return curve.moments != NULL;
}

lp_ticks
lp_curve_due(void)
{
    return LP_READ(curve.due);
}

uint32_t
lp_curve_copy(lp_moment *to)
{
    uint32_t n;

    while (__atomic_exchange_n(&curve.busy, true, __ATOMIC_ACQUIRE)) {
        sched_yield(); /* a moment takes milliseconds, and no GIL */
    }
    n = curve.n;
    memcpy(to, curve.moments, n * sizeof(*to));
    __atomic_store_n(&curve.busy, false, __ATOMIC_RELEASE);
    return n;
}

uint32_t
lp_curve_length(void)
{
    return curve.n;
}

const lp_moment *
lp_curve_at(uint32_t number)
{
    return &curve.moments[number];
}

size_t
lp_curve_bytes(void)
{
    return curve.n * sizeof(lp_moment);
}

/* Insert a path in order of its bytes, if it is among the largest. */
static void
insert(lp_moment *moment, uint32_t path, uint64_t bytes)
{
    uint32_t at = moment->n;

    if (at == LP_MOMENT_PATHS) {
        if (bytes <= moment->bytes[at - 1]) {
            return;
        }
        at--;
    }
    else {
        moment->n++;
    }
    for (; at > 0 && moment->bytes[at - 1] < bytes; at--) {
        moment->paths[at] = moment->paths[at - 1];
        moment->bytes[at] = moment->bytes[at - 1];
    }
    moment->paths[at] = path;
    moment->bytes[at] = bytes;
}

void
lp_moment_take(lp_moment *moment, lp_ticks now)
{
    uint32_t n = lp_heap_paths();

    moment->at = now;
    moment->live = lp_heap_live();
    moment->n = 0;
    for (uint32_t path = 0; path < n; path++) {
        uint64_t live = lp_site_live(&lp_the_heap.sites[path]);

        if (live != 0 && (int64_t)live > 0) {
            insert(moment, path, live);
        }
    }
}

/* Drop every second moment. */
static void
thin_out(void)
{
    for (uint32_t i = 0; i < LP_MOMENTS; i += 2) {
        const lp_moment *pair = &curve.moments[i];

        curve.moments[i / 2] = pair[pair[1].live > pair[0].live];
    }
    curve.n = LP_MOMENTS / 2;
    curve.step *= 2;
}

lp_ticks
lp_curve_take(const lp_clock *clock)
{
    lp_ticks now = lp_clock_now(clock), took, step;

    if (now < lp_curve_due() ||
        __atomic_exchange_n(&curve.busy, true, __ATOMIC_ACQUIRE)) {
        return 0;
    }
    if (now < lp_curve_due()) { /* another thread has just taken it */
        __atomic_store_n(&curve.busy, false, __ATOMIC_RELEASE);
        return 0;
    }
    if (curve.n == LP_MOMENTS) {
        thin_out();
    }
    lp_moment_take(&curve.moments[curve.n++], now);
    took = lp_clock_now(clock) - now;
    step = took * REST > curve.step ? took * REST : curve.step;
    LP_WRITE(curve.due, now + took + step);
    __atomic_store_n(&curve.busy, false, __ATOMIC_RELEASE);
    return took;
}
