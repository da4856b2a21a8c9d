#include "gpu/load_times.h"

#include <stdlib.h>

bool
lp_load_times_init(lp_load_times *self)
{
    self->left_out = 0;
    self->places = calloc(LP_LOAD_TIMES, sizeof(*self->places));
    return self->places != NULL;
}

void
lp_load_times_free(lp_load_times *self)
{
    free(self->places);
    self->places = NULL;
}

/* Return the place of a path, or NULL if there is no room for it. */
static lp_load_time *
place_of(lp_load_times *self, uint32_t path)
{
    for (uint32_t i = 0; i < LP_LOAD_TIMES; i++) {
        lp_load_time *place =
            &self->places[(path * 2654435761u + i) % LP_LOAD_TIMES];
        uint32_t there = 0;

        if (__atomic_compare_exchange_n(&place->path, &there, path + 1, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
            there == path + 1) {
            return place;
        }
    }
    return NULL;
}

void
lp_load_times_add(lp_load_times *self, uint32_t path, uint32_t calls,
                  lp_ticks ticks)
{
    lp_load_time *place = place_of(self, path);

    if (place != NULL) {
        __atomic_fetch_add(&place->ticks, ticks, __ATOMIC_RELAXED);
        __atomic_fetch_add(&place->calls, calls, __ATOMIC_RELAXED);
    }
    else {
        __atomic_fetch_add(&self->left_out, calls, __ATOMIC_RELAXED);
    }
}

lp_load_time
lp_load_times_at(const lp_load_times *self, uint32_t place)
{
    const lp_load_time *one = &self->places[place];
    uint32_t path = __atomic_load_n(&one->path, __ATOMIC_ACQUIRE);

    if (path == 0) {
        return (lp_load_time){0};
    }
    return (lp_load_time){
        .path = path - 1,
        .calls = __atomic_load_n(&one->calls, __ATOMIC_RELAXED),
        .ticks = __atomic_load_n(&one->ticks, __ATOMIC_RELAXED)};
}
