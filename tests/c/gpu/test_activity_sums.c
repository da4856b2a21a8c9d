/* Sums, compared with a table that is searched from end to end. */
#include "gpu/activity_sums.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "random.h"

static const lp_sum *
sum_of(const lp_sums *sums, lp_sum_key key)
{
    for (size_t i = 0; i < sums->n; i++) {
        if (memcmp(&sums->sums[i].key, &key, sizeof(key)) == 0) {
            return &sums->sums[i];
        }
    }
    return NULL;
}

static void
records_of_a_key_add_up(void)
{
    lp_sums sums;
    lp_sum_key key = {.kind = LP_MEMCPY, .path = 3, .name = 1};
    const lp_sum *sum;

    lp_sums_init(&sums);
    lp_sums_add(&sums, &key, 20, 100);
    lp_sums_add(&sums, &key, 5, 4096);
    lp_sums_add(&sums, &key, 30, 0);
    sum = sum_of(&sums, key);
    CHECK(sums.n == 1 && sum != NULL);
    CHECK(sum->count == 3 && sum->ns == 55 && sum->bytes == 4196);
    CHECK(sum->min == 5 && sum->max == 30);
    lp_sums_free(&sums);
}

static void
a_record_of_0_ns_is_the_min(void)
{
    lp_sums sums;
    lp_sum_key key = {.kind = LP_ALLOC};
    const lp_sum *sum;

    lp_sums_init(&sums);
    lp_sums_add(&sums, &key, 0, 8);
    sum = sum_of(&sums, key);
    CHECK(sum->count == 1 && sum->min == 0 && sum->max == 0);
    lp_sums_add(&sums, &key, 7, 0);
    CHECK(sum->min == 0 && sum->max == 7);
    lp_sums_free(&sums);
}

static void
each_field_of_a_key_makes_a_separate_sum(void)
{
    lp_sums sums;
    lp_sum_key key = {
        .path = 1, .origin = 2, .name = 3, .kind = LP_KERNEL, .device = 4};
    lp_sum_key others[] = {key, key, key, key, key};

    others[0].path = 9;
    others[1].origin = 9;
    others[2].name = 9;
    others[3].kind = LP_MEMSET;
    others[4].device = 9;
    lp_sums_init(&sums);
    lp_sums_add(&sums, &key, 1, 0);
    for (int i = 0; i < 5; i++) {
        lp_sums_add(&sums, &others[i], 10, 0);
    }
    CHECK(sums.n == 6);
    CHECK(sum_of(&sums, key)->ns == 1);
    for (int i = 0; i < 5; i++) {
        CHECK(sum_of(&sums, others[i])->ns == 10);
    }
    lp_sums_free(&sums);
}

static void
sums_are_those_of_a_naive_table(void)
{
    enum { KEYS = 3000, RECORDS = 100000 };
    lp_sum *naive = calloc(KEYS, sizeof(lp_sum));
    uint64_t chance = 5;
    uint32_t used = 0;
    lp_sums sums;

    lp_sums_init(&sums);
    for (int i = 0; i < RECORDS; i++) {
        uint32_t which = random_below(&chance, KEYS);
        lp_ns ns = random_next(&chance) >> (24 + random_below(&chance, 40));
        uint64_t bytes = random_below(&chance, 1 << 20);
        lp_sum *sum = &naive[which];
        lp_sum_key key = {
            .path = which / 10,
            .origin = which % 2,
            .name = which % 5,
            .kind = (uint16_t)(which % 10 < 5 ? LP_KERNEL : LP_MEMCPY),
            .device = (uint16_t)(which % 10 % 3)};

        lp_sums_add(&sums, &key, ns, bytes);
        used += sum->count == 0;
        sum->key = key;
        sum->min = sum->count == 0 || ns < sum->min ? ns : sum->min;
        sum->max = ns > sum->max ? ns : sum->max;
        sum->count++;
        sum->ns += ns;
        sum->bytes += bytes;
    }
    CHECK(sums.n == used && sums.lost == 0);
    for (uint32_t i = 0; i < KEYS; i++) {
        if (naive[i].count != 0) {
            const lp_sum *sum = sum_of(&sums, naive[i].key);

            CHECK(sum != NULL && memcmp(sum, &naive[i], sizeof(*sum)) == 0);
        }
    }
    free(naive);
    lp_sums_free(&sums);
    CHECK(sums.sums == NULL && sums.n == 0);
}

int
main(void)
{
    records_of_a_key_add_up();
    a_record_of_0_ns_is_the_min();
    each_field_of_a_key_makes_a_separate_sum();
    sums_are_those_of_a_naive_table();
    return check_failures;
}
