#include "gpu/correlation.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "record/clock.h"
#include "record/growing_array.h"

/* A graph launch has many records of one id, maybe in several buffers: a page
 * is kept until records of ids so many pages later have come. */
enum { IDS = 4096, KEPT_PAGES = 64, MAX_PAGE = (1 << 20) - 1 };

/* Inserting stops after so many pages without a record, a million ids, if more
 * records are missing than a device and the backend's buffers can hold. */
enum { SILENT_PAGES = 256, PAGES_PER_CHECK = 16, ON_DEVICE = 1 << 18 };

/* Contents of `refs` of a page: the lower half counts expected records, the
 * upper half the calls that are using the page now. */
#define ONE_CALL ((uint64_t)1 << 32)
#define CLOSED ((uint64_t)1 << 63) /* the page belongs to no number now */

struct lp_correlation_page {
    uint64_t refs; /* atomic; changed only by adding and subtracting, because a
                      late thread adds and subtracts again */
    uint32_t number;           /* id / IDS (atomic) */
    lp_correlation_page *next; /* of the free pages */
    lp_correlation_entry entries[IDS];
};

bool
lp_correlation_init(lp_correlation *correlations)
{
    *correlations = (lp_correlation){0};
    correlations->pages =
        calloc(LP_CORRELATION_PAGES, sizeof(lp_correlation_page *));
    correlations->overdue = calloc(LP_CORRELATION_OVERDUE, sizeof(uint32_t));
    if (correlations->pages == NULL || correlations->overdue == NULL) {
        lp_correlation_free(correlations);
        return false;
    }
    return true;
}

void
lp_correlation_free(lp_correlation *correlations)
{
    for (uint32_t i = 0;
         correlations->pages != NULL && i < LP_CORRELATION_PAGES; i++) {
        free(correlations->pages[i]);
    }
    while (correlations->free_pages != NULL) {
        lp_correlation_page *next = correlations->free_pages->next;

        free(correlations->free_pages);
        correlations->free_pages = next;
    }
    free(correlations->pages);
    free(correlations->overdue);
    *correlations = (lp_correlation){0};
}

static uint32_t
number_of(uint64_t id)
{
    return (uint32_t)id / IDS;
}

/* True if a page is ahead of the newest.  Numbers wrap around, and jump if a
 * program makes many calls that launch no work.  A page half the table behind
 * has been reclaimed, so such a record is ignored. */
static bool
is_ahead(uint32_t number, uint32_t newest)
{
    return ((number - newest - 1) & MAX_PAGE) <
           MAX_PAGE - LP_CORRELATION_PAGES / 2;
}

static lp_correlation_page **
slot_of(const lp_correlation *correlations, uint32_t number)
{
    return &correlations->pages[number % LP_CORRELATION_PAGES];
}

static lp_correlation_page *
page_at(const lp_correlation *correlations, uint32_t number)
{
    return __atomic_load_n(slot_of(correlations, number), __ATOMIC_SEQ_CST);
}

/* Return the page of a number, or NULL. */
static lp_correlation_page *
page_of(const lp_correlation *correlations, uint32_t number)
{
    lp_correlation_page *page = page_at(correlations, number);

    return page != NULL &&
                   __atomic_load_n(&page->number, __ATOMIC_RELAXED) == number
               ? page
               : NULL;
}

/* Take a free page.  Takes the whole list and puts the rest back, so that no
 * other thread can change a link of the list in between. */
