#include "gpu/correlation.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* A graph launch has many records of one id, maybe in several buffers: a
 * page is kept until records of ids so many pages later have come. */
enum { IDS = 4096, KEPT_PAGES = 64, LAST_PAGE = (1 << 20) - 1 };

/* What `refs` of a page counts: in its lower half records to come, above
 * them the calls that are at it this moment. */
#define A_CALL ((uint64_t)1 << 32)
#define CLOSED ((uint64_t)1 << 63) /* it is nobody's page now */

struct lp_corr_page {
    uint64_t refs;      /* atomic; never set, for whoever comes too late adds
                         * and takes off again */
    uint32_t number;    /* id / IDS (atomic) */
    lp_corr_page *next; /* of the spare ones */
    lp_corr_entry entries[IDS];
};

bool
lp_corr_init(lp_corr *corr)
{
    *corr = (lp_corr){0};
    corr->pages = calloc(LP_CORR_PAGES, sizeof(lp_corr_page *));
    corr->late = calloc(LP_CORR_LATE, sizeof(uint32_t));
    if (corr->pages == NULL || corr->late == NULL) {
        lp_corr_free(corr);
        return false;
    }
    return true;
}

void
lp_corr_free(lp_corr *corr)
{
    for (uint32_t i = 0; corr->pages != NULL && i < LP_CORR_PAGES; i++) {
        free(corr->pages[i]);
    }
    while (corr->spare != NULL) {
        lp_corr_page *next = corr->spare->next;

        free(corr->spare);
        corr->spare = next;
    }
    free(corr->pages);
    free(corr->late);
    *corr = (lp_corr){0};
}

static uint32_t
number_of(uint64_t id)
{
    return (uint32_t)id / IDS;
}

/* Is a page ahead of the newest?  Numbers go round, and jump where a program
 * makes many calls that give no work; what is half the places behind was
 * swept away, so a record of it is none of ours. */
static bool
is_ahead(uint32_t number, uint32_t newest)
{
    return ((number - newest - 1) & LAST_PAGE) < LAST_PAGE - LP_CORR_PAGES / 2;
}

static lp_corr_page **
place_of(const lp_corr *corr, uint32_t number)
{
    return &corr->pages[number % LP_CORR_PAGES];
}

static lp_corr_page *
page_at(const lp_corr *corr, uint32_t number)
{
    return __atomic_load_n(place_of(corr, number), __ATOMIC_SEQ_CST);
}

/* The page of a number, or NULL. */
static lp_corr_page *
page_of(const lp_corr *corr, uint32_t number)
{
    lp_corr_page *page = page_at(corr, number);

    return page != NULL &&
                   __atomic_load_n(&page->number, __ATOMIC_RELAXED) == number
               ? page
               : NULL;
}

/* Only whoever takes all of the list may take one: no page comes back
 * meanwhile under another's hand. */
static lp_corr_page *
take_spare(lp_corr *corr)
{
    lp_corr_page *all =
        __atomic_exchange_n(&corr->spare, NULL, __ATOMIC_ACQ_REL);
    lp_corr_page *rest, *last;

    if (all == NULL) {
        return NULL;
    }
    rest = last = all->next;
    if (rest != NULL) {
        while (last->next != NULL) {
            last = last->next;
        }
        last->next = __atomic_load_n(&corr->spare, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&corr->spare, &last->next, rest,
                                            true, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED)) {
        }
    }
    return all;
}

