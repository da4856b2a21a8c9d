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

/* A line that a thread's top frame was on, and its site: the same again while
 * no frame comes or goes. */
typedef struct lp_known_line {
    const lp_line *line;  /* lp_no_line: none */
    const uint64_t *hits; /* of the innermost line */
    lp_site *site;
    uint32_t changes; /* of the recorder */
    uint32_t number;  /* of the site, plus 1 */
} lp_known_line;

/* What the heap keeps of a thread with a recorder. */
typedef struct lp_heap_thread {
    const lp_recorder *rec; /* borrowed */
    void *newest;           /* borrowed: the last block, */
    uint64_t stands_for;    /* how many it is */
    size_t newest_bytes;    /* and its size, if it is a sample */
    uint32_t root;          /* site of what is outside of lines */
    uint32_t session;       /* for which that is valid */
    uint16_t thread;        /* number, from 1 on */
    bool is_main;           /* its live bytes are in `main_live` */
    lp_known_line last;     /* the last that was not known */
    lp_known_line known[LP_KNOWN_LINES]; /* by line */
} lp_heap_thread;

/* A line that no frame is on. */
extern const lp_line lp_no_line;

typedef struct lp_heap {
    bool on;            /* (atomic, as all that follows) */
    uint32_t epoch;     /* number of peaks so far */
    int64_t main_live;  /* bytes, of one thread; without an atomic add */
    int64_t other_live; /* and of all others */
    int64_t peak;
    int64_t main_limit; /* the peak, less `other_live` */
    lp_site *sites;     /* LP_MAX_SITES; NULL before the first start */
    uint64_t sample;  /* mean bytes between two blocks that count; 0: all do */
    uint32_t session; /* number of starts, and of forks after one */
    lp_ticks peak_at;
    lp_ticks started_at;
    bool native; /* as told */
    lp_ticks stopped_at;
    uint64_t lost; /* blocks that there was no memory for */
    lp_call_paths *paths;
    const lp_clock *clock;
} lp_heap;

extern lp_heap lp_the_heap;

/* [ANY] Count a block in all other cases than the usual one; returns it. */
void *lp_heap_added_slowly(void *block, size_t bytes);

/* [ANY] Count a block that does not go into an empty cell, of a known line;
 * returns it. */
void *lp_heap_added_large(lp_heap_thread *thread, const lp_known_line *known,
                          void *block, size_t bytes);

/* [ANY] A block of which the shadow had this, no block, is freed: take it out
 * and count it. */
void lp_heap_free_slowly(void *block, uint64_t cell);

/* [ANY] Count a block as freed, on any thread. */
void lp_heap_drop_slowly(lp_heap_block taken, bool may_be_temp);

/* [ANY] Take the next moment of the curve, if it is time. */
void lp_heap_look(void);

/* [ANY] So many bytes are live, more than ever, and the next are about to be
 * freed. */
void lp_heap_commit_peak(int64_t live);

/* Distance of lp_memory_of_thread from the thread pointer, if it is the same
 * in all threads; else 0. */
extern ptrdiff_t lp_memory_offset;

#ifdef __has_builtin
#  if __has_builtin(__builtin_thread_pointer) && defined(__x86_64__) &&       \
      defined(__GLIBC__)
#    define LP_HAVE_THREAD_POINTER 1
#  endif
#endif
#ifndef LP_HAVE_THREAD_POINTER
#  define LP_HAVE_THREAD_POINTER 0
#endif

LP_INLINE char *
lp_thread_pointer(void)
{
#if LP_HAVE_THREAD_POINTER
    return __builtin_thread_pointer();
#else
    return NULL;
#endif
}

/* Return lp_memory_of_thread, without the call that finds a thread-local
 * variable of a module in most cases: that is a tenth of a hook's time. */
LP_INLINE lp_memory_here *
lp_memory_here_now(void)
{
    if (LP_HAVE_THREAD_POINTER && LP_LIKELY(lp_memory_offset != 0)) {
        return (lp_memory_here *)(void *)(lp_thread_pointer() +
                                          lp_memory_offset);
    }
    return &lp_memory_of_thread;
}

/* False: pass a call on. */
LP_INLINE bool
lp_heap_may_begin(const lp_memory_here *here)
{
    return LP_LIKELY(here->inside == 0) && LP_LIKELY(LP_READ(lp_the_heap.on));
}

