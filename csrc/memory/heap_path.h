/* The measuring path of the heap, inlined into the hooks: one block comes or
 * goes.  See heap.h for the contract, heap.c for the rest.
 */
#ifndef LP_MEMORY_HEAP_PATH_H
#define LP_MEMORY_HEAP_PATH_H

#include "memory/heap.h"
#include "memory/large_blocks.h"
#include "memory/sites.h"
#include "memory/small_blocks.h"
#include "record/own_work.h"
#include "record/recorder.h"

enum {
    LP_KNOWN_LINES = 64,
    LP_BLOCKS_PER_MOMENT = 1024, /* blocks of a site between two looks at the
                                    clock */
    LP_MOMENT_BYTES = 4096       /* a block from which on there is one, too */
};

/* A line of the open frames, and its site. */
typedef struct lp_known_line {
    const lp_line *line;
    lp_site *site;
    uint32_t changes; /* of the recorder, while this is valid */
    uint32_t number;  /* of the site, plus 1 */
} lp_known_line;

/* What the heap keeps of a thread with a recorder: the site of its open lines,
 * while its top frame is on the same line. */
typedef struct lp_heap_thread {
    const lp_frame *top; /* NULL: nothing is known */
    const lp_line *line;
    uint32_t changes; /* of the recorder */
    uint32_t number;  /* of the site, plus 1 */
    lp_site *site;
    const uint64_t *hits; /* of the innermost line */
    uint16_t thread;      /* number, from 1 on */
    bool is_main;         /* its live bytes are in `main_live` */
    uint32_t root;        /* site of what is outside of lines */
    uint32_t session;     /* for which the two above are valid */
    void *newest;         /* borrowed: the last block */
    lp_known_line known[LP_KNOWN_LINES]; /* by line */
} lp_heap_thread;

typedef struct lp_heap {
    bool on;            /* (atomic, as all that follows) */
    uint32_t epoch;     /* number of peaks so far */
    int64_t main_live;  /* bytes, of one thread; without an atomic add */
    int64_t other_live; /* and of all others */
    int64_t peak;
    lp_site *sites;   /* LP_MAX_SITES; NULL before the first start */
    uint64_t sample;  /* mean bytes between two blocks that count; 0: all do */
    uint32_t session; /* number of starts, and of forks after one */
    lp_ticks peak_at;
    lp_ticks stopped_at;
    uint64_t lost; /* blocks that there was no memory for */
    lp_call_paths *paths;
    const lp_clock *clock;
} lp_heap;

extern lp_heap lp_the_heap;

/* State of any thread. */
typedef struct lp_heap_here {
    uint32_t inside;  /* depth of hooks that call the allocator below */
    uint32_t session; /* for which these are valid: */
    int64_t until;    /* bytes until the next sample */
    uint64_t random;
} lp_heap_here;

extern _Thread_local lp_heap_here lp_heap_of_thread;

/* [ANY] Count a block in all other cases than the usual one. */
void lp_heap_added_slowly(void *block, size_t bytes);

/* [ANY] The same for its entry in the tables, for a large one.  False if
 * memory is out. */
bool lp_heap_enter_large(void *block, lp_heap_block entry);

/* [ANY] A cell that is to have a block has another one, which was freed
 * without a word. */
void lp_heap_stale(lp_heap_block stale);

/* [ANY] Take the next moment of the curve, if it is time. */
void lp_heap_look(void);

/* [ANY] So many bytes are live, more than ever, and the next are about to be
 * freed. */
void lp_heap_commit_peak(int64_t live);

LP_INLINE bool
lp_heap_begin(void)
{
    if (LP_UNLIKELY(lp_heap_of_thread.inside != 0 ||
                    !LP_READ(lp_the_heap.on))) {
        return false;
    }
    lp_heap_of_thread.inside = 1;
    return true;
}

LP_INLINE void
lp_heap_end(void)
{
    lp_heap_of_thread.inside = 0;
}

/* The site is about to change. */
LP_INLINE void
lp_heap_touch(lp_site *site)
{
    uint32_t epoch = LP_READ(lp_the_heap.epoch);

    if (LP_UNLIKELY(LP_READ(site->epoch) != epoch)) {
        LP_WRITE(site->snap, lp_site_live(site));
        LP_WRITE(site->epoch, epoch);
    }
}

/* Count a block of the thread's known site; its entry is in the tables. */
LP_INLINE void
lp_heap_count(lp_heap_thread *thread, uint64_t bytes, uint64_t blocks)
{
    lp_site *site = thread->site;
    uint64_t allocs = LP_READ(site->allocs) + blocks;

    lp_heap_touch(site);
    LP_WRITE(site->allocs, allocs);
    LP_WRITE(site->alloc_bytes, LP_READ(site->alloc_bytes) + bytes);
    if (LP_LIKELY(thread->is_main)) {
        LP_WRITE(lp_the_heap.main_live,
                 LP_READ(lp_the_heap.main_live) + (int64_t)bytes);
    }
    else {
        __atomic_fetch_add(&lp_the_heap.other_live, (int64_t)bytes,
                           __ATOMIC_RELAXED);
    }
    if (LP_UNLIKELY(allocs % LP_BLOCKS_PER_MOMENT == 0 ||
                    bytes >= LP_MOMENT_BYTES)) {
        lp_heap_look();
    }
}

