#include "record/suspended_frames.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256, LAST_CAPACITY = 1 << 20 };

static uint32_t
place_of(const lp_parked *parked, const void *key)
{
    uint64_t mixed = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u;

    return (uint32_t)(mixed >> 40) & (parked->capacity - 1);
}

/* The frame's own place, or the free one where it would go.  The table is
 * never full, so the walk ends. */
static lp_parked_frame *
find(const lp_parked *parked, const void *key, const void *code)
{
    uint32_t at = place_of(parked, key);

    for (;;) {
        lp_parked_frame *frame = &parked->frames[at];

        if (frame->key == NULL || (frame->key == key && frame->code == code)) {
            return frame;
        }
        at = (at + 1) & (parked->capacity - 1);
    }
}

static uint32_t
count_waiting(const lp_parked *parked)
{
    uint32_t waiting = 0;

    for (uint32_t i = 0; i < parked->capacity; i++) {
        waiting += parked->frames[i].waits;
    }
    return waiting;
}

/* A new table with room to spare, without those that wait no more. */
static bool
grow(lp_parked *parked)
{
    lp_parked bigger = {.capacity = FIRST_CAPACITY};
    uint32_t waiting = count_waiting(parked);

    while (bigger.capacity < waiting * 4) {
        bigger.capacity *= 2;
    }
    if (bigger.capacity > LAST_CAPACITY) {
        return false;
    }
    bigger.frames = calloc(bigger.capacity, sizeof(lp_parked_frame));
    if (bigger.frames == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < parked->capacity; i++) {
        lp_parked_frame *frame = &parked->frames[i];

        if (frame->waits) {
            *find(&bigger, frame->key, frame->code) = *frame;
            bigger.used++;
        }
    }
    free(parked->frames);
    *parked = bigger;
    return true;
}

bool
lp_parked_add(lp_parked *parked, lp_parked_frame frame)
{
    lp_parked_frame *place;

    if (parked->used * 2 >= parked->capacity && !grow(parked)) {
        return false;
    }
    place = find(parked, frame.key, frame.code);
    if (place->key == NULL) {
        parked->used++;
    }
    *place = frame;
    place->waits = true;
    return true;
}

const lp_parked_frame *
lp_parked_end(lp_parked *parked, const void *key, const void *code,
              lp_ticks now)
{
    lp_parked_frame *frame;

    if (parked->capacity == 0) {
        return NULL;
    }
    /* The place is kept for the next wait of the same frame: others that
     * were pushed past it are found by walking over it. */
    frame = find(parked, key, code);
    if (!frame->waits) {
        return NULL;
    }
    frame->waits = false;
    if (frame->awaits != NULL) {
        *frame->awaits += now - frame->since;
    }
    return frame;
}

void
lp_parked_forget(lp_parked *parked, const void *low, const void *high)
{
    for (uint32_t i = 0; i < parked->capacity; i++) {
        lp_parked_frame *frame = &parked->frames[i];
        uintptr_t at = (uintptr_t)frame->awaits;

        if (at >= (uintptr_t)low && at < (uintptr_t)high) {
            frame->awaits = NULL;
        }
    }
}

void
lp_parked_free(lp_parked *parked)
{
    free(parked->frames);
    memset(parked, 0, sizeof(*parked));
}
