#include "gpu/event_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "record/growing_array.h"

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

enum { BYTES_PER_EVENT = 5 * 8 + 8 * 4 + 2 };

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
    lp_hash_index_free(&timeline->index);
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

static const lp_record_size LAUNCH = {sizeof(lp_launch), sizeof(lp_launch)};

/* Make room for one more launch. */
static bool
reserve(lp_event_timeline *timeline)
{
    lp_launch *launches =
        lp_array_reserve(timeline->launches, timeline->n_launches,
                         &timeline->launch_capacity, sizeof(*launches));

    if (launches == NULL) {
        return false;
    }
    timeline->launches = launches;
    if (timeline->n_launches == 0) {
        launches[timeline->n_launches++] = (lp_launch){0};
    }
    return lp_hash_index_reserve(&timeline->index, launches, LAUNCH, 1,
                                 timeline->n_launches);
}

uint32_t
lp_event_timeline_launch(lp_event_timeline *timeline, const lp_launch *launch)
{
    uint32_t *slot;

    if (!reserve(timeline)) {
        return 0;
    }
    slot = lp_hash_index_slot(&timeline->index, timeline->launches, LAUNCH,
                              launch);
    if (*slot == 0) {
        timeline->launches[timeline->n_launches++] = *launch;
        *slot = timeline->n_launches;
    }
    return *slot - 1;
}
