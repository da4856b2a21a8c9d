/* A heap that only keeps books, for tests of what calls it: blocks by address,
 * bytes that live, and a log of how blocks ended.  A lock guards it. */
#ifndef HEAP_DOUBLE_H
#define HEAP_DOUBLE_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "memory/heap.h"

enum { HEAP_BLOCKS = 1 << 16 };

static struct {
    pthread_mutex_t lock;
    struct {
        void *start; /* NULL: no live block */
        lp_heap_block block;
    } blocks[HEAP_BLOCKS];
    size_t added, freed, moved, twice; /* blocks; added while live */
    uint64_t live;
    bool off;
    void (*before_put_back)(void); /* what other threads do, or NULL */
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool heap_inside;

static void
heap_reset(void)
{
    pthread_mutex_lock(&heap.lock);
    memset(heap.blocks, 0, sizeof(heap.blocks));
    heap.added = heap.freed = heap.moved = heap.twice = 0;
    heap.live = 0;
    pthread_mutex_unlock(&heap.lock);
}

static size_t
heap_hash(void *start)
{
    return ((uintptr_t)start >> 4) * 0x9E3779B1u % HEAP_BLOCKS;
}

static size_t
heap_place(void *start)
{
    size_t i = heap_hash(start);

    while (heap.blocks[i].start != start && heap.blocks[i].start != NULL) {
        i = (i + 1) % HEAP_BLOCKS;
    }
    return i;
}

static void
heap_remove(size_t hole)
{
    for (size_t i = hole;;) {
        i = (i + 1) % HEAP_BLOCKS;
        if (heap.blocks[i].start == NULL) {
            break;
        }
        if ((i - heap_hash(heap.blocks[i].start)) % HEAP_BLOCKS >=
            (i - hole) % HEAP_BLOCKS) {
            heap.blocks[hole] = heap.blocks[i];
            hole = i;
        }
    }
    heap.blocks[hole].start = NULL;
}

bool
lp_heap_enter(void)
{
    if (heap_inside || __atomic_load_n(&heap.off, __ATOMIC_RELAXED)) {
        return false;
    }
    heap_inside = true;
    return true;
}

void
lp_heap_leave(void)
{
    heap_inside = false;
}

static void
heap_put(void *start, lp_heap_block block)
{
    size_t i = heap_place(start);

    heap.twice += heap.blocks[i].start == start;
    heap.blocks[i].start = start;
    heap.blocks[i].block = block;
}

void
lp_heap_added(void *block, size_t bytes)
{
    if (block == NULL) {
        return;
    }
    pthread_mutex_lock(&heap.lock);
    heap_put(block, (lp_heap_block){.bytes = bytes, .site = 1});
    heap.added++;
    heap.live += bytes;
    pthread_mutex_unlock(&heap.lock);
}

lp_heap_block
lp_heap_take(void *block)
{
    lp_heap_block taken = {0};

    if (block != NULL) {
        size_t i;

        pthread_mutex_lock(&heap.lock);
        i = heap_place(block);
        if (heap.blocks[i].start == block) {
            taken = heap.blocks[i].block;
            heap_remove(i);
        }
        pthread_mutex_unlock(&heap.lock);
    }
    return taken;
}

static void
heap_count(lp_heap_block taken, size_t *as)
{
    if (taken.site != 0) {
        pthread_mutex_lock(&heap.lock);
        ++*as;
        heap.live -= taken.bytes;
        pthread_mutex_unlock(&heap.lock);
    }
}

void
lp_heap_freed(lp_heap_block taken)
{
    heap_count(taken, &heap.freed);
}

void
lp_heap_moved(lp_heap_block taken)
{
    heap_count(taken, &heap.moved);
}

void
lp_heap_put_back(void *block, lp_heap_block taken)
{
    if (taken.site != 0) {
        if (heap.before_put_back != NULL) {
            heap.before_put_back();
        }
        pthread_mutex_lock(&heap.lock);
        heap_put(block, taken);
        pthread_mutex_unlock(&heap.lock);
    }
}

/* Bytes of the live block at this address, or 0. */
static inline uint64_t
heap_bytes(void *start)
{
    size_t i = heap_place(start);

    return heap.blocks[i].start == start ? heap.blocks[i].block.bytes : 0;
}

#endif
