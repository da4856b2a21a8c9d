#include "gpu/free_calls.h"

#include <stdlib.h>

typedef enum free_call_state { UNUSED = 0, USED, TAKEN } free_call_state;

enum {
    TRIES = 8,
    /* So many calls may have numbers in another order than that of their
     * starts, because threads read the clock before they get a number. */
    DISORDER = 8
};

static const lp_ns OPEN = UINT64_MAX;

bool
lp_free_calls_init(lp_free_calls *self, lp_call_paths *paths, lp_wait_log *log,
                   lp_load_times *loads)
{
    *self = (lp_free_calls){.paths = paths, .log = log, .loads = loads};
    self->calls = calloc(LP_FREE_CALLS, sizeof(*self->calls));
    return self->calls != NULL;
}

void
lp_free_calls_free(lp_free_calls *self)
{
    free(self->calls);
    *self = (lp_free_calls){0};
}

static lp_free_call *
place_of(const lp_free_calls *self, uint64_t number)
{
    return &self->calls[number % LP_FREE_CALLS];
}

/* Take a place from `state`, for a moment; false if it has another state, or
 * another thread has taken it. */
static bool
take(lp_free_call *call, uint32_t state)
{
    return __atomic_compare_exchange_n(&call->state, &state, TAKEN, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void
put_back(lp_free_call *call)
{
    __atomic_store_n(&call->state, USED, __ATOMIC_RELEASE);
}

/* Return for how many of its ticks a call has waited that took `ns`. */
static lp_ticks
wait_of(const lp_free_call *call, lp_ns ns)
{
    lp_ns wait =
        call->until > call->start_ns ? call->until - call->start_ns : 0;

    if (wait >= ns) {
        return call->ticks;
    }
    return (lp_ticks)((__extension__(unsigned __int128) call->ticks * wait) /
                      ns);
}

/* Add what is known of the load of a call, which shrinks as its wait grows. */
static void
settle_load(lp_free_calls *self, lp_free_call *call, lp_ticks load)
{
    if (load != call->loading) {
        lp_load_times_add(self->loads, call->path, call->loading == 0,
                          load - call->loading);
        call->loading = load;
    }
}

/* Add what is known of a call's wait; its place is taken.  False if the call
 * has not ended. */
static bool
settle(lp_free_calls *self, lp_free_call *call)
{
    lp_ns ns = __atomic_load_n(&call->ns, __ATOMIC_ACQUIRE);
    lp_ticks wait, more;

    if (ns == OPEN) {
        return false;
    }
    wait = ns != 0 ? wait_of(call, ns) : 0;
    if (wait > call->settled) {
        more = wait - call->settled;
        lp_call_paths_extend_wait(self->paths, call->path, more, wait);
        lp_wait_log_add(self->log, call->path, call->start + call->settled,
                        more);
        call->settled = wait;
    }
    if (ns != 0 && call->loaded) {
        settle_load(self, call, call->ticks - wait);
    }
    return true;
}

/* Take the place of a call that begins; false if it is not to be had. */
static bool
take_anew(lp_free_calls *self, lp_free_call *call)
{
    if (take(call, UNUSED)) {
        return true;
    }
    if (!take(call, USED)) {
        return false;
    }
    if (!settle(self, call)) {
        put_back(call);
        return false;
    }
    return true;
}

static void
note_start(lp_free_calls *self, lp_ticks start)
{
    lp_ticks last = __atomic_load_n(&self->last, __ATOMIC_RELAXED);

    while (start >= last &&
           !__atomic_compare_exchange_n(&self->last, &last, start + 1, true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
}

uint64_t
lp_free_calls_begin(lp_free_calls *self, const lp_free_call *call)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t number = __atomic_add_fetch(&self->n, 1, __ATOMIC_ACQ_REL);
        lp_free_call *place = place_of(self, number);

        if (!take_anew(self, place)) {
            continue;
        }
        place->path = call->path;
        place->context = call->context;
        place->device = call->device;
        place->ticks = place->settled = place->loading = 0;
        place->until = 0;
        __atomic_store_n(&place->ns, OPEN, __ATOMIC_RELAXED);
        __atomic_store_n(&place->start, call->start, __ATOMIC_RELAXED);
        __atomic_store_n(&place->start_ns, call->start_ns, __ATOMIC_RELAXED);
        __atomic_store_n(&place->number, number, __ATOMIC_RELEASE);
        put_back(place);
        note_start(self, call->start);
        return number;
    }
    return 0;
}

void
lp_free_calls_end(lp_free_calls *self, uint64_t number, lp_ticks now,
                  lp_ns now_ns, bool wanted, bool loaded)
{
    lp_free_call *call = place_of(self, number);

    if (number == 0 ||
        __atomic_load_n(&call->number, __ATOMIC_ACQUIRE) != number ||
        __atomic_load_n(&call->ns, __ATOMIC_RELAXED) != OPEN) {
        return; /* it began before the session */
    }
    call->ticks = now - call->start;
    call->loaded = loaded;
    __atomic_store_n(&call->ns, wanted ? now_ns - call->start_ns : 0,
                     __ATOMIC_RELEASE);
}

/* The calls that may be in the ring. */
typedef struct numbers {
    uint64_t first, after;
} numbers;

static numbers
numbers_of(const lp_free_calls *self)
{
    uint64_t n = __atomic_load_n(&self->n, __ATOMIC_ACQUIRE);

    return (numbers){n > LP_FREE_CALLS ? n - LP_FREE_CALLS + 1 : 1, n + 1};
}

static bool
began_before(const lp_free_call *call, const lp_free_work *work)
{
    if (work->launched != 0) {
        return __atomic_load_n(&call->start, __ATOMIC_RELAXED) <
               work->launched;
    }
    return __atomic_load_n(&call->start_ns, __ATOMIC_RELAXED) <= work->start;
}

/* Return a number such that all calls before it began before the work was
 * launched. */
static uint64_t
first_after_launch(const lp_free_calls *self, numbers all,
                   const lp_free_work *work)
{
    uint64_t low = all.first, high = all.after;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const lp_free_call *call = place_of(self, middle);
        uint64_t there = __atomic_load_n(&call->number, __ATOMIC_ACQUIRE);

        /* A place may have a later call by now, or not yet this one. */
        if (there > middle || (there == middle && began_before(call, work))) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low - all.first > DISORDER ? low - DISORDER : all.first;
}

static bool
waits_for(const lp_free_call *call, const lp_free_work *work)
{
    return !began_before(call, work) && call->start_ns < work->end &&
           (call->context == 0 || call->context == work->context) &&
           (call->device == LP_ANY_DEVICE || call->device == work->device);
}

void
lp_free_calls_add(lp_free_calls *self, const lp_free_work *work)
{
    numbers all = numbers_of(self);
    int later = 0; /* calls that began after the end of the work */

    for (uint64_t i = first_after_launch(self, all, work);
         i < all.after && later < DISORDER; i++) {
        lp_free_call *call = place_of(self, i);

        if (__atomic_load_n(&call->number, __ATOMIC_ACQUIRE) != i) {
            continue;
        }
        if (__atomic_load_n(&call->start_ns, __ATOMIC_RELAXED) >= work->end) {
            later++;
        }
        else if (!began_before(call, work) && take(call, USED)) {
            if (call->number == i && waits_for(call, work) &&
                work->end > call->until) {
                call->until = work->end;
            }
            put_back(call);
        }
    }
}

void
lp_free_calls_settle(lp_free_calls *self)
{
    numbers all = numbers_of(self);

    for (uint64_t i = all.first; i < all.after; i++) {
        lp_free_call *call = place_of(self, i);

        if (take(call, USED)) {
            settle(self, call);
            put_back(call);
        }
    }
}
