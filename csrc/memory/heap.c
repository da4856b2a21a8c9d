#include "memory/heap.h"

#include <pthread.h>

#include "memory/curve.h"
#include "memory/heap_path.h"
#include "memory/heap_session.h"
#include "memory/lasting_sites.h"
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

/* A limit on addresses must have room for so many, of which the tables take
 * under half at the start: the program is to live on the rest. */
enum { SPARE_BYTES = 512 << 20 };

lp_heap lp_the_heap;

static const size_t site_bytes = LP_MAX_SITES * sizeof(lp_site);
static const uint64_t no_hits;
const lp_line lp_no_line;

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
    uint32_t number = LP_READ(n_threads);

    while (number < MAX_THREADS &&
           !__atomic_compare_exchange_n(&n_threads, &number, number + 1, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return number < MAX_THREADS ? &threads[number] : NULL;
}

/* Nothing is known of the thread's lines.  A hook that it has not left since
 * the last session may still count a block there. */
static void
forget_lines(lp_heap_thread *self)
{
    self->newest = NULL;
    self->stands_for = 1;
    self->last = (lp_known_line){.line = &lp_no_line,
                                 .hits = &no_hits,
                                 .site = lp_the_heap.sites,
                                 .number = LP_NO_PATH + 1};
    for (int i = 0; i < LP_KNOWN_LINES; i++) {
        self->known[i] = self->last;
    }
}

/* Return what there is of this thread, made ready for the session. */
static lp_heap_thread *
begin_thread(lp_recorder *rec)
{
    lp_heap_thread *self = rec->heap, *none = NULL;

    if (self == NULL) {
        self = rec->heap = new_thread();
        if (self == NULL) {
            return NULL;
        }
        self->rec = rec;
    }
    lp_memory_of_thread.thread = self;
    if (self->session != lp_the_heap.session) {
        forget_lines(self);
        self->thread = rec->number < UINT16_MAX - 1
                           ? (uint16_t)(rec->number + 1)
                           : UINT16_MAX;
        self->root = lp_call_paths_root(lp_the_heap.paths, rec->number, false);
        self->is_main =
            __atomic_compare_exchange_n(&main_thread, &none, self, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        self->session = lp_the_heap.session;
    }
    return self;
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

/* Find the site of the thread's open lines, and keep it if it may be the same
 * for more than one block. */
static const lp_known_line *
find_site(lp_heap_thread *self, lp_recorder *rec)
{
    uint32_t changes = __atomic_load_n(&rec->changes, __ATOMIC_ACQUIRE);
    const lp_frame *top = LP_READ(rec->top);
    const lp_frame *frame = frame_of_line(rec, top);
    const lp_line *line = LP_READ(frame->line);
    ptrdiff_t place = frame - LP_READ(rec->frames);
    uint32_t path = lp_current_path(rec, lp_the_heap.paths);
    lp_site *site;

    path = path == LP_NO_PATH ? self->root : path;
    site = lp_the_heap.sites + path;
    /* A frame so deep has nothing that is temporary. */
    LP_WRITE(site->line, place < UINT16_MAX ? line : NULL);
    LP_WRITE(site->frame, (uint16_t)place);
    if (path != LP_NO_PATH && self->thread != UINT16_MAX) {
        LP_WRITE(site->thread, self->thread);
    }
    self->last = (lp_known_line){LP_READ(top->line),
                                 line == NULL ? &no_hits : &line->hits, site,
                                 changes, path + 1};
    if (changes % 2 == 0 && lp_the_heap.sample == 0 &&
        !(LP_READ(top->flags) & LP_FRAME_GREENLET)) {
        *lp_heap_place(self, self->last.line) = self->last;
    }
    return &self->last;
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
    lp_heap_add_other((int64_t)bytes);
}

static void
count_lost(void)
{
    uint64_t lost = __atomic_add_fetch(&lp_the_heap.lost, 1, __ATOMIC_RELAXED);
    lp_heap_numbers *lasting = lp_lasting_numbers();

    if (lasting != NULL) {
        LP_WRITE(lasting->lost, lost);
    }
}

static void
drop_stale(lp_heap_block stale)
{
    if (stale.site != 0) {
        lp_heap_drop_slowly(stale, false);
    }
}

/* Forget a block that was freed without a word at the address of another one.
 */
static void
clear_cells(uint64_t *cell, uint64_t unit, bool is_wide)
{
    lp_wide_cell *wide = lp_shadow_wide_cell(cell, unit);
    lp_heap_block stale;

    if (LP_READ(*cell) != 0) {
        stale = lp_cell_block(LP_READ(*cell));
        LP_WRITE(*cell, 0);
        drop_stale(stale);
    }
    if (is_wide && LP_READ(wide->block) != 0) {
        stale = lp_cell_block(LP_READ(wide->block));
        stale.bytes = wide->bytes;
        LP_WRITE(wide->block, 0);
        drop_stale(stale);
    }
}

/* True if a block of this size has a wide cell, if it has a cell. */
static bool
is_medium(uint64_t bytes)
{
    return bytes > LP_SMALL_MAX && bytes <= LP_MEDIUM_MAX;
}

/* Enter a block with a cell that is a sample, which stands for more bytes than
 * it has: the cell only says so. */
static bool
keep_sample(void *block, lp_heap_block entry)
{
    uint64_t *cell = lp_shadow_make_cell(lp_unit_of(block));
    lp_heap_block stale = {0, 0, 0};

    if (cell == NULL || !lp_large_add(block, entry, &stale)) {
        return false;
    }
    LP_WRITE(*cell, LP_SAMPLED);
    drop_stale(stale);
    return true;
}

/* Enter a block in the tables, in any case; false if memory is out. */
static bool
keep(void *block, lp_heap_block entry)
{
    uint64_t unit = lp_unit_of(block), *cell = NULL;
    bool is_small = entry.bytes <= LP_SMALL_MAX && lp_has_cell(unit);
    bool is_wide = is_medium(entry.bytes) && lp_has_cell(unit);
    lp_heap_block stale = {0, 0, 0};

    if (lp_the_heap.sample != 0 && lp_has_cell(unit)) {
        return keep_sample(block, entry);
    }
    if (is_small || is_wide) {
        cell = lp_shadow_make_cell(unit);
    }
    else if (lp_has_cell(unit)) {
        cell = lp_shadow_cell(unit);
    }
    if (cell != NULL) {
        clear_cells(cell, unit, entry.bytes > LP_SMALL_MAX);
    }
    if (cell != NULL && is_small) {
        LP_WRITE(*cell, lp_cell_of(entry.site, entry.bytes, entry.stamp));
        return true;
    }
    if (cell != NULL && is_wide) {
        return lp_wide_add(unit, entry);
    }
    if (!lp_large_add(block, entry, &stale)) {
        return false;
    }
    drop_stale(stale);
    return true;
}

LP_NOINLINE void *
lp_heap_added_large(lp_heap_thread *thread, const lp_known_line *known,
                    void *block, size_t bytes)
{
    uint64_t unit = lp_unit_of(block);
    lp_heap_block entry = {bytes, known->number,
                           (uint32_t)LP_READ(*known->hits) & LP_STAMP_MASK};

    if (!(LP_LIKELY(is_medium(bytes) && lp_has_cell(unit)) &&
          lp_wide_add(unit, entry)) &&
        !keep(block, entry)) {
        count_lost();
    }
    else if (lp_heap_count(thread, known->site, block, bytes, 1) ||
             bytes >= LP_MOMENT_BYTES) {
        lp_heap_look();
    }
    return block;
}

/* This thread's recorder, or NULL. */
static lp_recorder *
own_recorder(void)
{
    return lp_memory_of_thread.has_ended ? NULL : lp_current_recorder;
}

/* Count a block of this thread, which has a recorder or not. */
static void
add(void *block, size_t bytes, const lp_sample *sample)
{
    lp_recorder *rec = own_recorder();
    lp_heap_thread *self = rec == NULL ? NULL : begin_thread(rec);
    const lp_known_line *line = NULL;
    lp_heap_block entry = {sample->bytes, LP_NO_PATH + 1, 0};

    if (self != NULL) {
        line = find_site(self, rec);
        entry.site = line->number;
        entry.stamp = (uint32_t)LP_READ(*line->hits) & LP_STAMP_MASK;
    }
    if (!keep(block, entry)) {
        count_lost();
    }
    else if (entry.site == LP_NO_PATH + 1) {
        count_shared(sample->bytes, sample->blocks);
    }
    else {
        lp_heap_count(self, line->site, block, sample->bytes, sample->blocks);
        self->stands_for = sample->blocks;
        self->newest_bytes = bytes;
    }
    if (self == NULL || sample->bytes >= LP_MOMENT_BYTES ||
        LP_READ(LP_READ(rec->top)->since) >= lp_curve_due()) {
        lp_heap_look();
    }
}

LP_NOINLINE void *
lp_heap_added_slowly(void *block, size_t bytes)
{
    lp_sample sample = {bytes, 1};

    if (lp_sample_is_far(lp_memory_here_now(), bytes)) {
        return block;
    }
    if (LP_READ(lp_the_heap.on) && lp_memory_of_thread.own_work == 0 &&
        (lp_the_heap.sample == 0 || lp_sample_block(bytes, &sample))) {
        lp_memory_of_thread.inside++; /* a new path needs memory, too */
        add(block, bytes, &sample);
        lp_memory_of_thread.inside--;
    }
    return block;
}

/* Take a block, of which the shadow had this, no block, out of the others. */
static inline lp_heap_block
take_large(void *block, uint64_t cell)
{
    uint64_t unit = lp_unit_of(block);
    lp_heap_block taken = {0, 0, 0};

    if (cell == 0 && LP_LIKELY(lp_has_cell(unit))) {
        taken = lp_wide_take(unit);
    }
    return LP_LIKELY(taken.site != 0) ? taken : lp_large_take(block);
}

/* Take a block out of the tables. */
static lp_heap_block
take(void *block)
{
    uint64_t cell = lp_heap_take_small(block);

    if (LP_LIKELY(lp_is_block(cell))) {
        return lp_cell_block(cell);
    }
    if (lp_heap_is_no_sample(block, cell)) {
        return (lp_heap_block){0, 0, 0};
    }
    return take_large(block, cell);
}

LP_NOINLINE void
lp_heap_free_slowly(void *block, uint64_t cell)
{
    lp_heap_block taken = take_large(block, cell);

    if (taken.site != 0) {
        lp_heap_drop(lp_memory_here_now(), taken, true);
    }
}

LP_NOINLINE void
lp_heap_drop_slowly(lp_heap_block taken, bool may_be_temp)
{
    lp_heap *heap = &lp_the_heap;
    const lp_heap_thread *self = lp_memory_of_thread.thread;
    lp_site *site = heap->sites + (taken.site - 1);
    int64_t live = LP_READ(heap->main_live) + LP_READ(heap->other_live);

    if (live > LP_READ(heap->peak)) {
        lp_heap_commit_peak(live);
    }
    lp_heap_touch(site);
    if (self != NULL && self->thread == LP_READ(site->thread)) {
        LP_WRITE(site->own_freed, LP_READ(site->own_freed) + taken.bytes);
        if (may_be_temp && lp_heap_is_open(self, site, taken.stamp)) {
            LP_WRITE(site->temp_bytes,
                     LP_READ(site->temp_bytes) + taken.bytes);
        }
    }
    else {
        __atomic_fetch_add(&site->other_freed, taken.bytes, __ATOMIC_RELAXED);
    }
    lp_heap_add_live(self != NULL && self->is_main, -(int64_t)taken.bytes);
}

void
lp_heap_commit_peak(int64_t live)
{
    int64_t peak = LP_READ(lp_the_heap.peak);
    lp_heap_numbers *lasting = lp_lasting_numbers();
    uint32_t epoch;

    while (live > peak) {
        if (__atomic_compare_exchange_n(&lp_the_heap.peak, &peak, live, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            LP_WRITE(lp_the_heap.main_limit,
                     live - LP_READ(lp_the_heap.other_live));
            LP_WRITE(lp_the_heap.peak_at, lp_clock_now(lp_the_heap.clock));
            if (lasting != NULL) {
                LP_WRITE(lasting->peak_at, LP_READ(lp_the_heap.peak_at));
                LP_WRITE(lasting->peak, live);
            }
            epoch =
                __atomic_add_fetch(&lp_the_heap.epoch, 1, __ATOMIC_RELAXED);
            if (lasting != NULL) {
                LP_WRITE(lasting->epoch, epoch);
            }
            return;
        }
    }
}

void
lp_heap_look(void)
{
    lp_ticks took = lp_curve_take(lp_the_heap.clock);

    if (took != 0 && own_recorder() != NULL) {
        lp_own_work_was_short(own_recorder(), took);
    }
}

bool
lp_heap_enter(void)
{
    return lp_heap_begin(&lp_memory_of_thread);
}

void
lp_heap_leave(void)
{
    lp_memory_of_thread.inside = 0;
}

void
lp_heap_added(void *block, size_t bytes)
{
    if (LP_LIKELY(block != NULL)) {
        lp_heap_add(&lp_memory_of_thread, block, bytes);
    }
}

lp_heap_block
lp_heap_take(void *block)
{
    return LP_READ(lp_the_heap.on) ? take(block) : (lp_heap_block){0, 0, 0};
}

void
lp_heap_freed(lp_heap_block taken)
{
    if (taken.site != 0) {
        lp_heap_drop(&lp_memory_of_thread, taken, true);
    }
}

void
lp_heap_moved(lp_heap_block taken)
{
    if (taken.site != 0) {
        lp_heap_drop(&lp_memory_of_thread, taken, false);
    }
}

void
lp_heap_put_back(void *block, lp_heap_block taken)
{
    if (taken.site != 0 && !keep(block, taken)) {
        count_lost();
        lp_heap_drop_slowly(taken, false);
    }
}

/* True if the present execution of this thread's line allocated the block. */
static bool
is_of_line(lp_heap_block block)
{
    lp_heap_thread *self = lp_memory_of_thread.thread;
    const lp_known_line *line = self == NULL ? NULL : lp_heap_known(self);

    if (self == NULL) {
        return block.site == LP_NO_PATH + 1;
    }
    line = line == NULL ? &self->last : line;
    return block.site == line->number &&
           block.stamp == ((uint32_t)LP_READ(*line->hits) & LP_STAMP_MASK);
}

/* Find a block in the tables, where it stays. */
static lp_heap_block
find(const void *block)
{
    uint64_t unit = lp_unit_of(block), cell;
    lp_heap_block found;

    lp_heap_find_small(block, &cell);
    if (LP_LIKELY(lp_is_block(cell))) {
        return lp_cell_block(cell);
    }
    if (lp_heap_is_no_sample(block, cell)) {
        return (lp_heap_block){0, 0, 0};
    }
    if (cell == 0 && lp_has_cell(unit) && lp_wide_find(unit, &found) != NULL) {
        return found;
    }
    return lp_large_find(block);
}

void
lp_heap_forget(void *block)
{
    const lp_heap_thread *self = lp_memory_of_thread.thread;
    lp_heap_block taken;
    lp_site *site;

    if (!LP_READ(lp_the_heap.on) || !is_of_line(find(block))) {
        return;
    }
    taken = take(block);
    site = lp_the_heap.sites + (taken.site - 1);
    __atomic_fetch_sub(&site->allocs,
                       self != NULL && self->newest == block ? self->stands_for
                                                             : 1,
                       __ATOMIC_RELAXED);
    __atomic_fetch_sub(&site->alloc_bytes, taken.bytes, __ATOMIC_RELAXED);
    lp_heap_add_live(self != NULL && self->is_main &&
                         taken.site != LP_NO_PATH + 1,
                     -(int64_t)taken.bytes);
}

void *
lp_heap_newest(size_t *bytes)
{
    const lp_heap_thread *self = lp_memory_of_thread.thread;
    uint64_t cell;

    if (self == NULL || !LP_READ(lp_the_heap.on)) {
        return NULL;
    }
    lp_heap_find_small(self->newest, &cell);
    if (cell == LP_SAMPLED) { /* lp_heap_forget() finds whose it is */
        *bytes = self->newest_bytes;
        return *bytes <= LP_SMALL_MAX ? self->newest : NULL;
    }
    *bytes = lp_cell_block(cell).bytes;
    return is_of_line(lp_cell_block(cell)) ? self->newest : NULL;
}

void
lp_heap_quiet(void)
{
    lp_memory_of_thread.own_work++;
}

void
lp_heap_audible(void)
{
    lp_memory_of_thread.own_work--;
}

/* -- the session ----------------------------------------------------------
 */

ptrdiff_t lp_memory_offset;

static void *
offset_here(void *answer)
{
    *(ptrdiff_t *)answer = (char *)&lp_memory_of_thread - lp_thread_pointer();
    return NULL;
}

/* A module's thread-local variables are in the block that lies right below
 * each thread pointer, at one place in all threads for ever, or in memory that
 * malloc gave, anywhere.  glibc puts a new thread's block at the end of its
 * stack, which malloc never gives: near there it is the block. */
static void
find_offset(void)
{
    enum { NEAR = 16384 }; /* bytes that each stack has */
    ptrdiff_t here, there = 0;
    pthread_t thread;

    if (!LP_HAVE_THREAD_POINTER || lp_memory_offset != 0) {
        return;
    }
    offset_here(&here);
    if (here < 0 && here >= -NEAR &&
        pthread_create(&thread, NULL, offset_here, &there) == 0) {
        pthread_join(thread, NULL);
        lp_memory_offset = here == there ? here : 0;
    }
}

/* Store the numbers so far in the live file. */
static void
note_start(void)
{
    lp_heap_numbers *lasting = lp_lasting_numbers();

    if (lasting != NULL) {
        lasting->start = lp_the_heap.started_at;
        lasting->peak_at = lp_the_heap.peak_at;
        lasting->peak = lp_the_heap.peak;
        lasting->epoch = lp_the_heap.epoch;
        lasting->lost = lp_the_heap.lost;
        lasting->sample = lp_the_heap.sample;
        lasting->native = lp_the_heap.native;
        lp_lasting_started();
    }
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
    lp_the_heap.main_limit = 0;
    lp_the_heap.peak_at = 0;
    lp_the_heap.started_at = lp_clock_now(clock);
    lp_the_heap.lost = 0;
    main_thread = NULL;
    for (uint32_t i = 0; i < LP_READ(n_threads); i++) {
        forget_lines(&threads[i]);
        threads[i].is_main = false;
    }
    lp_lasting_clear(lp_the_heap.sites);
    lp_shadow_clear();
    lp_large_clear();
    lp_curve_start(lp_the_heap.started_at, step);
    note_start();
}

void
lp_heap_note_native(bool native)
{
    lp_heap_numbers *lasting = lp_lasting_numbers();

    lp_the_heap.native = native;
    if (lasting != NULL) {
        LP_WRITE(lasting->native, native);
    }
}

void
lp_heap_part(void)
{
    lp_lasting_part(true);
}

void
lp_heap_outlive(void)
{
    if (lp_the_heap.on) {
        lp_lasting_begin(lp_the_heap.paths, lp_the_heap.sites);
        note_start();
    }
}

/* Runs in a forked child. */
static void
forked(void)
{
    lp_lasting_part(!lp_the_heap.on);
    if (lp_the_heap.on) {
        begin();
    }
}

bool
lp_heap_start(lp_call_paths *paths, const lp_clock *clock, uint64_t sample)
{
    if (lp_the_heap.sites == NULL && !lp_pages_are_spare(SPARE_BYTES)) {
        return false;
    }
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
    find_offset();
    lp_lasting_begin(paths, lp_the_heap.sites);
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
                     LP_READ(n_threads) * sizeof(lp_heap_thread);

    return bytes;
}

uint64_t
lp_heap_lost(void)
{
    return LP_READ(lp_the_heap.lost);
}
