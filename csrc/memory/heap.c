#include "memory/heap.h"

#include <string.h>

#include "memory/curve.h"
#include "memory/heap_path.h"
#include "memory/heap_session.h"
#include "memory/pages.h"
#include "memory/sampling.h"
#include "record/current_path.h"
#include "record/forks.h"

/* The peak is noted late: at a free that would take memory off it, when the
 * total is compared with the highest so far.  That begins an epoch, in which a
 * site saves what it has live before its first change: a site that was not
 * changed since has at the end what it had at the peak.  So an allocation
 * costs no comparison, and one that is undone was never part of a peak.
 */

enum { MAX_THREADS = 4096, NS_PER_MS = 1000000 };

lp_heap lp_the_heap;
_Thread_local lp_heap_here lp_heap_of_thread;

static const size_t site_bytes = LP_MAX_SITES * sizeof(lp_site);
static const uint64_t no_hits;

static lp_heap_thread *threads;     /* MAX_THREADS, of which */
static uint32_t n_threads;          /* so many, and no more, are used (atomic)
                                     */
static lp_heap_thread *main_thread; /* (atomic) */

/* -- the site of the open lines ----------------------------------------- */

/* Return memory for another thread, which is kept, as recorders are; NULL if
 * there is none. */
static lp_heap_thread *
new_thread(void)
{
    uint32_t number = __atomic_fetch_add(&n_threads, 1, __ATOMIC_RELAXED);

    return number < MAX_THREADS ? &threads[number] : NULL;
}

