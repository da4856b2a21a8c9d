#include "lp_origins.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1024 };

void
lp_origins_init(lp_origins *origins)
{
    *origins = (lp_origins){0};
    pthread_mutex_init(&origins->lock, NULL);
}

void
lp_origins_free(lp_origins *origins)
{
    free(origins->slots);
    origins->slots = NULL;
    pthread_mutex_destroy(&origins->lock);
}

static lp_origin *
find(lp_origin *slots, uint32_t mask, uint64_t node)
{
    uint64_t hash = node * 0x9E3779B97F4A7C15u;
    uint32_t at = (uint32_t)(hash >> 32) & mask;

    while (slots[at].node != 0 && slots[at].node != node) {
        at = (at + 1) & mask;
    }
    return &slots[at];
}

static bool
has_room(lp_origins *origins)
{
    uint32_t slots = FIRST_SLOTS;
    lp_origin *grown;

    if (origins->slots != NULL) {
        if (origins->n <= origins->mask / 2) {
            return true;
        }
        slots = (origins->mask + 1) * 2;
    }
    grown = calloc(slots, sizeof(lp_origin));
    if (grown == NULL) {
        return false;
    }
    for (uint32_t i = 0; origins->slots != NULL && i <= origins->mask; i++) {
        if (origins->slots[i].node != 0) {
            *find(grown, slots - 1, origins->slots[i].node) =
                origins->slots[i];
        }
    }
    free(origins->slots);
    origins->slots = grown;
    origins->mask = slots - 1;
    return true;
}

void
lp_origins_put(lp_origins *origins, uint64_t node, uint32_t path)
{
    if (node == 0) {
        return;
    }
    pthread_mutex_lock(&origins->lock);
    if (has_room(origins)) {
        lp_origin *slot = find(origins->slots, origins->mask, node);

        origins->n += slot->node == 0;
        slot->node = node;
        slot->path = path;
    }
    pthread_mutex_unlock(&origins->lock);
}

uint32_t
lp_origins_get(lp_origins *origins, uint64_t node)
{
    uint32_t path = 0;

    pthread_mutex_lock(&origins->lock);
    if (origins->slots != NULL) {
        path = find(origins->slots, origins->mask, node)->path;
    }
    pthread_mutex_unlock(&origins->lock);
    return path;
}
