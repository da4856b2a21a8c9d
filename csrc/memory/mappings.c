#include "memory/mappings.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

enum { CAPACITY = 16384, MAX_TRIES = 1024 };

static const uintptr_t FREE = 0, CLAIMED = 1; /* no page starts there */

static struct {
    uintptr_t start;
    uintptr_t end; /* not rounded to pages */
} mappings[CAPACITY];
static size_t used;        /* places from here on were never taken */
static size_t likely_free; /* where to look first */
static size_t splits;      /* ends that went to a place of their own, which a
                              search may have passed already */

static uintptr_t
whole_pages(uintptr_t end)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    return (end + page - 1) & ~(page - 1);
}

static bool
exchange(size_t i, uintptr_t from, uintptr_t to)
{
    return __atomic_compare_exchange_n(&mappings[i].start, &from, to, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void
release(size_t i, uintptr_t start)
{
    __atomic_store_n(&mappings[i].start, start, __ATOMIC_RELEASE);
    if (start == FREE) {
        __atomic_store_n(&likely_free, i, __ATOMIC_RELAXED);
    }
}

void
lp_mappings_add(void *start, size_t bytes)
{
    size_t first = __atomic_load_n(&likely_free, __ATOMIC_RELAXED);

    for (size_t k = 0; k < CAPACITY; k++) {
        size_t i = (first + k) % CAPACITY;

        if (exchange(i, FREE, CLAIMED)) {
            size_t end = __atomic_load_n(&used, __ATOMIC_RELAXED);

            while (end <= i && !__atomic_compare_exchange_n(
                                   &used, &end, i + 1, false, __ATOMIC_RELEASE,
                                   __ATOMIC_RELAXED)) {
            }
            __atomic_store_n(&mappings[i].end, (uintptr_t)start + bytes,
                             __ATOMIC_RELAXED);
            release(i, (uintptr_t)start);
            __atomic_store_n(&likely_free, (i + 1) % CAPACITY,
                             __ATOMIC_RELAXED);
            return;
        }
    }
}

/* Put a part of a block back as a block. */
static void
keep(uintptr_t start, uintptr_t end, lp_heap_block block)
{
    block.bytes = end - start;
    lp_heap_put_back((void *)start, block);
}

static void
add_piece(lp_cut *cut, uintptr_t start, uintptr_t end, lp_heap_block block)
{
    block.bytes = end - start;
    if (cut->n < LP_MAX_PIECES) {
        cut->pieces[cut->n].start = (char *)start;
        cut->pieces[cut->n].bytes = end - start;
        cut->pieces[cut->n].block = block;
        cut->n++;
    }
    else {
        lp_heap_freed(block);
    }
}

/* Cut [from, to) out of the mapping that this thread has claimed.  What is
 * left of it has its entries again before the claim ends, for another thread
 * may be about to cut that. */
static void
cut_claimed(size_t i, uintptr_t start, uintptr_t from, uintptr_t to,
            lp_cut *cut)
{
    uintptr_t end = __atomic_load_n(&mappings[i].end, __ATOMIC_RELAXED);
    uintptr_t first = start > from ? start : from;
    uintptr_t last = end < to ? end : to;
    lp_heap_block block;

    if (start >= to || first >= last) {
        release(i, start); /* another mapping by now, or none of its bytes */
        return;
    }
    block = lp_heap_take((void *)start);
    if (last < end) {
        keep(last, end, block);
    }
    if (start < first) {
        keep(start, first, block);
        if (last < end) {
            lp_mappings_add((void *)last, end - last);
            __atomic_fetch_add(&splits, 1, __ATOMIC_RELEASE);
        }
        __atomic_store_n(&mappings[i].end, first, __ATOMIC_RELEASE);
        release(i, start);
    }
    else {
        release(i, last < end ? last : FREE);
    }
    add_piece(cut, first, last, block);
}

/* Cut a mapping that has no place in the table, if one starts there. */
static void
cut_untold(uintptr_t from, uintptr_t to, lp_cut *cut)
{
    lp_heap_block block = lp_heap_take((void *)from);
    uintptr_t end = from + block.bytes;

    if (block.site != 0) {
        if (to < end) {
            keep(to, end, block);
        }
        add_piece(cut, from, to < end ? to : end, block);
    }
}

void
lp_mappings_cut(void *address, size_t bytes, lp_cut *cut)
{
    uintptr_t from = (uintptr_t)address;
    uintptr_t to = whole_pages(from + bytes);
    bool missed = true;

    if (whole_pages(from) != from || from >= to) {
        return; /* the call will fail */
    }
    for (int try = 0; missed && try < MAX_TRIES; try++) {
        size_t before = __atomic_load_n(&splits, __ATOMIC_ACQUIRE);
        size_t end = __atomic_load_n(&used, __ATOMIC_ACQUIRE);

        if (try > 0) {
            sched_yield(); /* to the thread with the claim */
        }
        missed = false;
        for (size_t i = 0; i < end; i++) {
            uintptr_t start =
                __atomic_load_n(&mappings[i].start, __ATOMIC_ACQUIRE);

            if (start == CLAIMED) {
                missed = true;
            }
            else if (start != FREE && start < to &&
                     __atomic_load_n(&mappings[i].end, __ATOMIC_ACQUIRE) >
                         from) {
                if (exchange(i, start, CLAIMED)) {
                    cut_claimed(i, start, from, to, cut);
                }
                else {
                    missed = true;
                }
            }
        }
        missed |= before != __atomic_load_n(&splits, __ATOMIC_ACQUIRE);
    }
    if (cut->n == 0) {
        cut_untold(from, to, cut);
    }
}

static void
count(const lp_cut *cut, void (*as)(lp_heap_block))
{
    for (size_t i = 0; i < cut->n; i++) {
        as(cut->pieces[i].block);
    }
}

void
lp_cut_freed(const lp_cut *cut)
{
    count(cut, lp_heap_freed);
}

void
lp_cut_moved(const lp_cut *cut)
{
    count(cut, lp_heap_moved);
}

void
lp_cut_put_back(const lp_cut *cut)
{
    for (size_t i = 0; i < cut->n; i++) {
        lp_heap_put_back(cut->pieces[i].start, cut->pieces[i].block);
        lp_mappings_add(cut->pieces[i].start, cut->pieces[i].bytes);
    }
}

void
lp_mappings_clear(void)
{
    size_t end = __atomic_load_n(&used, __ATOMIC_RELAXED);

    for (size_t i = 0; i < end; i++) {
        if (__atomic_load_n(&mappings[i].start, __ATOMIC_RELAXED) != FREE) {
            release(i, FREE);
        }
    }
    __atomic_store_n(&likely_free, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&used, 0, __ATOMIC_RELAXED);
}