/* Return what there is of this thread, made ready for the session. */
static lp_heap_thread *
begin_thread(lp_recorder *rec)
{
    lp_heap_thread *self = rec->heap;
    lp_heap_thread *none = NULL;

    if (self == NULL) {
        self = rec->heap = new_thread();
        if (self == NULL) {
            return NULL;
        }
    }
    memset(self->known, 0, sizeof(self->known));
    self->top = NULL;
    self->newest = NULL;
    self->thread = rec->number < UINT16_MAX - 1 ? (uint16_t)(rec->number + 1)
                                                : UINT16_MAX;
    self->root = lp_call_paths_root(lp_the_heap.paths, rec->number, false);
    self->is_main = __atomic_compare_exchange_n(
        &main_thread, &none, self, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    self->session = lp_the_heap.session;
    return self;
}

/* The thread's open lines have this path, and the innermost of them is in the
 * frame. */
static void
know(lp_heap_thread *self, const lp_recorder *rec, uint32_t path,
     const lp_frame *frame)
{
    lp_site *site = lp_the_heap.sites + path;
    const lp_line *line = LP_READ(frame->line);
    ptrdiff_t place = frame - LP_READ(rec->frames);

    self->site = site;
    self->number = path + 1;
    self->hits = line == NULL ? &no_hits : &line->hits;
    LP_WRITE(site->line, line);
    LP_WRITE(site->frame, (uint16_t)place);
    if (place != (uint16_t)place) {
        LP_WRITE(site->line, NULL); /* so deep that nothing is temporary */
    }
    if (path != LP_NO_PATH && self->thread != UINT16_MAX) {
        LP_WRITE(site->thread, self->thread);
    }
}

/* Return the innermost frame that has a line, or the sentinel. */
static const lp_frame *
frame_of_line(const lp_recorder *rec, const lp_frame *top)
{
    const lp_frame *frames = LP_READ(rec->frames);

    while (top > frames && LP_READ(top->line) == NULL) {
        top--;
    }
    return top;
}

static lp_known_line *
known_line(lp_heap_thread *self, const lp_line *line)
{
    return &self->known[(uintptr_t)line / sizeof(lp_line) % LP_KNOWN_LINES];
}

/* Find the site of the thread's open lines; NULL if memory is out. */
static lp_heap_thread *
find_site(lp_recorder *rec)
{
    lp_heap_thread *self = rec->heap;
    uint32_t changes = __atomic_load_n(&rec->changes, __ATOMIC_ACQUIRE);
    const lp_frame *top = LP_READ(rec->top);
    const lp_line *line = LP_READ(top->line);
    bool lasts = changes % 2 == 0 && lp_the_heap.sample == 0 &&
                 !(LP_READ(top->flags) & LP_FRAME_GREENLET);
    lp_known_line *known;

    if (self == NULL || self->session != lp_the_heap.session) {
        self = begin_thread(rec);
        if (self == NULL) {
            return NULL;
        }
    }
    if (LP_UNLIKELY(LP_READ(top->since) >= lp_curve_due())) {
        lp_heap_look();
    }
    known = known_line(self, line);
    if (LP_LIKELY(lasts && line != NULL && known->line == line &&
                  known->changes == changes)) {
        self->site = known->site;
        self->number = known->number;
        self->hits = &line->hits;
    }
    else {
        uint32_t path = lp_current_path(rec, lp_the_heap.paths);

        know(self, rec, path == LP_NO_PATH ? self->root : path,
             frame_of_line(rec, top));
        if (lasts && line != NULL) {
            *known = (lp_known_line){line, self->site, changes, self->number};
        }
    }
    self->top = lasts ? top : NULL;
    self->line = line;
    self->changes = changes;
    return self;
}

/* -- blocks ---------------------------------------------------------------
 */

/* Count a block of a thread without a site of its own. */
static void
count_shared(uint64_t bytes, uint64_t blocks)
{
    lp_site *site = lp_the_heap.sites;

    lp_heap_touch(site);
    __atomic_fetch_add(&site->allocs, blocks, __ATOMIC_RELAXED);
    __atomic_fetch_add(&site->alloc_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&lp_the_heap.other_live, (int64_t)bytes,
                       __ATOMIC_RELAXED);
    if (bytes >= LP_MOMENT_BYTES) {
        lp_heap_look();
    }
}

static void
count_lost(void)
{
    __atomic_fetch_add(&lp_the_heap.lost, 1, __ATOMIC_RELAXED);
}

static void
add(void *block, const lp_sample *sample)
{
    lp_recorder *rec = lp_current_recorder;
    lp_heap_thread *self = rec == NULL ? NULL : find_site(rec);
    bool is_shared = self == NULL || self->number == LP_NO_PATH + 1;
    uint32_t stamp = self == NULL ? 0 : (uint32_t)LP_READ(*self->hits);

    if (!lp_heap_keep(block, sample->bytes, is_shared ? 1 : self->number,
                      stamp)) {
        count_lost();
        return;
    }
    if (self != NULL) {
        self->newest = block;
    }
    if (is_shared) {
        count_shared(sample->bytes, sample->blocks);
    }
    else {
        lp_heap_count(self, sample->bytes, sample->blocks);
    }
}

void
lp_heap_added_slowly(void *block, size_t bytes)
{
    lp_sample sample = {bytes, 1};

    if (block == NULL || !LP_READ(lp_the_heap.on) || lp_own_work_depth != 0 ||
        (lp_the_heap.sample != 0 && !lp_sample_block(bytes, &sample))) {
        return;
    }
    lp_heap_of_thread.inside++; /* a new path needs memory, too */
    add(block, &sample);
    lp_heap_of_thread.inside--;
}

bool
lp_heap_enter_large(void *block, lp_heap_block entry)
{
    uint64_t *cell = lp_is_small(block, 0) ? lp_shadow_cell(block) : NULL;
    lp_heap_block stale;

    if (cell != NULL && LP_READ(*cell) != 0) {
        lp_heap_stale(lp_cell_block(LP_READ(*cell)));
        LP_WRITE(*cell, 0);
    }
    if (!lp_large_add(block, entry, &stale)) {
        return false;
    }
    lp_heap_stale(stale);
    return true;
}

void
lp_heap_stale(lp_heap_block stale)
{
    lp_heap_drop(stale, false);
}

void
lp_heap_commit_peak(int64_t live)
{
    int64_t peak = LP_READ(lp_the_heap.peak);

    while (live > peak) {
        if (__atomic_compare_exchange_n(&lp_the_heap.peak, &peak, live, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            LP_WRITE(lp_the_heap.peak_at, lp_clock_now(lp_the_heap.clock));
            __atomic_fetch_add(&lp_the_heap.epoch, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}

void
lp_heap_look(void)
{
    lp_ticks took = lp_curve_take(lp_the_heap.clock);

    if (took != 0 && lp_current_recorder != NULL) {
        lp_own_work_was_short(lp_current_recorder, took);
    }
}

bool
lp_heap_enter(void)
{
    return lp_heap_begin();
}

void
lp_heap_leave(void)
{
    lp_heap_end();
}

void
lp_heap_added(void *block, size_t bytes)
{
    if (LP_LIKELY(block != NULL)) {
        lp_heap_add(block, bytes);
    }
}

lp_heap_block
lp_heap_take(void *block)
{
    return lp_heap_take_out(block);
}

void
lp_heap_freed(lp_heap_block taken)
{
    lp_heap_drop(taken, true);
}

void
lp_heap_moved(lp_heap_block taken)
{
    lp_heap_drop(taken, false);
}

void
lp_heap_put_back(void *block, lp_heap_block taken)
{
    if (taken.site != 0 &&
        !lp_heap_keep(block, taken.bytes, taken.site, taken.stamp)) {
        count_lost();
        lp_heap_drop(taken, false);
    }
}

/* True if the present execution of this thread's line allocated the block. */
static bool
is_of_line(lp_heap_block block)
{
    const lp_recorder *rec = lp_current_recorder;
    const lp_heap_thread *self = rec == NULL ? NULL : rec->heap;

    return self == NULL ? block.site == LP_NO_PATH + 1
                        : block.site == self->number &&
                              block.stamp == ((uint32_t)LP_READ(*self->hits) &
                                              LP_STAMP_MASK);
}

void
lp_heap_forget(void *block)
{
    lp_heap_block taken = lp_heap_take_out(block);
    lp_heap_thread *self =
        lp_current_recorder == NULL ? NULL : lp_current_recorder->heap;
    lp_site *site;

    if (taken.site == 0) {
        return;
    }
    if (!is_of_line(taken)) {
        lp_heap_put_back(block, taken);
        return;
    }
    site = lp_the_heap.sites + (taken.site - 1);
    __atomic_fetch_sub(&site->allocs, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&site->alloc_bytes, taken.bytes, __ATOMIC_RELAXED);
    if (self != NULL && self->is_main && taken.site != LP_NO_PATH + 1) {
        LP_WRITE(lp_the_heap.main_live,
                 LP_READ(lp_the_heap.main_live) - (int64_t)taken.bytes);
    }
    else {
        __atomic_fetch_sub(&lp_the_heap.other_live, (int64_t)taken.bytes,
                           __ATOMIC_RELAXED);
    }
}

void *
lp_heap_newest(size_t *bytes)
{
    lp_heap_thread *self =
        lp_current_recorder == NULL ? NULL : lp_current_recorder->heap;
    void *block = self == NULL ? NULL : self->newest;
    lp_heap_block taken = lp_heap_take_out(block);

    if (taken.site == 0) {
        return NULL;
    }
    lp_heap_put_back(block, taken);
    *bytes = taken.bytes;
    return is_of_line(taken) ? block : NULL;
}

void
lp_heap_quiet(void)
{
    lp_own_work_depth++;
}

void
lp_heap_audible(void)
{
    lp_own_work_depth--;
}

/* -- the session ----------------------------------------------------------
 */

static uint32_t
threads_used(void)
{
    uint32_t n = LP_READ(n_threads);

    return n < MAX_THREADS ? n : MAX_THREADS;
}

/* Forget all blocks and numbers. */
static void
begin(void)
{
    const lp_clock *clock = lp_the_heap.clock;
    lp_ticks step = NS_PER_MS;

    if (clock->counter) {
        step = (((uint64_t)NS_PER_MS << 32) / lp_clock_scale(clock));
    }
    lp_the_heap.session++;
    lp_the_heap.epoch = 0;
    lp_the_heap.main_live = lp_the_heap.other_live = lp_the_heap.peak = 0;
    lp_the_heap.peak_at = 0;
    lp_the_heap.lost = 0;
    main_thread = NULL;
    for (uint32_t i = 0; i < threads_used(); i++) {
        threads[i].top = NULL;
        threads[i].is_main = false;
        threads[i].newest = NULL;
    }
    lp_pages_clear(lp_the_heap.sites, site_bytes);
    lp_shadow_clear();
    lp_large_clear();
    lp_curve_start(lp_clock_now(clock), step);
}

/* Runs in a forked child. */
static void
forked(void)
{
    if (lp_the_heap.on) {
        begin();
    }
}

bool
lp_heap_start(lp_call_paths *paths, const lp_clock *clock, uint64_t sample)
{
    if (lp_the_heap.sites == NULL) {
        lp_the_heap.sites = lp_pages_map(site_bytes);
    }
    if (threads == NULL) {
        threads = lp_pages_map(MAX_THREADS * sizeof(lp_heap_thread));
    }
    if (lp_the_heap.sites == NULL || threads == NULL || !lp_shadow_open() ||
        !lp_large_open() || !lp_curve_start(0, 1)) {
        return false;
    }
    lp_the_heap.paths = paths;
    lp_the_heap.clock = clock;
    lp_the_heap.sample = sample;
    begin();
    lp_forks_call_in_child(forked);
    __atomic_store_n(&lp_the_heap.on, true, __ATOMIC_RELEASE);
    return true;
}

void
lp_heap_stop(void)
{
    if (lp_the_heap.on) {
        lp_heap_settle();
        lp_the_heap.stopped_at = lp_clock_now(lp_the_heap.clock);
        __atomic_store_n(&lp_the_heap.on, false, __ATOMIC_RELEASE);
    }
}

bool
lp_heap_is_on(void)
{
    return LP_READ(lp_the_heap.on);
}

bool
lp_heap_was_on(void)
{
    return lp_the_heap.sites != NULL;
}

lp_ticks
lp_heap_until(void)
{
    return lp_the_heap.on ? lp_clock_now(lp_the_heap.clock)
                          : lp_the_heap.stopped_at;
}

uint64_t
lp_heap_live(void)
{
    int64_t live =
        LP_READ(lp_the_heap.main_live) + LP_READ(lp_the_heap.other_live);

    return live > 0 ? (uint64_t)live : 0;
}

void
lp_heap_settle(void)
{
    if (lp_the_heap.on) {
        lp_heap_commit_peak((int64_t)lp_heap_live());
    }
}

uint32_t
lp_heap_paths(void)
{
    return __atomic_load_n(&lp_the_heap.paths->n, __ATOMIC_ACQUIRE);
}

lp_heap_sum
lp_heap_sum_of(uint32_t path)
{
    const lp_site *site = lp_the_heap.sites + path;
    uint64_t live = lp_site_live(site);
    uint64_t at_peak = LP_READ(site->epoch) == LP_READ(lp_the_heap.epoch)
                           ? LP_READ(site->snap)
                           : live;

    return (lp_heap_sum){
        .allocs = LP_READ(site->allocs),
        .alloc_bytes = LP_READ(site->alloc_bytes),
        .freed_bytes = LP_READ(site->own_freed) + LP_READ(site->other_freed),
        .temp_bytes = LP_READ(site->temp_bytes),
        .peak_bytes = (int64_t)at_peak > 0 ? at_peak : 0,
    };
}

lp_ticks
lp_heap_peak_at(void)
{
    return lp_the_heap.peak_at;
}

uint64_t
lp_heap_side_bytes(void)
{
    uint64_t bytes = lp_shadow_bytes() + lp_large_bytes() + lp_curve_bytes() +
                     lp_pages_used(lp_the_heap.sites, site_bytes) +
                     threads_used() * sizeof(lp_heap_thread);

    return bytes;
}

uint64_t
lp_heap_lost(void)
{
    return LP_READ(lp_the_heap.lost);
}
