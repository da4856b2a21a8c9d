#include "gpu/event_timeline.h"

#include <stdlib.h>
#include <string.h>

#define COLUMN(field, code)                                                   \
    {#field, code, sizeof(((lp_event *)0)->field), offsetof(lp_event, field)}

const lp_column lp_columns[LP_COLUMNS] = {
    COLUMN(start, 'Q'),   COLUMN(ns, 'Q'),       COLUMN(bytes, 'Q'),
    COLUMN(thread, 'Q'),  COLUMN(launched, 'Q'), COLUMN(name, 'I'),
    COLUMN(path, 'I'),    COLUMN(origin, 'I'),   COLUMN(device, 'I'),
    COLUMN(context, 'I'), COLUMN(stream, 'I'),   COLUMN(correlation, 'I'),
    COLUMN(launch, 'I'),  COLUMN(kind, 'B'),     COLUMN(memory, 'B'),
};

#undef COLUMN

enum { MIN_SLOTS = 64, BYTES_PER_EVENT = 5 * 8 + 8 * 4 + 2 };

void
lp_event_timeline_init(lp_event_timeline *timeline, size_t max)
{
    *timeline = (lp_event_timeline){.max = max};
}

void
lp_event_timeline_free(lp_event_timeline *timeline)
{
    for (size_t i = 0; i < timeline->n_chunks; i++) {
        free(timeline->chunks[i]);
    }
    free(timeline->chunks);
    free(timeline->launches);
    free(timeline->slots);
    *timeline = (lp_event_timeline){0};
}

/* Return the chunk of the next event; NULL if memory is out. */
static unsigned char *
next_chunk(lp_event_timeline *timeline)
{
    size_t at = timeline->n / LP_EVENTS_PER_CHUNK;

    if (at == timeline->n_chunks) {
        unsigned char **grown =
            realloc(timeline->chunks, (at + 1) * sizeof(unsigned char *));

        if (grown == NULL) {
            return NULL;
        }
        timeline->chunks = grown;
        grown[at] = malloc((size_t)LP_EVENTS_PER_CHUNK * BYTES_PER_EVENT);
        if (grown[at] == NULL) {
            return NULL;
        }
        timeline->n_chunks++;
    }
    return timeline->chunks[at];
}

void
lp_event_timeline_add(lp_event_timeline *timeline, const lp_event *event)
{
    unsigned char *chunk =
        timeline->n < timeline->max ? next_chunk(timeline) : NULL;
    size_t at = timeline->n % LP_EVENTS_PER_CHUNK;

    if (chunk == NULL) {
        timeline->left_out++;
        if (event->start != 0 &&
            (timeline->cut == 0 || event->start < timeline->cut)) {
            timeline->cut = event->start;
        }
        return;
    }
    for (int i = 0; i < LP_COLUMNS; i++) {
        const lp_column *column = &lp_columns[i];

        memcpy(chunk + at * column->size,
               (const unsigned char *)event + column->offset, column->size);
        chunk += (size_t)LP_EVENTS_PER_CHUNK * column->size;
    }
    timeline->n++;
}

void
lp_event_timeline_column(const lp_event_timeline *timeline, int column,
                         size_t n, unsigned char *to)
{
    size_t size = lp_columns[column].size, before = 0;

    for (int i = 0; i < column; i++) {
        before += (size_t)LP_EVENTS_PER_CHUNK * lp_columns[i].size;
    }
    for (size_t i = 0; n > 0; i++) {
        size_t some = n < LP_EVENTS_PER_CHUNK ? n : LP_EVENTS_PER_CHUNK;

        memcpy(to, timeline->chunks[i] + before, some * size);
        to += some * size;
        n -= some;
    }
}

static uint32_t
hash_of(const lp_launch *launch)
{
    const unsigned char *bytes = (const unsigned char *)launch;
    uint64_t hash = 0;

    for (size_t i = 0; i < sizeof(*launch); i += 4) {
        uint32_t word;

        memcpy(&word, bytes + i, sizeof(word));
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash ^ (hash >> 32));
}

static uint32_t
find(const lp_event_timeline *timeline, const lp_launch *launch,
     uint32_t *slot)
{
    uint32_t at = hash_of(launch);

    for (;; at++) {
        uint32_t number;

        at &= timeline->mask;
        number = timeline->slots[at];
        if (number == 0 || memcmp(&timeline->launches[number], launch,
                                  sizeof(*launch)) == 0) {
            *slot = at;
            return number;
        }
    }
}

/* Make room for one more launch, and at least twice as many slots. */
static bool
reserve(lp_event_timeline *timeline)
{
    uint32_t capacity = timeline->launch_capacity == 0
                            ? MIN_SLOTS / 2
                            : timeline->launch_capacity * 2;
    uint32_t slot;
    lp_launch *launches;
    uint32_t *slots;

    if (timeline->n_launches < timeline->launch_capacity) {
        return true;
    }
    launches = realloc(timeline->launches, capacity * sizeof(lp_launch));
    if (launches == NULL) {
        return false;
    }
    timeline->launches = launches;
    slots = calloc((size_t)capacity * 2, sizeof(uint32_t));
    if (slots == NULL) {
        return false;
    }
    free(timeline->slots);
    timeline->slots = slots;
    timeline->mask = capacity * 2 - 1;
    timeline->launch_capacity = capacity;
    if (timeline->n_launches == 0) {
        timeline->launches[timeline->n_launches++] = (lp_launch){0};
    }
    for (uint32_t i = 1; i < timeline->n_launches; i++) {
        find(timeline, &timeline->launches[i], &slot);
        timeline->slots[slot] = i;
    }
    return true;
}

uint32_t
lp_event_timeline_launch(lp_event_timeline *timeline, const lp_launch *launch)
{
    uint32_t slot, number;

    if (!reserve(timeline)) {
        return 0;
    }
    number = find(timeline, launch, &slot);
    if (number == 0) {
        number = timeline->n_launches++;
        timeline->launches[number] = *launch;
        timeline->slots[slot] = number;
    }
    return number;
}