/* A closed page. */
static void
give_spare(lp_corr *corr, lp_corr_page *page)
{
    page->next = __atomic_load_n(&corr->spare, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&corr->spare, &page->next, page, true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
}

/* A new page; false when memory is out, or the place is taken by a page of
 * ids so long past that nobody should wait for them any more. */
static bool
add_page(lp_corr *corr, uint32_t number)
{
    lp_corr_page *there = page_at(corr, number);
    lp_corr_page *page;

    if (there != NULL) {
        return __atomic_load_n(&there->number, __ATOMIC_RELAXED) == number;
    }
    page = take_spare(corr);
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
    if (!__atomic_compare_exchange_n(place_of(corr, number), &there, page,
                                     false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
        __atomic_fetch_or(&page->refs, CLOSED, __ATOMIC_SEQ_CST);
        give_spare(corr, page); /* another thread was quicker */
    }
    return true;
}

/* Hold a page, so that it stays the page of its number; NULL where it is not
 * there (any more). */
static lp_corr_page *
hold_page(const lp_corr *corr, uint32_t number, uint64_t refs)
{
    lp_corr_page *page = page_of(corr, number);
    uint64_t before;

    if (page == NULL) {
        return NULL;
    }
    before = __atomic_fetch_add(&page->refs, refs, __ATOMIC_SEQ_CST);
    if (!(before & CLOSED) && page_of(corr, number) == page) {
        return page;
    }
    /* It is being given up, or was: then it may be of another number. */
    __atomic_fetch_sub(&page->refs, refs, __ATOMIC_SEQ_CST);
    return NULL;
}

static void
release(lp_corr_page *page, uint64_t refs)
{
    __atomic_fetch_sub(&page->refs, refs, __ATOMIC_SEQ_CST);
}

void
lp_corr_put(lp_corr *corr, uint64_t id, uint32_t path, uint32_t flags)
{
    uint32_t number = number_of(id);
    uint64_t due = flags & LP_CORR_EXPECTED ? 1 : 0;
    lp_corr_page *page = hold_page(corr, number, A_CALL + due);
    lp_corr_entry *entry;
    uint32_t before;

    while (page == NULL) {
        if (page_of(corr, number) != NULL) {
            sched_yield(); /* it is being given up */
        }
        else if (!add_page(corr, number)) {
            __atomic_fetch_add(&corr->lost, 1, __ATOMIC_RELAXED);
            return;
        }
        page = hold_page(corr, number, A_CALL + due);
    }
    /* The driver's call within the runtime's has its id: it is there. */
    entry = &page->entries[id % IDS];
    __atomic_store_n(&entry->path, path, __ATOMIC_RELAXED);
    before = __atomic_fetch_or(&entry->flags, flags | LP_CORR_PUT,
                               __ATOMIC_RELEASE);
    if (before & (LP_CORR_EXPECTED | LP_CORR_SEEN)) {
        release(page, A_CALL + due); /* an id is waited for once */
    }
    else {
        release(page, A_CALL);
    }
}

void
lp_corr_unexpect(lp_corr *corr, uint64_t id)
{
    lp_corr_page *page = hold_page(corr, number_of(id), A_CALL);
    uint32_t before;

    if (page == NULL) {
        return;
    }
    before = __atomic_fetch_and(&page->entries[id % IDS].flags,
                                ~(uint32_t)LP_CORR_EXPECTED, __ATOMIC_ACQ_REL);
    if ((before & LP_CORR_EXPECTED) && !(before & LP_CORR_SEEN)) {
        release(page, A_CALL + 1);
    }
    else {
        release(page, A_CALL);
    }
}

lp_corr_entry
lp_corr_hold(lp_corr *corr, uint64_t id, uint64_t ticks)
{
    lp_corr_page *page = hold_page(corr, number_of(id), A_CALL);
    lp_corr_entry *entry, copy = {0};

    if (page == NULL) {
        return copy;
    }
    /* Here first the ticks and then the flag, and the other way round where
     * the record is read: one of the two sees both, and takes the ticks. */
    entry = &page->entries[id % IDS];
    __atomic_fetch_add(&entry->held, ticks, __ATOMIC_SEQ_CST);
    copy.flags = __atomic_load_n(&entry->flags, __ATOMIC_SEQ_CST);
    copy.path = __atomic_load_n(&entry->path, __ATOMIC_RELAXED);
    if (copy.flags & LP_CORR_BLOCKED) {
        copy.held = __atomic_exchange_n(&entry->held, 0, __ATOMIC_SEQ_CST);
    }
    release(page, A_CALL);
    return copy;
}

static void
note_newest(lp_corr *corr, uint32_t number)
{
    if (!corr->begun) {
        /* Others may have been put long before. */
        corr->begun = true;
        corr->newest = number;
        corr->oldest = (number - LP_CORR_PAGES / 2) & LAST_PAGE;
    }
    else if (is_ahead(number, corr->newest)) {
        corr->newest = number;
    }
}

lp_corr_entry
lp_corr_seen(lp_corr *corr, uint64_t id, uint32_t flags)
{
    uint32_t number = number_of(id);
    lp_corr_page *page = page_of(corr, number); /* only we give it up */
    lp_corr_entry *entry, copy = {0};

    if (page == NULL) {
        return copy;
    }
    entry = &page->entries[id % IDS];
    copy.flags = __atomic_load_n(&entry->flags, __ATOMIC_ACQUIRE);
    if (!(copy.flags & LP_CORR_PUT)) {
        copy.flags = 0;
        return copy;
    }
    if ((copy.flags & flags) != flags) {
        copy.flags = __atomic_fetch_or(&entry->flags, flags, __ATOMIC_SEQ_CST);
        if ((copy.flags & LP_CORR_EXPECTED) && (flags & LP_CORR_SEEN) &&
            !(copy.flags & LP_CORR_SEEN)) {
            release(page, 1);
        }
    }
    copy.path = __atomic_load_n(&entry->path, __ATOMIC_RELAXED);
    if (flags & LP_CORR_BLOCKED) {
        copy.held = __atomic_exchange_n(&entry->held, 0, __ATOMIC_SEQ_CST);
    }
    note_newest(corr, number);
    return copy;
}

/* Give up a page unless a call is at it or, but `at_once`, a record of it is
 * to come; false if so. */
static bool
give_up(lp_corr *corr, lp_corr_page *page, bool at_once)
{
    uint64_t refs = __atomic_load_n(&page->refs, __ATOMIC_SEQ_CST);
    uint32_t number = __atomic_load_n(&page->number, __ATOMIC_RELAXED);

    do {
        if (refs >= A_CALL || (refs != 0 && !at_once)) {
            return false;
        }
    } while (!__atomic_compare_exchange_n(&page->refs, &refs, CLOSED, false,
                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    __atomic_fetch_add(&corr->expired, refs, __ATOMIC_RELAXED);
    __atomic_store_n(place_of(corr, number), NULL, __ATOMIC_SEQ_CST);
    give_spare(corr, page);
    return true;
}

/* The page waits for a record: remember it, in the place of the oldest if
 * none of the others is done by now. */
static void
add_late(lp_corr *corr, uint32_t number)
{
    if (corr->n_late == LP_CORR_LATE) {
        uint32_t kept = 0;

        for (uint32_t i = 0; i < LP_CORR_LATE; i++) {
            lp_corr_page *page = page_of(corr, corr->late[i]);

            if (page != NULL && !give_up(corr, page, false)) {
                corr->late[kept++] = corr->late[i];
            }
        }
        if (kept == LP_CORR_LATE) {
            give_up(corr, page_of(corr, corr->late[0]), true);
            memmove(corr->late, corr->late + 1,
                    --kept * sizeof(corr->late[0]));
        }
        corr->n_late = kept;
    }
    corr->late[corr->n_late++] = number;
}

void
lp_corr_tidy(lp_corr *corr)
{
    while (((corr->newest - corr->oldest) & LAST_PAGE) > KEPT_PAGES) {
        uint32_t far = (corr->oldest + LP_CORR_PAGES / 2) & LAST_PAGE;
        lp_corr_page *page = page_at(corr, far);

        /* What half the places further on stands there from long ago is in
         * the way of what is to come. */
        if (page != NULL && page_of(corr, far) == NULL) {
            give_up(corr, page, true);
        }
        page = page_of(corr, corr->oldest);
        if (page != NULL && !give_up(corr, page, false)) {
            add_late(corr, corr->oldest);
        }
        corr->oldest = (corr->oldest + 1) & LAST_PAGE;
    }
}

uint64_t
lp_corr_outstanding(const lp_corr *corr)
{
    uint64_t pending = __atomic_load_n(&corr->expired, __ATOMIC_RELAXED);

    for (uint32_t i = 0; i < LP_CORR_PAGES; i++) {
        const lp_corr_page *page =
            __atomic_load_n(&corr->pages[i], __ATOMIC_SEQ_CST);

        if (page != NULL) {
            pending +=
                (uint32_t)__atomic_load_n(&page->refs, __ATOMIC_SEQ_CST);
        }
    }
    return pending;
}

enum { FIRST_SLOTS = 1024 };

void
lp_origins_init(lp_origins *origins)
{
    *origins = (lp_origins){0};
    pthread_mutex_init(&origins->lock, NULL);
}

void
lp_origins_free(lp_origins *origins)
{
    free(origins->slots);
    origins->slots = NULL;
    pthread_mutex_destroy(&origins->lock);
}

static lp_origin *
find(lp_origin *slots, uint32_t mask, uint64_t node)
{
    uint64_t hash = node * 0x9E3779B97F4A7C15u;
    uint32_t at = (uint32_t)(hash >> 32) & mask;

    while (slots[at].node != 0 && slots[at].node != node) {
        at = (at + 1) & mask;
    }
    return &slots[at];
}

static bool
has_room(lp_origins *origins)
{
    uint32_t slots = FIRST_SLOTS;
    lp_origin *grown;

    if (origins->slots != NULL) {
        if (origins->n <= origins->mask / 2) {
            return true;
        }
        slots = (origins->mask + 1) * 2;
    }
    grown = calloc(slots, sizeof(lp_origin));
    if (grown == NULL) {
        return false;
    }
    for (uint32_t i = 0; origins->slots != NULL && i <= origins->mask; i++) {
        if (origins->slots[i].node != 0) {
            *find(grown, slots - 1, origins->slots[i].node) =
                origins->slots[i];
        }
    }
    free(origins->slots);
    origins->slots = grown;
    origins->mask = slots - 1;
    return true;
}

void
lp_origins_put(lp_origins *origins, uint64_t node, uint32_t path)
{
    if (node == 0) {
        return;
    }
    pthread_mutex_lock(&origins->lock);
    if (has_room(origins)) {
        lp_origin *slot = find(origins->slots, origins->mask, node);

        origins->n += slot->node == 0;
        slot->node = node;
        slot->path = path;
    }
    pthread_mutex_unlock(&origins->lock);
}

uint32_t
lp_origins_get(lp_origins *origins, uint64_t node)
{
    uint32_t path = 0;

    pthread_mutex_lock(&origins->lock);
    if (origins->slots != NULL) {
        path = find(origins->slots, origins->mask, node)->path;
    }
    pthread_mutex_unlock(&origins->lock);
    return path;
}