static lp_correlation_page *
take_free_page(lp_correlation *correlations)
{
    lp_correlation_page *all =
        __atomic_exchange_n(&correlations->free_pages, NULL, __ATOMIC_ACQ_REL);
    lp_correlation_page *rest, *last;

    if (all == NULL) {
        return NULL;
    }
    rest = last = all->next;
    if (rest != NULL) {
        while (last->next != NULL) {
            last = last->next;
        }
        last->next =
            __atomic_load_n(&correlations->free_pages, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(
            &correlations->free_pages, &last->next, rest, true,
            __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        }
    }
    return all;
}

/* Put a closed page into the list of free pages. */
static void
put_free_page(lp_correlation *correlations, lp_correlation_page *page)
{
    page->next = __atomic_load_n(&correlations->free_pages, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&correlations->free_pages, &page->next,
                                        page, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
}

/* Return the number of records that are expected of the ids after the last
 * one that has a record. */
static uint64_t
expected_at_end(const lp_correlation_page *page)
{
    uint64_t n = 0;

    for (uint32_t i = IDS; i-- > 0;) {
        uint32_t flags =
            __atomic_load_n(&page->entries[i].flags, __ATOMIC_RELAXED);

        if (flags & LP_CORRELATION_MATCHED) {
            break;
        }
        n += (flags & LP_CORRELATION_EXPECTED) != 0;
    }
    return n;
}

/* Return the last id of a page that a record is expected of, or 0.  Calls
 * without work do not count, such as lineprof's own. */
static uint64_t
last_id(const lp_correlation_page *page)
{
    for (uint32_t i = IDS; i-- > 0;) {
        if (__atomic_load_n(&page->entries[i].flags, __ATOMIC_RELAXED) &
            LP_CORRELATION_EXPECTED) {
            return (uint64_t)__atomic_load_n(&page->number, __ATOMIC_RELAXED) *
                       IDS +
                   i;
        }
    }
    return 0;
}

lp_correlation_tail
lp_correlation_since_newest(const lp_correlation *correlations)
{
    lp_correlation_tail tail = {0};
    bool any = __atomic_load_n(&correlations->any_work, __ATOMIC_ACQUIRE);
    uint32_t newest =
        __atomic_load_n(&correlations->newest_work, __ATOMIC_RELAXED);
    uint32_t last = newest;
    const lp_correlation_page *last_page = NULL;

    for (uint32_t i = 0; i < LP_CORRELATION_PAGES; i++) {
        const lp_correlation_page *page =
            __atomic_load_n(&correlations->pages[i], __ATOMIC_SEQ_CST);
        uint64_t expected = 0;
        uint32_t number;

        if (page == NULL) {
            continue;
        }
        number = __atomic_load_n(&page->number, __ATOMIC_RELAXED);
        if (any && number == newest) {
            expected = expected_at_end(page);
        }
        else if (!any || is_ahead(number, newest)) {
            expected =
                (uint32_t)__atomic_load_n(&page->refs, __ATOMIC_SEQ_CST);
        }
        tail.expected += expected;
        if (expected != 0 && (last_page == NULL || is_ahead(number, last))) {
            last = number;
            last_page = page;
        }
    }
    tail.mark = last_page != NULL ? last_id(last_page) : 0;
    if (__atomic_load_n(&correlations->stopped, __ATOMIC_ACQUIRE)) {
        uint64_t refused =
            __atomic_load_n(&correlations->refused, __ATOMIC_RELAXED);

        tail.expected += refused;
        tail.mark += refused;
    }
    return tail;
}

/* A page was added: stop inserting if no records come any more. */
static void
count_new_page(lp_correlation *correlations)
{
    uint32_t n =
        __atomic_add_fetch(&correlations->new_pages, 1, __ATOMIC_RELAXED);

    if (n >= SILENT_PAGES && n % PAGES_PER_CHECK == 0 &&
        lp_correlation_since_newest(correlations).expected >
            ON_DEVICE +
                __atomic_load_n(&correlations->held_back, __ATOMIC_RELAXED)) {
        __atomic_store_n(&correlations->stopped, true, __ATOMIC_RELEASE);
    }
}

/* A record of a device's work has come, of an id in this page. */
static void
note_work(lp_correlation *correlations, uint32_t number)
{
    if (!correlations->any_work ||
        is_ahead(number, correlations->newest_work)) {
        __atomic_store_n(&correlations->newest_work, number, __ATOMIC_RELAXED);
        __atomic_store_n(&correlations->any_work, true, __ATOMIC_RELEASE);
    }
    if (__atomic_load_n(&correlations->new_pages, __ATOMIC_RELAXED) != 0) {
        __atomic_store_n(&correlations->new_pages, 0, __ATOMIC_RELAXED);
    }
    if (__atomic_load_n(&correlations->stopped, __ATOMIC_RELAXED)) {
        __atomic_store_n(&correlations->stopped, false, __ATOMIC_RELEASE);
    }
}

/* An expected record of an id that was refused has come, or none is expected:
 * never below 0, because such an id may be older than the session. */
static void
unrefuse(lp_correlation *correlations)
{
    uint64_t n = __atomic_load_n(&correlations->refused, __ATOMIC_RELAXED);

    while (n != 0 && !__atomic_compare_exchange_n(
                         &correlations->refused, &n, n - 1, true,
                         __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* Add a new page; false if memory is out, or the slot has a page of ids so old
 * that their records are no longer expected. */
static bool
add_page(lp_correlation *correlations, uint32_t number)
{
    lp_correlation_page *there = page_at(correlations, number);
    lp_correlation_page *page;

    if (there != NULL) {
        return __atomic_load_n(&there->number, __ATOMIC_RELAXED) == number;
    }
    page = take_free_page(correlations);
    if (page == NULL) {
        page = calloc(1, sizeof(*page));
        if (page == NULL) {
            return false;
        }
    }
    else {
        memset(page->entries, 0, sizeof(page->entries));
        __atomic_fetch_and(&page->refs, ~CLOSED, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&page->number, number, __ATOMIC_RELAXED);
    if (!__atomic_compare_exchange_n(slot_of(correlations, number), &there,
                                     page, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
        __atomic_fetch_or(&page->refs, CLOSED, __ATOMIC_SEQ_CST);
        /* Another thread has added the page in the meantime. */
        put_free_page(correlations, page);
    }
    else {
        count_new_page(correlations);
    }
    return true;
}

/* Acquire a page, so that it keeps its number; NULL if the page does not exist
 * (any more). */
static lp_correlation_page *
acquire_page(const lp_correlation *correlations, uint32_t number,
             uint64_t refs)
{
    lp_correlation_page *page = page_of(correlations, number);
    uint64_t before;

    if (page == NULL) {
        return NULL;
    }
    before = __atomic_fetch_add(&page->refs, refs, __ATOMIC_SEQ_CST);
    if (!(before & CLOSED) && page_of(correlations, number) == page) {
        return page;
    }
    /* The page is being retired, or was retired and may have another number.
     */
    __atomic_fetch_sub(&page->refs, refs, __ATOMIC_SEQ_CST);
    return NULL;
}

static void
release_page(lp_correlation_page *page, uint64_t refs)
{
    __atomic_fetch_sub(&page->refs, refs, __ATOMIC_SEQ_CST);
}

void
lp_correlation_insert_launch(lp_correlation *correlations, uint64_t id,
                             uint32_t path, uint32_t flags, lp_ticks launched)
{
    uint32_t number = number_of(id);
    uint64_t expected = flags & LP_CORRELATION_EXPECTED ? 1 : 0;
    lp_correlation_page *page;
    lp_correlation_entry *entry;
    uint32_t before;

    if (LP_UNLIKELY(
            __atomic_load_n(&correlations->stopped, __ATOMIC_RELAXED))) {
        __atomic_fetch_add(&correlations->refused, expected, __ATOMIC_RELAXED);
        return;
    }
    page = acquire_page(correlations, number, ONE_CALL + expected);
    while (page == NULL) {
        if (page_of(correlations, number) != NULL) {
            sched_yield(); /* the page is being retired */
        }
        else if (!add_page(correlations, number)) {
            __atomic_fetch_add(&correlations->lost, 1, __ATOMIC_RELAXED);
            return;
        }
        page = acquire_page(correlations, number, ONE_CALL + expected);
    }
    /* A driver call inside a runtime call has the same id, and may find its
     * entry set. */
    entry = &page->entries[id % IDS];
    __atomic_store_n(&entry->path, path, __ATOMIC_RELAXED);
    if (launched != 0) {
        __atomic_store_n(&entry->launched, launched, __ATOMIC_RELAXED);
    }
    before = __atomic_fetch_or(&entry->flags, flags | LP_CORRELATION_INSERTED,
                               __ATOMIC_RELEASE);
    if (before & (LP_CORRELATION_EXPECTED | LP_CORRELATION_MATCHED)) {
        release_page(page, ONE_CALL + expected); /* an id is expected once */
    }
    else {
        release_page(page, ONE_CALL);
    }
}

void
lp_correlation_unexpect(lp_correlation *correlations, uint64_t id)
{
    lp_correlation_page *page =
        acquire_page(correlations, number_of(id), ONE_CALL);
    uint32_t before;

    if (page == NULL) {
        unrefuse(correlations);
        return;
    }
    before = __atomic_fetch_and(&page->entries[id % IDS].flags,
                                ~(uint32_t)LP_CORRELATION_EXPECTED,
                                __ATOMIC_ACQ_REL);
    if (!(before & LP_CORRELATION_INSERTED)) {
        unrefuse(correlations);
    }
    if ((before & LP_CORRELATION_EXPECTED) &&
        !(before & LP_CORRELATION_MATCHED)) {
        release_page(page, ONE_CALL + 1);
    }
    else {
        release_page(page, ONE_CALL);
    }
}

lp_correlation_entry
lp_correlation_returned(lp_correlation *correlations, uint64_t id,
                        uint64_t ticks)
{
    lp_correlation_page *page =
        acquire_page(correlations, number_of(id), ONE_CALL);
    lp_correlation_entry *entry, copy = {0};

    if (page == NULL) {
        return copy;
    }
    /* This thread writes the ticks and then reads the flag; the reader of
     * records sets the flag and then reads the ticks.  So one of the two sees
     * both, and takes the ticks. */
    entry = &page->entries[id % IDS];
    __atomic_fetch_add(&entry->wait_ticks, ticks, __ATOMIC_SEQ_CST);
    copy.flags = __atomic_load_n(&entry->flags, __ATOMIC_SEQ_CST);
    copy.path = __atomic_load_n(&entry->path, __ATOMIC_RELAXED);
    if (copy.flags & LP_CORRELATION_BLOCKED) {
        copy.wait_ticks =
            __atomic_exchange_n(&entry->wait_ticks, 0, __ATOMIC_SEQ_CST);
    }
    release_page(page, ONE_CALL);
    return copy;
}

static void
update_newest(lp_correlation *correlations, uint32_t number)
{
    if (!correlations->started) {
        /* Pages may have been added long before. */
        correlations->started = true;
        correlations->newest = number;
        correlations->oldest = (number - LP_CORRELATION_PAGES / 2) & MAX_PAGE;
    }
    else if (is_ahead(number, correlations->newest)) {
        correlations->newest = number;
    }
}

lp_correlation_entry
lp_correlation_matched(lp_correlation *correlations, uint64_t id,
                       uint32_t flags)
{
    uint32_t number = number_of(id);
    lp_correlation_page *page =
        page_of(correlations, number); /* only this thread retires pages */
    lp_correlation_entry *entry, copy = {0};

    entry = page != NULL ? &page->entries[id % IDS] : NULL;
    if (entry != NULL) {
        copy.flags = __atomic_load_n(&entry->flags, __ATOMIC_ACQUIRE);
    }
    if (!(copy.flags & LP_CORRELATION_INSERTED)) {
        copy.flags = 0;
        if ((flags & LP_CORRELATION_MATCHED) &&
            __atomic_load_n(&correlations->refused, __ATOMIC_RELAXED) != 0) {
            unrefuse(correlations);
            note_work(correlations, number);
        }
        return copy;
    }
    if ((copy.flags & flags) != flags) {
        copy.flags = __atomic_fetch_or(&entry->flags, flags, __ATOMIC_SEQ_CST);
        if ((copy.flags & LP_CORRELATION_EXPECTED) &&
            (flags & LP_CORRELATION_MATCHED) &&
            !(copy.flags & LP_CORRELATION_MATCHED)) {
            release_page(page, 1);
        }
    }
    copy.path = __atomic_load_n(&entry->path, __ATOMIC_RELAXED);
    copy.launched = __atomic_load_n(&entry->launched, __ATOMIC_RELAXED);
    if (flags & LP_CORRELATION_BLOCKED) {
        copy.wait_ticks =
            __atomic_exchange_n(&entry->wait_ticks, 0, __ATOMIC_SEQ_CST);
    }
    update_newest(correlations, number);
    if (flags & LP_CORRELATION_MATCHED) {
        note_work(correlations, number);
    }
    return copy;
}

/* Retire a page unless a call is using it or, unless `at_once`, a record of it
 * is expected; false if so. */
static bool
retire_page(lp_correlation *correlations, lp_correlation_page *page,
            bool at_once)
{
    uint64_t refs = __atomic_load_n(&page->refs, __ATOMIC_SEQ_CST);
    uint32_t number = __atomic_load_n(&page->number, __ATOMIC_RELAXED);

    do {
        if (refs >= ONE_CALL || (refs != 0 && !at_once)) {
            return false;
        }
    } while (!__atomic_compare_exchange_n(&page->refs, &refs, CLOSED, false,
                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    __atomic_fetch_add(&correlations->expired, refs, __ATOMIC_RELAXED);
    __atomic_store_n(slot_of(correlations, number), NULL, __ATOMIC_SEQ_CST);
    put_free_page(correlations, page);
    return true;
}

/* Add a page with expected records to the overdue ones; replaces the oldest of
 * them if none is complete by now. */
static void
add_overdue(lp_correlation *correlations, uint32_t number)
{
    if (correlations->n_overdue == LP_CORRELATION_OVERDUE) {
        uint32_t kept = 0;

        for (uint32_t i = 0; i < LP_CORRELATION_OVERDUE; i++) {
            lp_correlation_page *page =
                page_of(correlations, correlations->overdue[i]);

            if (page != NULL && !retire_page(correlations, page, false)) {
                correlations->overdue[kept++] = correlations->overdue[i];
            }
        }
        if (kept == LP_CORRELATION_OVERDUE) {
            retire_page(correlations,
                        page_of(correlations, correlations->overdue[0]), true);
            memmove(correlations->overdue, correlations->overdue + 1,
                    --kept * sizeof(correlations->overdue[0]));
        }
        correlations->n_overdue = kept;
    }
    correlations->overdue[correlations->n_overdue++] = number;
}

void
lp_correlation_reclaim(lp_correlation *correlations)
{
    while (((correlations->newest - correlations->oldest) & MAX_PAGE) >
           KEPT_PAGES) {
        uint32_t opposite =
            (correlations->oldest + LP_CORRELATION_PAGES / 2) & MAX_PAGE;
        lp_correlation_page *page = page_at(correlations, opposite);

        /* A page that is still in the slot half the table ahead blocks that
         * slot for new ids. */
        if (page != NULL && page_of(correlations, opposite) == NULL) {
            retire_page(correlations, page, true);
        }
        page = page_of(correlations, correlations->oldest);
        if (page != NULL && !retire_page(correlations, page, false)) {
            add_overdue(correlations, correlations->oldest);
        }
        correlations->oldest = (correlations->oldest + 1) & MAX_PAGE;
    }
}

uint64_t
lp_correlation_outstanding(const lp_correlation *correlations)
{
    uint64_t pending =
        __atomic_load_n(&correlations->expired, __ATOMIC_RELAXED) +
        __atomic_load_n(&correlations->refused, __ATOMIC_RELAXED);

    for (uint32_t i = 0; i < LP_CORRELATION_PAGES; i++) {
        const lp_correlation_page *page =
            __atomic_load_n(&correlations->pages[i], __ATOMIC_SEQ_CST);

        if (page != NULL) {
            pending +=
                (uint32_t)__atomic_load_n(&page->refs, __ATOMIC_SEQ_CST);
        }
    }
    return pending;
}

void
lp_graph_nodes_init(lp_graph_nodes *graph_nodes)
{
    *graph_nodes = (lp_graph_nodes){0};
    pthread_mutex_init(&graph_nodes->lock, NULL);
}

void
lp_graph_nodes_free(lp_graph_nodes *graph_nodes)
{
    free(graph_nodes->nodes);
    graph_nodes->nodes = NULL;
    graph_nodes->n = graph_nodes->capacity = 0;
    lp_hash_index_free(&graph_nodes->index);
    pthread_mutex_destroy(&graph_nodes->lock);
}

static const lp_record_size NODE = {sizeof(lp_graph_node), sizeof(uint64_t)};

/* Make room for one more node. */
static bool
reserve(lp_graph_nodes *self)
{
    lp_graph_node *nodes = lp_array_reserve(self->nodes, self->n,
                                            &self->capacity, sizeof(*nodes));

    if (nodes == NULL) {
        return false;
    }
    self->nodes = nodes;
    return lp_hash_index_reserve(&self->index, nodes, NODE, 0, self->n);
}

void
lp_graph_nodes_insert(lp_graph_nodes *graph_nodes, uint64_t node,
                      uint32_t path)
{
    if (node == 0) {
        return;
    }
    pthread_mutex_lock(&graph_nodes->lock);
    if (reserve(graph_nodes)) {
        uint32_t *slot = lp_hash_index_slot(&graph_nodes->index,
                                            graph_nodes->nodes, NODE, &node);

        if (*slot == 0) {
            *slot = (uint32_t)++graph_nodes->n;
        }
        graph_nodes->nodes[*slot - 1] =
            (lp_graph_node){.node = node, .path = path};
    }
    pthread_mutex_unlock(&graph_nodes->lock);
}

bool
lp_graph_nodes_find(lp_graph_nodes *graph_nodes, uint64_t node, uint32_t *path)
{
    uint32_t position = 0;

    pthread_mutex_lock(&graph_nodes->lock);
    if (graph_nodes->n > 0) {
        position = *lp_hash_index_slot(&graph_nodes->index, graph_nodes->nodes,
                                       NODE, &node);
        if (position != 0) {
            *path = graph_nodes->nodes[position - 1].path;
        }
    }
    pthread_mutex_unlock(&graph_nodes->lock);
    return position != 0;
}
