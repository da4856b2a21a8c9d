#include "record/suspended_frames.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_CAPACITY = 256, MAX_CAPACITY = 1 << 20 };

static uint32_t
place_of(const lp_suspended *suspended, const void *key)
{
    uint64_t mixed = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u;

    return (uint32_t)(mixed >> 40) & (suspended->capacity - 1);
}

/* Return the frame's entry, or the free one where it would be added.  The
 * table is never full, so the search ends. */
static lp_suspended_frame *
find(const lp_suspended *suspended, const void *key, const void *code)
{
    uint32_t at = place_of(suspended, key);

    for (;;) {
        lp_suspended_frame *frame = &suspended->frames[at];

        if (frame->key == NULL || (frame->key == key && frame->code == code)) {
            return frame;
        }
        at = (at + 1) & (suspended->capacity - 1);
    }
}

static uint32_t
count_suspended(const lp_suspended *suspended)
{
    uint32_t n_suspended = 0;

    for (uint32_t i = 0; i < suspended->capacity; i++) {
        n_suspended += suspended->frames[i].is_suspended;
    }
    return n_suspended;
}

/* Replace the table by one with free capacity, without entries of frames that
 * are not suspended. */
static bool
grow(lp_suspended *suspended)
{
    lp_suspended bigger = {.capacity = MIN_CAPACITY};
    uint32_t n_suspended = count_suspended(suspended);

    while (bigger.capacity < n_suspended * 4) {
        bigger.capacity *= 2;
    }
    if (bigger.capacity > MAX_CAPACITY) {
        return false;
    }
    bigger.frames = calloc(bigger.capacity, sizeof(lp_suspended_frame));
    if (bigger.frames == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < suspended->capacity; i++) {
        lp_suspended_frame *frame = &suspended->frames[i];

        if (frame->is_suspended) {
            *find(&bigger, frame->key, frame->code) = *frame;
            bigger.used++;
        }
    }
    free(suspended->frames);
    *suspended = bigger;
    return true;
}

bool
lp_suspended_add(lp_suspended *suspended, lp_suspended_frame frame)
{
    lp_suspended_frame *place;

    if (suspended->used * 2 >= suspended->capacity && !grow(suspended)) {
        return false;
    }
    place = find(suspended, frame.key, frame.code);
    if (place->key == NULL) {
        suspended->used++;
    }
    *place = frame;
    place->is_suspended = true;
    return true;
}

const lp_suspended_frame *
lp_suspended_resume(lp_suspended *suspended, const void *key, const void *code,
                    lp_ticks now)
{
    lp_suspended_frame *frame;

    if (suspended->capacity == 0) {
        return NULL;
    }
    /* The entry is kept for the next suspension of the same frame, because
     * searches for other frames pass over it. */
    frame = find(suspended, key, code);
    if (!frame->is_suspended) {
        return NULL;
    }
    frame->is_suspended = false;
    if (frame->awaits != NULL) {
        *frame->awaits += now - frame->since;
    }
    return frame;
}

void
lp_suspended_restart(lp_suspended *suspended, lp_ticks now)
{
    for (uint32_t i = 0; i < suspended->capacity; i++) {
        suspended->frames[i].since = now;
    }
}

void
lp_suspended_forget(lp_suspended *suspended, const void *low, const void *high)
{
    for (uint32_t i = 0; i < suspended->capacity; i++) {
        lp_suspended_frame *frame = &suspended->frames[i];
        uintptr_t at = (uintptr_t)frame->awaits;

        if (at >= (uintptr_t)low && at < (uintptr_t)high) {
            frame->awaits = NULL;
        }
    }
}

void
lp_suspended_free(lp_suspended *suspended)
{
    free(suspended->frames);
    memset(suspended, 0, sizeof(*suspended));
}