/* The same; if true, `inside` is to become 0 after the call below. */
LP_INLINE bool
lp_heap_begin(lp_memory_here *here)
{
    if (!lp_heap_may_begin(here)) {
        return false;
    }
    here->inside = 1;
    return true;
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

LP_INLINE void
lp_heap_add_other(int64_t bytes)
{
    int64_t live =
        __atomic_add_fetch(&lp_the_heap.other_live, bytes, __ATOMIC_RELAXED);

    LP_WRITE(lp_the_heap.main_limit, LP_READ(lp_the_heap.peak) - live);
}

LP_INLINE void
lp_heap_add_live(bool is_main, int64_t bytes)
{
    if (LP_LIKELY(is_main)) {
        LP_WRITE(lp_the_heap.main_live,
                 LP_READ(lp_the_heap.main_live) + bytes);
    }
    else {
        lp_heap_add_other(bytes);
    }
}

/* Count a block of the thread's.  True if it is time to look at the clock. */
LP_INLINE bool
lp_heap_count(lp_heap_thread *thread, lp_site *site, void *block,
              uint64_t bytes, uint64_t blocks)
{
    uint64_t allocs = LP_READ(site->allocs) + blocks;

    thread->newest = block;
    lp_heap_touch(site);
    LP_WRITE(site->allocs, allocs);
    LP_WRITE(site->alloc_bytes, LP_READ(site->alloc_bytes) + bytes);
    lp_heap_add_live(thread->is_main, (int64_t)bytes);
    return allocs % LP_BLOCKS_PER_MOMENT == 0;
}

/* Return where a line is, if it is known. */
LP_INLINE lp_known_line *
lp_heap_place(lp_heap_thread *thread, const lp_line *line)
{
    return &thread->known[(uintptr_t)line / LP_RECORD_BYTES % LP_KNOWN_LINES];
}

/* Return the line that the thread is on; NULL if it is not known. */
LP_INLINE const lp_known_line *
lp_heap_known(lp_heap_thread *thread)
{
    const lp_recorder *rec = thread->rec;
    const lp_frame *top = LP_READ(rec->top);
    const lp_line *line = LP_READ(top->line);
    const lp_known_line *known = lp_heap_place(thread, line);

    return LP_LIKELY(known->line == line) &&
                   LP_LIKELY(known->changes == LP_READ(rec->changes))
               ? known
               : NULL;
}

/* Count a new block, and return it. */
LP_INLINE void *
lp_heap_add(const lp_memory_here *here, void *block, size_t bytes)
{
    lp_heap_thread *thread = here->thread;
    const lp_known_line *known;
    uint64_t unit = lp_unit_of(block), *cell;

    if (LP_UNLIKELY(thread == NULL) || LP_UNLIKELY(here->own_work != 0)) {
        return lp_heap_added_slowly(block, bytes);
    }
    known = lp_heap_known(thread);
    if (LP_UNLIKELY(known == NULL)) {
        return lp_heap_added_slowly(block, bytes);
    }
    cell = LP_LIKELY(bytes <= LP_SMALL_MAX) && LP_LIKELY(lp_has_cell(unit))
               ? lp_shadow_cell(unit)
               : NULL;
    if (LP_UNLIKELY(cell == NULL) || LP_UNLIKELY(LP_READ(*cell) != 0)) {
        return lp_heap_added_large(thread, known, block, bytes);
    }
    LP_WRITE(*cell, lp_cell_of(known->number, bytes,
                               (uint32_t)LP_READ(*known->hits)));
    if (LP_UNLIKELY(lp_heap_count(thread, known->site, block, bytes, 1))) {
        lp_heap_look();
    }
    return block;
}

/* True if the execution of the line of the site, which is this thread's, has
 * not ended since it had this stamp. */
LP_INLINE bool
lp_heap_is_open(const lp_heap_thread *thread, const lp_site *site,
                uint32_t stamp)
{
    const lp_recorder *rec = thread->rec;
    const lp_line *line = LP_READ(site->line);
    const lp_frame *frame = LP_READ(rec->frames) + LP_READ(site->frame);

    /* The array may be another greenlet's, and shorter.  An open line is
     * there to be read; another one may not be. */
    return frame <= LP_READ(rec->top) && LP_READ(frame->line) == line &&
           line != NULL &&
           ((uint32_t)LP_READ(line->hits) & LP_STAMP_MASK) == stamp;
}

/* Count a block as freed. */
LP_INLINE void
lp_heap_drop(const lp_memory_here *here, lp_heap_block taken, bool may_be_temp)
{
    lp_heap *heap = &lp_the_heap;
    const lp_heap_thread *thread = here->thread;
    lp_site *site = heap->sites + (taken.site - 1);

    if (LP_UNLIKELY(LP_READ(heap->main_live) > LP_READ(heap->main_limit)) ||
        LP_UNLIKELY(thread == NULL) ||
        LP_UNLIKELY(thread->thread != LP_READ(site->thread))) {
        lp_heap_drop_slowly(taken, may_be_temp);
        return;
    }
    lp_heap_touch(site);
    LP_WRITE(site->own_freed, LP_READ(site->own_freed) + taken.bytes);
    lp_heap_add_live(thread->is_main, -(int64_t)taken.bytes);
    if (may_be_temp && lp_heap_is_open(thread, site, taken.stamp)) {
        LP_WRITE(site->temp_bytes, LP_READ(site->temp_bytes) + taken.bytes);
    }
}

/* Return the cell of a block, NULL if it has none, and what the shadow has of
 * it: 0 if it is not there, LP_SAMPLED if it is elsewhere. */
LP_INLINE uint64_t *
lp_heap_find_small(const void *block, uint64_t *found)
{
    uint64_t unit = lp_unit_of(block);
    uint64_t *cell =
        LP_LIKELY(lp_has_cell(unit)) ? lp_shadow_cell(unit) : NULL;

    *found = LP_LIKELY(cell != NULL) ? LP_READ(*cell) : 0;
    return cell;
}

/* Take a block out of the shadow, and return what that had of it. */
LP_INLINE uint64_t
lp_heap_take_small(const void *block)
{
    uint64_t taken, *cell = lp_heap_find_small(block, &taken);

    if (LP_LIKELY(taken != 0)) {
        LP_WRITE(*cell, 0);
    }
    return taken;
}

/* True if the block, of which the shadow had this, is none that counts, as
 * only samples do. */
LP_INLINE bool
lp_heap_is_no_sample(const void *block, uint64_t cell)
{
    return cell == 0 && LP_READ(lp_the_heap.sample) != 0 &&
           lp_has_cell(lp_unit_of(block));
}

/* True if a block is none of the samples, and the next one is further off. */
LP_INLINE bool
lp_sample_is_far(lp_memory_here *here, size_t bytes)
{
    uint64_t sample = LP_READ(lp_the_heap.sample);
    int64_t until = here->until - (int64_t)(bytes + (bytes == 0));

    if (bytes >= sample || here->session != LP_READ(lp_the_heap.session) ||
        until <= 0) {
        return false;
    }
    here->until = until;
    return true;
}

#endif
