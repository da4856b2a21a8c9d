/* Events stored in columns and read back complete, up to a limit. */
#include "gpu/event_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "random.h"

static lp_event
event_of(uint64_t number)
{
    uint64_t chance = number;
    lp_event event = {
        .start = random_next(&chance),
        .ns = random_next(&chance),
        .bytes = random_next(&chance),
        .thread = random_next(&chance),
        .name = (uint32_t)random_next(&chance),
        .path = (uint32_t)random_next(&chance),
        .origin = (uint32_t)random_next(&chance),
        .device = (uint32_t)random_next(&chance),
        .context = (uint32_t)random_next(&chance),
        .stream = (uint32_t)random_next(&chance),
        .correlation = (uint32_t)random_next(&chance),
        .launch = (uint32_t)random_next(&chance),
        .kind = (uint8_t)random_next(&chance),
        .memory = (uint8_t)random_next(&chance),
    };

    return event;
}

/* Column of `name` of the first n events, to be freed. */
static void *
column_of(const lp_event_timeline *timeline, const char *name, size_t n)
{
    for (int i = 0; i < LP_COLUMNS; i++) {
        if (strcmp(lp_columns[i].name, name) == 0) {
            unsigned char *values = malloc(n * lp_columns[i].size + 1);

            values[n * lp_columns[i].size] = 0x5A;
            lp_event_timeline_column(timeline, i, n, values);
            CHECK(values[n * lp_columns[i].size] == 0x5A);
            return values;
        }
    }
    CHECK(!"there is such a column");
    return NULL;
}

#define CHECK_COLUMN(field)                                                   \
    do {                                                                      \
        unsigned char *values = column_of(timeline, #field, n);               \
                                                                              \
        for (size_t i = 0; values != NULL && i < n; i++) {                    \
            lp_event event = event_of(i);                                     \
                                                                              \
            if (memcmp(values + i * sizeof(event.field), &event.field,        \
                       sizeof(event.field)) != 0) {                           \
                CHECK(!"the " #field " came back");                           \
                break;                                                        \
            }                                                                 \
        }                                                                     \
        free(values);                                                         \
    } while (0)

static void
check_columns(const lp_event_timeline *timeline, size_t n)
{
    CHECK_COLUMN(start);
    CHECK_COLUMN(ns);
    CHECK_COLUMN(bytes);
    CHECK_COLUMN(thread);
    CHECK_COLUMN(name);
    CHECK_COLUMN(path);
    CHECK_COLUMN(origin);
    CHECK_COLUMN(device);
    CHECK_COLUMN(context);
    CHECK_COLUMN(stream);
    CHECK_COLUMN(correlation);
    CHECK_COLUMN(launch);
    CHECK_COLUMN(kind);
    CHECK_COLUMN(memory);
}

static void
type_codes_are_of_the_right_size(void)
{
    for (int i = 0; i < LP_COLUMNS; i++) {
        const lp_column *column = &lp_columns[i];

        CHECK((column->typecode == 'Q' && column->size == 8) ||
              (column->typecode == 'I' && column->size == 4) ||
              (column->typecode == 'B' && column->size == 1));
        for (int k = 0; k < i; k++) {
            CHECK(strcmp(lp_columns[k].name, column->name) != 0);
            CHECK(lp_columns[k].offset != column->offset);
        }
    }
}

static void
columns_come_back(void)
{
    enum { EVENTS = 2 * LP_EVENTS_PER_CHUNK + 5 };
    lp_event_timeline timeline;

    lp_event_timeline_init(&timeline, 1000000);
    check_columns(&timeline, 0);
    for (uint64_t i = 0; i < EVENTS; i++) {
        lp_event event = event_of(i);

        lp_event_timeline_add(&timeline, &event);
    }
    CHECK(timeline.n == EVENTS && timeline.left_out == 0);
    check_columns(&timeline, EVENTS);
    check_columns(&timeline, LP_EVENTS_PER_CHUNK - 1);
    check_columns(&timeline, LP_EVENTS_PER_CHUNK);
    check_columns(&timeline, LP_EVENTS_PER_CHUNK + 1);
    check_columns(&timeline, 1);
    lp_event_timeline_free(&timeline);
    CHECK(timeline.chunks == NULL && timeline.n == 0);
}

static void
events_beyond_the_limit_are_counted(void)
{
    enum { MAX_EVENTS = LP_EVENTS_PER_CHUNK + 7 };
    lp_event_timeline timeline;

    lp_event_timeline_init(&timeline, MAX_EVENTS);
    for (uint64_t i = 0; i < 3 * MAX_EVENTS; i++) {
        lp_event event = event_of(i);

        lp_event_timeline_add(&timeline, &event);
    }
    CHECK(timeline.n == MAX_EVENTS && timeline.left_out == 2 * MAX_EVENTS);
    CHECK(timeline.n_chunks == 2);
    check_columns(&timeline, MAX_EVENTS);
    lp_event_timeline_free(&timeline);
}

static void
a_limit_of_0_keeps_nothing(void)
{
    lp_event_timeline timeline;
    lp_event event = event_of(0);

    lp_event_timeline_init(&timeline, 0);
    lp_event_timeline_add(&timeline, &event);
    CHECK(timeline.n == 0 && timeline.left_out == 1);
    CHECK(timeline.chunks == NULL);
    lp_event_timeline_free(&timeline);
}

static lp_launch
launch_of(int32_t i)
{
    lp_launch launch = {.grid = {i % 100, 1, 1}, .block = {32, i / 100, 1}};

    return launch;
}

static void
equal_launches_are_one(void)
{
    lp_event_timeline timeline;
    lp_launch launch = {.grid = {1, 2, 3}, .block = {4, 5, 6}}, other;

    lp_event_timeline_init(&timeline, 10);
    CHECK(lp_event_timeline_launch(&timeline, &launch) == 1);
    other = launch;
    CHECK(lp_event_timeline_launch(&timeline, &other) == 1);
    other.grid[2]++;
    CHECK(lp_event_timeline_launch(&timeline, &other) == 2);
    other = launch;
    other.block[0]++;
    CHECK(lp_event_timeline_launch(&timeline, &other) == 3);
    other = launch;
    other.registers++;
    CHECK(lp_event_timeline_launch(&timeline, &other) == 4);
    other = launch;
    other.static_smem++;
    CHECK(lp_event_timeline_launch(&timeline, &other) == 5);
    other = launch;
    other.dynamic_smem++;
    CHECK(lp_event_timeline_launch(&timeline, &other) == 6);
    CHECK(timeline.n_launches == 7);
    CHECK(timeline.launches[0].grid[0] == 0); /* stands for none */
    CHECK(memcmp(&timeline.launches[1], &launch, sizeof(launch)) == 0);
    lp_event_timeline_free(&timeline);
}

static void
many_launches_keep_their_numbers(void)
{
    lp_event_timeline timeline;

    lp_event_timeline_init(&timeline, 10);
    for (int round = 0; round < 2; round++) {
        for (int32_t i = 0; i < 20000; i++) {
            lp_launch launch = launch_of(i);

            CHECK(lp_event_timeline_launch(&timeline, &launch) ==
                  (uint32_t)i + 1);
        }
    }
    CHECK(timeline.n_launches == 20001);
    CHECK(timeline.launches[12345].grid[0] == 12344 % 100);
    lp_event_timeline_free(&timeline);
}

int
main(void)
{
    type_codes_are_of_the_right_size();
    columns_come_back();
    events_beyond_the_limit_are_counted();
    a_limit_of_0_keeps_nothing();
    equal_launches_are_one();
    many_launches_keep_their_numbers();
    return check_failures;
}
