/* The heap on several threads, which free each other's blocks. */
#include "memory/heap.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "check.h"
#include "memory/heap_session.h"
#include "random.h"
#include "record/recorder.h"

enum { THREADS = 6, SLOTS = 256, STEPS = 60000, LINES = 200 };

typedef struct slot {
    void *block; /* (atomic) */
} slot;

typedef struct worker {
    pthread_t thread;
    uint32_t number;
    lp_arena arena;
    lp_recorder *rec; /* owned */
} worker;

static slot slots[SLOTS];
static lp_call_paths paths;
static lp_clock the_clock;
static uint64_t allocated; /* bytes of all threads (atomic) */

static lp_ticks
read_zero(void)
{
    return 0;
}

static void
release(void *block)
{
    lp_heap_block taken = lp_heap_take(block);

    lp_heap_freed(taken);
    free(block);
}

static void *
allocate(uint64_t *random)
{
    size_t bytes = random_below(random, 4) == 0
                       ? random_below(random, 20000) + 1
                       : random_below(random, 600) + 1;
    bool counts = lp_heap_enter();
    void *block = malloc(bytes);

    CHECK(counts);
    lp_heap_leave();
    lp_heap_added(block, bytes);
    __atomic_fetch_add(&allocated, bytes, __ATOMIC_RELAXED);
    return block;
}

/* Most threads have a recorder, and come to lines that are new to it. */
static lp_recorder *
begin(uint32_t number, lp_arena *arena)
{
    lp_layout layout = {.serial = 1, .n_lines = LINES};
    lp_costs costs = {0};
    lp_recorder *rec;

    if (number == 0) {
        return NULL;
    }
    rec = lp_recorder_new(&the_clock, &costs);
    rec->number = number;
    lp_arena_init(arena, LP_BLOCK_COUNTERS, false);
    lp_recorder_enter(rec, &paths, lp_recorder_counters(rec, arena, &layout),
                      0)
        ->owner = &paths;
    lp_current_recorder = rec;
    return rec;
}

static void *
run(void *argument)
{
    worker *self = argument;
    uint64_t random = self->number;
    lp_recorder *rec = self->rec = begin(self->number, &self->arena);

    for (int step = 0; step < STEPS; step++) {
        slot *at = &slots[random_below(&random, SLOTS)];
        void *block = random_below(&random, 2) == 0 ? NULL : allocate(&random);

        if (rec != NULL && step % 16 == 0) {
            lp_recorder_line(rec, rec->top, random_below(&random, LINES), 0,
                             LP_LINE_FORWARD);
        }
        block = __atomic_exchange_n(&at->block, block, __ATOMIC_ACQ_REL);
        if (block != NULL) {
            release(block);
        }
    }
    return NULL;
}

static void
all_bytes_are_counted_once(void)
{
    worker workers[THREADS];
    lp_heap_sum total = {0};
    uint64_t live;

    CHECK(lp_heap_start(&paths, &the_clock, 0));
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i].number = i;
        pthread_create(&workers[i].thread, NULL, run, &workers[i]);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    live = lp_heap_live();
    for (uint32_t i = 0; i < lp_heap_paths(); i++) {
        lp_heap_sum sum = lp_heap_sum_of(i);

        CHECK(sum.freed_bytes <= sum.alloc_bytes);
        CHECK(sum.temp_bytes <= sum.freed_bytes);
        total.alloc_bytes += sum.alloc_bytes;
        total.freed_bytes += sum.freed_bytes;
    }
    CHECK(total.alloc_bytes == allocated);
    CHECK(total.alloc_bytes - total.freed_bytes == live);
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].block != NULL) {
            release(slots[i].block);
        }
    }
    CHECK(lp_heap_live() == 0);
    CHECK(lp_heap_lost() == 0);
    lp_heap_stop();
    for (uint32_t i = 1; i < THREADS; i++) {
        lp_recorder_free(workers[i].rec);
        lp_arena_free(&workers[i].arena);
    }
}

/* Free blocks as they come, before the thread that allocated them knows. */
static void *
free_all(void *argument)
{
    const bool *ends = argument;

    while (!__atomic_load_n(ends, __ATOMIC_ACQUIRE)) {
        void *block =
            __atomic_exchange_n(&slots[0].block, NULL, __ATOMIC_ACQ_REL);

        if (block != NULL) {
            lp_heap_freed(lp_heap_take(block));
        }
        else {
            sched_yield();
        }
    }
    return NULL;
}

static void
a_block_may_be_freed_while_its_thread_looks_at_it(void)
{
    enum { BLOCKS = 20000 };
    bool ends = false;
    lp_arena arena;
    lp_recorder *rec = begin(1, &arena);
    pthread_t other;
    size_t bytes;

    CHECK(lp_heap_start(&paths, &the_clock, 0));
    slots[0].block = NULL;
    pthread_create(&other, NULL, free_all, &ends);
    for (uintptr_t i = 1; i <= BLOCKS; i++) { /* they are never read */
        void *block = (void *)(i * 512), *newest;

        CHECK(lp_heap_enter());
        lp_heap_leave();
        lp_heap_added(block, 32);
        while (__atomic_load_n(&slots[0].block, __ATOMIC_ACQUIRE) != NULL) {
            sched_yield();
        }
        __atomic_store_n(&slots[0].block, block, __ATOMIC_RELEASE);
        newest = lp_heap_newest(&bytes);
        CHECK(newest == NULL || (newest == block && bytes == 32));
    }
    while (__atomic_load_n(&slots[0].block, __ATOMIC_ACQUIRE) != NULL) {
        sched_yield();
    }
    __atomic_store_n(&ends, true, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
    CHECK(lp_heap_live() == 0);
    lp_heap_stop();
    lp_current_recorder = NULL;
    lp_recorder_free(rec);
    lp_arena_free(&arena);
}

int
main(void)
{
    lp_clock_set_source(&the_clock, read_zero);
    lp_call_paths_init(&paths);
    all_bytes_are_counted_once();
    a_block_may_be_freed_while_its_thread_looks_at_it();
    lp_call_paths_free(&paths);
    return check_failures;
}
