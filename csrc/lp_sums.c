#include "lp_sums.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 256 };

void
lp_sums_init(lp_sums *sums)
{
    *sums = (lp_sums){0};
}

void
lp_sums_free(lp_sums *sums)
{
    free(sums->sums);
    *sums = (lp_sums){0};
}

static uint32_t
hash_of(const lp_sum_key *key)
{
    uint64_t a = (uint64_t)key->path << 32 | key->name;
    uint64_t b =
        (uint64_t)key->origin << 32 | (uint32_t)key->kind << 16 | key->device;
    uint64_t hash = a * 0x9E3779B97F4A7C15u;

    hash = (hash ^ (hash >> 32) ^ b) * 0xBF58476D1CE4E5B9u;
    return (uint32_t)(hash ^ (hash >> 32));
}

static lp_sum *
find(lp_sum *sums, uint32_t mask, const lp_sum_key *key)
{
    uint32_t at = hash_of(key) & mask;

    while (sums[at].key.kind != 0 &&
           memcmp(&sums[at].key, key, sizeof(*key)) != 0) {
        at = (at + 1) & mask;
    }
    return &sums[at];
}

static bool
grow(lp_sums *sums)
{
    uint32_t slots = sums->sums == NULL ? FIRST_SLOTS : (sums->mask + 1) * 2;
    lp_sum *grown = calloc(slots, sizeof(lp_sum));

    if (grown == NULL) {
        return false;
    }
    for (uint32_t i = 0; sums->sums != NULL && i <= sums->mask; i++) {
        if (sums->sums[i].key.kind != 0) {
            *find(grown, slots - 1, &sums->sums[i].key) = sums->sums[i];
        }
    }
    free(sums->sums);
    sums->sums = grown;
    sums->mask = slots - 1;
    return true;
}

void
lp_sums_add(lp_sums *sums, const lp_sum_key *key, lp_ns ns, uint64_t bytes)
{
    lp_sum *sum;

    if (LP_UNLIKELY(sums->sums == NULL || sums->n > sums->mask / 2) &&
        !grow(sums) && (sums->sums == NULL || sums->n >= sums->mask)) {
        sums->lost++;
        return;
    }
    sum = find(sums->sums, sums->mask, key);
    if (LP_UNLIKELY(sum->key.kind == 0)) {
        sum->key = *key;
        sum->least = ns;
        sums->n++;
    }
    sum->count++;
    sum->ns += ns;
    sum->bytes += bytes;
    if (ns < sum->least) {
        sum->least = ns;
    }
    if (ns > sum->most) {
        sum->most = ns;
    }
}