/* Enter a block in the tables; false if memory is out. */
LP_INLINE bool
lp_heap_keep(void *block, uint64_t bytes, uint32_t number, uint32_t stamp)
{
    uint64_t *cell;

    if (LP_UNLIKELY(!lp_is_small(block, bytes))) {
        return lp_heap_enter_large(
            block, (lp_heap_block){bytes, number, stamp & LP_STAMP_MASK});
    }
    cell = lp_shadow_make_cell(block);
    if (LP_UNLIKELY(cell == NULL)) {
        return false;
    }
    if (LP_UNLIKELY(LP_READ(*cell) != 0)) {
        lp_heap_stale(lp_cell_block(LP_READ(*cell)));
    }
    LP_WRITE(*cell, lp_cell_of(number, bytes, stamp));
    return true;
}

/* True if the thread's site is the one of its open lines now. */
LP_INLINE bool
lp_heap_is_known(const lp_heap_thread *thread, const lp_recorder *rec)
{
    const lp_frame *top = LP_READ(rec->top);

    return LP_LIKELY(thread->top == top) &&
           LP_LIKELY(thread->line == LP_READ(top->line)) &&
           LP_LIKELY(thread->changes == LP_READ(rec->changes));
}

LP_INLINE void
lp_heap_add(void *block, size_t bytes)
{
    const lp_recorder *rec = lp_current_recorder;
    lp_heap_thread *thread = LP_LIKELY(rec != NULL) ? rec->heap : NULL;

    if (LP_UNLIKELY(thread == NULL) || LP_UNLIKELY(lp_own_work_depth != 0) ||
        !lp_heap_is_known(thread, rec) ||
        LP_UNLIKELY(!lp_heap_keep(block, bytes, thread->number,
                                  (uint32_t)LP_READ(*thread->hits)))) {
        lp_heap_added_slowly(block, bytes);
        return;
    }
    thread->newest = block;
    lp_heap_count(thread, bytes, 1);
}

LP_INLINE lp_heap_block
lp_heap_take_out(void *block)
{
    uint64_t *cell;

    if (LP_UNLIKELY(!LP_READ(lp_the_heap.on))) {
        return (lp_heap_block){0, 0, 0};
    }
    cell = lp_is_small(block, 0) ? lp_shadow_cell(block) : NULL;
    if (LP_LIKELY(cell != NULL)) {
        uint64_t value = LP_READ(*cell);

        if (LP_LIKELY(value != 0)) {
            LP_WRITE(*cell, 0);
            return lp_cell_block(value);
        }
    }
    return lp_large_take(block);
}

/* True if the execution of the line of the site, which is this thread's, has
 * not ended since it had this stamp. */
LP_INLINE bool
lp_heap_is_open(const lp_site *site, uint32_t stamp)
{
    const lp_recorder *rec = lp_current_recorder;
    const lp_line *line = LP_READ(site->line);
    const lp_frame *frame = LP_READ(rec->frames) + LP_READ(site->frame);

    /* An open line is there to be read; another one may not be. */
    return line != NULL && frame <= LP_READ(rec->top) &&
           LP_READ(frame->line) == line &&
           ((uint32_t)LP_READ(line->hits) & LP_STAMP_MASK) == stamp;
}

LP_INLINE void
lp_heap_drop(lp_heap_block taken, bool may_be_temp)
{
    lp_heap *heap = &lp_the_heap;
    const lp_recorder *rec = lp_current_recorder;
    const lp_heap_thread *thread = LP_LIKELY(rec != NULL) ? rec->heap : NULL;
    lp_site *site;
    int64_t live;

    if (LP_UNLIKELY(taken.site == 0)) {
        return;
    }
    site = heap->sites + (taken.site - 1);
    live = LP_READ(heap->main_live) + LP_READ(heap->other_live);
    if (LP_UNLIKELY(live > LP_READ(heap->peak))) {
        lp_heap_commit_peak(live);
    }
    lp_heap_touch(site);
    if (LP_LIKELY(thread != NULL && thread->thread == LP_READ(site->thread))) {
        LP_WRITE(site->own_freed, LP_READ(site->own_freed) + taken.bytes);
        if (may_be_temp && lp_heap_is_open(site, taken.stamp)) {
            LP_WRITE(site->temp_bytes,
                     LP_READ(site->temp_bytes) + taken.bytes);
        }
    }
    else {
        __atomic_fetch_add(&site->other_freed, taken.bytes, __ATOMIC_RELAXED);
    }
    if (LP_LIKELY(thread != NULL && thread->is_main)) {
        LP_WRITE(heap->main_live,
                 LP_READ(heap->main_live) - (int64_t)taken.bytes);
    }
    else {
        __atomic_fetch_sub(&heap->other_live, (int64_t)taken.bytes,
                           __ATOMIC_RELAXED);
    }
}

#endif
